// Attention with every kind of mask, on odd sizes.
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

struct Form {
  const char* name;
  const char* graph;
};
const Form forms[] = {
    {"heads",
     "input %q : f32[2,3,19,16]\ninput %k : f32[2,3,21,16]\ninput %v : f32[2,3,21,18]\n"
     "%o = attention(%q, %k, %v) scale=0.25 : f32[2,3,19,18]\noutput %o\n"},
    {"causal",
     "input %q : f32[1,2,37,8]\ninput %k : f32[1,2,37,8]\ninput %v : f32[1,2,37,8]\n"
     "%o = attention(%q, %k, %v) causal=true scale=0.3 : f32[1,2,37,8]\noutput %o\n"},
    {"causal_more_queries",
     "input %q : f32[2,9,8]\ninput %k : f32[2,5,8]\ninput %v : f32[2,5,8]\n"
     "%o = attention(%q, %k, %v) causal=true scale=0.3 : f32[2,9,8]\noutput %o\n"},
    {"mask",
     "input %q : f32[2,3,7,5]\ninput %k : f32[2,3,6,5]\ninput %v : f32[2,3,6,4]\ninput %m : f32[3,7,6]\n"
     "%o = attention(%q, %k, %v, %m) scale=0.5 : f32[2,3,7,4]\noutput %o\n"},
    {"bool_mask",
     "input %q : f32[2,3,7,5]\ninput %k : f32[2,3,2,5]\ninput %v : f32[2,3,2,4]\ninput %m : bool[2,1,7,2]\n"
     "%o = attention(%q, %k, %v, %m) scale=0.5 : f32[2,3,7,4]\noutput %o\n"},
    {"grouped",
     "input %q : f32[2,6,9,8]\ninput %k : f32[2,2,11,8]\ninput %v : f32[2,2,11,8]\n"
     "%o = attention(%q, %k, %v) scale=0.35 : f32[2,6,9,8]\noutput %o\n"},
    {"matrix",
     "input %q : f32[40,70]\ninput %k : f32[70,70]\ninput %v : f32[70,3]\n"
     "%o = attention(%q, %k, %v) scale=0.1 : f32[40,3]\noutput %o\n"},
    {"one_query",
     "input %q : f32[2,1,64]\ninput %k : f32[2,100,64]\ninput %v : f32[2,100,64]\n"
     "%o = attention(%q, %k, %v) scale=0.125 : f32[2,1,64]\noutput %o\n"},
    {"from_heads",
     "input %x : f32[2,9,3,2,8]\n%a = slice(%x) dim=2 start=0 end=1 : f32[2,9,1,2,8]\n"
     "%b = slice(%x) dim=2 start=1 end=2 : f32[2,9,1,2,8]\n%c = slice(%x) dim=2 start=2 end=3 : "
     "f32[2,9,1,2,8]\n"
     "%d = reshape(%a) shape=[2,9,2,8] : f32[2,9,2,8]\n%e = reshape(%b) shape=[2,9,2,8] : f32[2,9,2,8]\n"
     "%f = reshape(%c) shape=[2,9,2,8] : f32[2,9,2,8]\n%q = permute(%d) dims=[0,2,1,3] : f32[2,2,9,8]\n"
     "%k = permute(%e) dims=[0,2,1,3] : f32[2,2,9,8]\n%v = permute(%f) dims=[0,2,1,3] : f32[2,2,9,8]\n"
     "%o = attention(%q, %k, %v) scale=0.35 : f32[2,2,9,8]\n%p = permute(%o) dims=[0,2,1,3] : f32[2,9,2,8]\n"
     "%r = reshape(%p) shape=[2,9,16] : f32[2,9,16]\noutput %r\n"},
    {"no_keys",
     "input %q : f32[2,3,8]\ninput %k : f32[2,0,8]\ninput %v : f32[2,0,4]\n"
     "%o = attention(%q, %k, %v) scale=1.0 : f32[2,3,4]\noutput %o\n"},
};

std::vector<Case> attention_cases() {
  std::vector<Case> all;
  for (const Form& form : forms) {
    all.push_back({format("plain_{}", form.name), "attention.plain", form.graph});
    if (form.name != std::string("no_keys"))
      all.push_back({format("flash_{}", form.name), "attention.flash", form.graph});
  }
  all.push_back({"flash_long", "attention.flash",
                 "input %q : f32[1,130,20]\ninput %k : f32[1,150,20]\ninput %v : f32[1,150,100]\n"
                 "%o = attention(%q, %k, %v) causal=true scale=0.2 : f32[1,130,100]\n"
                 "%z = relu(%o) : f32[1,130,100]\noutput %z\n"});
  all.push_back({"plain_double", "attention.plain",
                 "input %q : f64[3,5]\ninput %k : f64[4,5]\ninput %v : f64[4,2]\n"
                 "%o = attention(%q, %k, %v) scale=0.5 : f64[3,2]\noutput %o\n"});
  plan::Storage half{DType::f16, {}};
  all.push_back({.name = "flash_half_storage",
                 .technique = "attention.flash",
                 .graph = forms[0].graph,
                 .storage = {{"q", half}, {"k", half}, {"v", half}, {"o", half}},
                 .tolerance = 1e-3});
  all.push_back({.name = "plain_half_storage",
                 .technique = "attention.plain",
                 .graph = forms[0].graph,
                 .storage = {{"q", half}, {"k", half}, {"v", half}, {"o", half}},
                 .tolerance = 1e-3});
  return all;
}

PRODUCT_CASES(Attention, attention_cases());

}  // namespace
}  // namespace stitch::code
