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
    {"relu",
     "input %q : f32[2,3,19,16]\ninput %k : f32[2,3,21,16]\ninput %v : f32[2,3,21,18]\ninput %m : "
     "bool[19,21]\n%o = attention(%q, %k, %v, %m) scale=0.25 weights=\"relu\" : f32[2,3,19,18]\noutput %o\n"},
    {"strict_softmax",
     "input %q : f32[2,3,17,5]\ninput %k : f32[2,3,18,5]\ninput %v : f32[2,3,18,4]\ninput %m : "
     "bool[2,1,17,18]\n"
     "%o = attention(%q, %k, %v, %m) scale=0.5 weights=\"softmax\" : f32[2,3,17,4]\noutput %o\n"},
    {"capped",
     "input %q : f32[2,3,19,16]\ninput %k : f32[2,3,21,16]\ninput %v : f32[2,3,21,18]\ninput %m : "
     "f32[19,21]\n%o = attention(%q, %k, %v, %m) scale=0.5 soft_cap=1.5 : f32[2,3,19,18]\noutput %o\n"},
    {"capped_bool_mask",
     "input %q : f32[2,3,7,8]\ninput %k : f32[2,3,20,8]\ninput %v : f32[2,3,20,8]\ninput %m : bool[7,20]\n"
     "%o = attention(%q, %k, %v, %m) causal=true scale=0.5 soft_cap=2.0 : f32[2,3,7,8]\noutput %o\n"},
    {"no_keys",
     "input %q : f32[2,3,8]\ninput %k : f32[2,0,8]\ninput %v : f32[2,0,4]\n"
     "%o = attention(%q, %k, %v) scale=1.0 : f32[2,3,4]\noutput %o\n"},
};

std::vector<Case> attention_cases() {
  std::vector<Case> all;
  for (const Form& form : forms) {
    all.push_back({format("plain_{}", form.name), "attention.plain", form.graph});
    if (form.name == std::string("no_keys")) continue;
    all.push_back({.name = format("tensor_core_{}", form.name),
                   .technique = "attention.tensor_core",
                   .graph = form.graph,
                   .tolerance = 1e-6});
  }
  all.push_back({.name = "tensor_core_long_values",
                 .technique = "attention.tensor_core",
                 .graph = "input %q : f32[1,130,20]\ninput %k : f32[1,150,20]\ninput %v : f32[1,150,100]\n"
                          "%o = attention(%q, %k, %v) causal=true scale=0.2 : f32[1,130,100]\n"
                          "%z = relu(%o) : f32[1,130,100]\noutput %z\n",
                 .tolerance = 1e-6});
  all.push_back({"plain_double", "attention.plain",
                 "input %q : f64[3,5]\ninput %k : f64[4,5]\ninput %v : f64[4,2]\n"
                 "%o = attention(%q, %k, %v) scale=0.5 : f64[3,2]\noutput %o\n"});
  // Rows and keys that fill tiles, miss them by one, or are far from it; heads of many widths.
  auto sized = [&](std::string name, int64_t queries, int64_t keys, int64_t width, int64_t value_width,
                   std::string more, std::map<std::string, int64_t> choices = {}) {
    all.push_back(
        {.name = "tensor_core_" + name,
         .technique = "attention.tensor_core",
         .graph = format("input %q : f32[2,{0},{2}]\ninput %k : f32[2,{1},{2}]\ninput %v : f32[2,{1},{3}]\n"
                         "%o = attention(%q, %k, %v) scale=0.2{4} : f32[2,{0},{3}]\noutput %o\n",
                         queries, keys, width, value_width, more),
         .choices = std::move(choices),
         .tolerance = 2e-6});
  };
  sized("one_and_one", 1, 1, 8, 8, "");
  sized("seven", 7, 7, 24, 32, "");
  sized("window", 49, 49, 32, 32, "");
  sized("past_a_tile", 65, 65, 40, 40, " causal=true");
  sized("two_row_tiles", 70, 65, 64, 64, " weights=\"relu\"", {{"row_tiles", 2}, {"warps", 2}});
  sized("wide_96", 33, 40, 96, 96, "", {{"row_tiles", 2}, {"warps", 1}, {"key_tile", 32}});
  sized("wide_128", 20, 33, 128, 128, " causal=true", {{"key_tile", 16}});
  sized("wide_heads", 66, 37, 150, 140, "");
  sized("wide_heads_causal", 20, 130, 136, 8, " causal=true");
  sized("wide_heads_relu", 9, 20, 20, 600, " weights=\"relu\"");
  // Beyond what fp16 reaches, both ways.
  for (auto [name, scale] : {std::pair{"large", 3e6}, {"small", 1e-7}}) {
    sized(name, 17, 30, 16, 16, "");
    all.back().scale = scale;
    sized(format("wide_heads_{}", name), 17, 30, 130, 16, "");
    all.back().scale = scale;
  }
  all.push_back({.name = "tensor_core_one_product",
                 .technique = "attention.tensor_core",
                 .graph = forms[0].graph,
                 .numerics = Numerics::tf32,
                 .tolerance = 1e-3});
  // Runs of 16 masked keys at once, more than one tile.
  all.push_back({.name = "tensor_core_mask_runs",
                 .technique = "attention.tensor_core",
                 .graph =
                     "input %q : f32[2,20,16]\ninput %k : f32[2,64,16]\ninput %v : f32[2,64,16]\ninput %m : "
                     "bool[20,64]\n%o = attention(%q, %k, %v, %m) scale=0.3 weights=\"softmax\" : "
                     "f32[2,20,16]\noutput %o\n",
                 .choices = {{"key_tile", 32}},
                 .tolerance = 2e-6});
  // One linear's result, cut into q, k and v as nn.MultiheadAttention does: no strides say it.
  all.push_back(
      {.name = "tensor_core_multihead",
       .technique = "attention.tensor_core",
       .graph = "input %x : f32[9,2,48]\n%a = reshape(%x) shape=[9,2,3,16] : f32[9,2,3,16]\n"
                "%b = permute(%a) dims=[2,0,1,3] : f32[3,9,2,16]\n"
                "%c = slice(%b) dim=0 start=0 end=1 : f32[1,9,2,16]\n%d = slice(%b) dim=0 start=1 end=2 : "
                "f32[1,9,2,16]\n%e = slice(%b) dim=0 start=2 end=3 : f32[1,9,2,16]\n"
                "%f = reshape(%c) shape=[9,4,8] : f32[9,4,8]\n%g = reshape(%d) shape=[9,4,8] : f32[9,4,8]\n"
                "%h = reshape(%e) shape=[9,4,8] : f32[9,4,8]\n%q = permute(%f) dims=[1,0,2] : f32[4,9,8]\n"
                "%k = permute(%g) dims=[1,0,2] : f32[4,9,8]\n%v = permute(%h) dims=[1,0,2] : f32[4,9,8]\n"
                "%o = attention(%q, %k, %v) scale=0.35 : f32[4,9,8]\n%p = permute(%o) dims=[1,0,2] : "
                "f32[9,4,8]\n%r = reshape(%p) shape=[18,16] : f32[18,16]\noutput %r\n",
       .tolerance = 2e-6});
  plan::Storage half{DType::f16, {}};
  all.push_back({.name = "plain_half_storage",
                 .technique = "attention.plain",
                 .graph = forms[0].graph,
                 .storage = {{"q", half}, {"k", half}, {"v", half}, {"o", half}},
                 .tolerance = 1e-3});
  return all;
}

// The same in fp16 or bf16.
std::string in_type(std::string graph, const std::string& type) {
  for (size_t at = 0; (at = graph.find("f32[", at)) != std::string::npos;) graph.replace(at, 3, type);
  return graph;
}

// A cache and what is appended to it, k and v of their own lengths of cache; heads repeated by a view.
const char* const joined =
    "input %q : f32[2,4,1,32]\ninput %a : f32[2,2,69,32]\ninput %b : f32[2,2,1,32]\ninput %c : "
    "f32[2,2,68,32]\ninput %d : f32[2,2,2,32]\n%x = concat(%a, %b) dim=2 : f32[2,2,70,32]\n"
    "%v = concat(%c, %d) dim=2 : f32[2,2,70,32]\n%y = reshape(%x) shape=[2,2,1,70,32] : "
    "f32[2,2,1,70,32]\n%e = expand(%y) shape=[2,2,2,70,32] : f32[2,2,2,70,32]\n"
    "%k = reshape(%e) shape=[2,4,70,32] : f32[2,4,70,32]\n"
    "%f = reshape(%v) shape=[2,2,1,70,32] : f32[2,2,1,70,32]\n%g = expand(%f) shape=[2,2,2,70,32] : "
    "f32[2,2,2,70,32]\n%h = reshape(%g) shape=[2,4,70,32] : f32[2,4,70,32]\n"
    "%o = attention(%q, %k, %h) scale=0.2 : f32[2,4,1,32]\noutput %o\n";

// Few queries, with every way in which rows, lanes, warps and blocks share the work.
std::vector<Case> few_attention_cases() {
  std::vector<Case> all;
  auto add = [&](std::string name, std::string graph, std::map<std::string, int64_t> choices = {},
                 double tolerance = 2e-6) {
    all.push_back({.name = "few_" + std::move(name),
                   .technique = "attention.few",
                   .graph = std::move(graph),
                   .choices = std::move(choices),
                   .tolerance = tolerance});
  };
  auto sized = [&](std::string name, int64_t queries, int64_t keys, int64_t width, int64_t value_width,
                   std::string more, std::map<std::string, int64_t> choices = {}) {
    add(std::move(name),
        format("input %q : f32[2,{0},{2}]\ninput %k : f32[2,{1},{2}]\ninput %v : f32[2,{1},{3}]\n"
               "%o = attention(%q, %k, %v) scale=0.2{4} : f32[2,{0},{3}]\noutput %o\n",
               queries, keys, width, value_width, more),
        std::move(choices));
  };
  for (const Form& form : forms)
    if (std::set<std::string>{"mask", "causal_more_queries", "from_heads", "strict_softmax",
                              "capped_bool_mask"}
            .contains(form.name))
      add(form.name, form.graph);
  sized("one_and_one", 1, 1, 8, 8, "");
  sized("narrow", 2, 77, 1, 3, "", {{"splits", 4}});
  sized("wide_256", 3, 90, 256, 200, "", {{"splits", 3}, {"warps", 2}});
  sized("wide_512", 1, 40, 500, 512, "", {{"splits", 2}});
  sized("more_rows", 21, 130, 32, 32, " causal=true", {{"splits", 2}});
  sized("relu_splits", 3, 150, 24, 40, " weights=\"relu\"", {{"splits", 8}, {"warps", 8}});
  sized("far_apart", 5, 60, 16, 16, " weights=\"softmax\"", {{"splits", 2}});
  all.back().scale = 12;
  // A cache that holds less than it could, all hidden for some; splits that keep nothing.
  add("mask_of_cache",
      "input %q : f32[2,6,1,32]\ninput %k : f32[2,2,100,32]\ninput %v : f32[2,2,100,32]\ninput %m : "
      "bool[2,1,1,100]\n%o = attention(%q, %k, %v, %m) scale=0.2 : f32[2,6,1,32]\noutput %o\n",
      {{"splits", 16}});
  add("bias",
      "input %q : f32[1,6,3,20]\ninput %k : f32[1,2,70,20]\ninput %v : f32[1,2,70,20]\ninput %m : "
      "f32[6,3,70]\n%o = attention(%q, %k, %v, %m) scale=0.2 soft_cap=3.0 : f32[1,6,3,20]\n"
      "%z = relu(%o) : f32[1,6,3,20]\noutput %z\n",
      {{"splits", 2}, {"rows", 2}});
  add("joined", joined, {{"splits", 4}, {"stages", 3}});
  all.push_back({.name = "few_joined_bfloat",
                 .technique = "attention.few",
                 .graph = in_type(joined, "bf16"),
                 .tolerance = 5e-3});
  add("empty_cache",
      "input %q : f32[2,1,8]\ninput %a : f32[2,0,8]\ninput %b : f32[2,1,8]\ninput %v : f32[2,1,8]\n"
      "%k = concat(%a, %b) dim=1 : f32[2,1,8]\n%o = attention(%q, %k, %v) scale=0.2 : f32[2,1,8]\n"
      "output %o\n");
  return all;
}

// By one product a tile.
std::vector<Case> half_attention_cases() {
  std::vector<Case> all;
  auto add = [&](const std::string& name, std::string graph, const std::string& type,
                 std::map<std::string, int64_t> choices = {}) {
    all.push_back({.name = name,
                   .technique = "attention.half",
                   .graph = in_type(std::move(graph), type),
                   .choices = std::move(choices),
                   .tolerance = type == "f16" ? 1.5e-3 : 1e-2});
  };
  for (const Form& form : forms)
    if (form.name != std::string("no_keys")) {
      add(format("half_{}", form.name), form.graph, "f16");
      add(format("bfloat_{}", form.name), form.graph, "bf16");
    }
  auto sized = [&](std::string name, int64_t queries, int64_t keys, int64_t width, int64_t value_width,
                   std::string more, std::map<std::string, int64_t> choices = {}) {
    add(name,
        format("input %q : f32[2,{0},{2}]\ninput %k : f32[2,{1},{2}]\ninput %v : f32[2,{1},{3}]\n"
               "%o = attention(%q, %k, %v) scale=0.2{4} : f32[2,{0},{3}]\noutput %o\n",
               queries, keys, width, value_width, more),
        "bf16", std::move(choices));
  };
  sized("bfloat_one_and_one", 1, 1, 8, 8, "");
  sized("bfloat_past_a_tile", 65, 65, 40, 40, " causal=true");
  sized("bfloat_two_row_tiles", 70, 65, 64, 64, " causal=true", {{"row_tiles", 2}, {"warps", 2}});
  sized("bfloat_wide_256", 20, 40, 256, 200, " causal=true");
  sized("bfloat_negative_scale", 5, 20, 16, 16, " weights=\"softmax\"");
  all.back().graph.replace(all.back().graph.find("scale=0.2"), 9, "scale=-0.2");
  sized("bfloat_split_relu", 3, 70, 16, 8, " weights=\"relu\"", {{"splits", 4}, {"key_tile", 16}});
  sized("bfloat_split_causal", 40, 70, 16, 24, " causal=true", {{"splits", 3}, {"key_tile", 16}});
  sized("bfloat_rest_of_keys", 20, 75, 32, 48, "", {{"key_tile", 16}, {"warps", 2}, {"stages", 4}});
  sized("bfloat_128_keys", 20, 140, 16, 16, " causal=true", {{"key_tile", 128}, {"warps", 2}});
  // Tiles before, across and after the joints, in separate blocks and one after the other.
  add("bfloat_joined", joined, "bf16", {{"key_tile", 16}, {"splits", 2}});
  add("half_joined_in_one_tile", joined, "f16");
  // Scores far apart: the base of the weights has to follow them.
  sized("bfloat_far_apart", 18, 50, 16, 16, "", {{"key_tile", 16}});
  all.back().scale = 12;
  // Masks: more tiles of keys than a window of bits has, four bools at a time; the same for all queries.
  add("bfloat_mask_windows",
      "input %q : f32[1,70,8]\ninput %k : f32[1,600,8]\ninput %v : f32[1,600,8]\ninput %m : bool[70,600]\n"
      "%o = attention(%q, %k, %v, %m) scale=0.3 : f32[1,70,8]\noutput %o\n",
      "bf16", {{"key_tile", 16}, {"warps", 4}});
  add("half_mask_of_keys",
      "input %q : f32[2,2,40,16]\ninput %k : f32[2,2,48,16]\ninput %v : f32[2,2,48,16]\ninput %m : "
      "bool[2,1,1,48]\n%o = attention(%q, %k, %v, %m) scale=0.3 : f32[2,2,40,16]\noutput %o\n",
      "f16", {{"key_tile", 16}, {"stages", 3}});
  // A mask of numbers that fp16 hasn't.
  all.push_back({.name = "half_mask_in_f32",
                 .technique = "attention.half",
                 .graph = "input %q : f16[2,2,20,16]\ninput %k : f16[2,2,40,16]\ninput %v : f16[2,2,40,16]\n"
                          "input %m : f32[2,1,20,40]\n%o = attention(%q, %k, %v, %m) scale=0.3 "
                          "weights=\"softmax\" : f16[2,2,20,16]\noutput %o\n",
                 .tolerance = 1.5e-3});
  // A step of decoding: heads that share k and v, by the node or by a view, and blocks that share the keys.
  add("bfloat_decode",
      "input %q : f32[2,6,1,32]\ninput %k : f32[2,2,100,32]\ninput %v : f32[2,2,100,32]\ninput %m : "
      "bool[2,1,1,100]\n%o = attention(%q, %k, %v, %m) scale=0.2 : f32[2,6,1,32]\noutput %o\n",
      "bf16", {{"splits", 8}, {"key_tile", 16}});
  add("half_decode_repeated",
      "input %q : f32[1,8,2,64]\ninput %x : f32[1,2,150,64]\ninput %y : f32[1,2,150,64]\n"
      "%a = reshape(%x) shape=[1,2,1,150,64] : f32[1,2,1,150,64]\n%b = expand(%a) shape=[1,2,4,150,64] : "
      "f32[1,2,4,150,64]\n%k = reshape(%b) shape=[1,8,150,64] : f32[1,8,150,64]\n"
      "%c = reshape(%y) shape=[1,2,1,150,64] : f32[1,2,1,150,64]\n%d = expand(%c) shape=[1,2,4,150,64] : "
      "f32[1,2,4,150,64]\n%v = reshape(%d) shape=[1,8,150,64] : f32[1,8,150,64]\n"
      "%o = attention(%q, %k, %v) scale=0.125 : f32[1,8,2,64]\noutput %o\n",
      "f16", {{"splits", 4}, {"key_tile", 32}});
  return all;
}

PRODUCT_CASES(Attention, attention_cases());
PRODUCT_CASES(FewAttention, few_attention_cases());
PRODUCT_CASES(HalfAttention, half_attention_cases());

}  // namespace
}  // namespace stitch::code
