// Pointwise epilogues of our kernels and of libraries.
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

struct Form {
  const char* name;
  const char* graph;  // from %y to %z, of {0}
};
const Form forms[] = {
    {"selu", "%z = elu(%y) alpha=1.67326 scale=1.0507 : {0}\n"},
    {"softplus", "%z = softplus(%y) beta=2.0 : {0}\n"},
    {"hardsigmoid_log", "%h = hardsigmoid(%y) : {0}\n%z = log1p(%h) : {0}\n"},
    {"leaky_relu", "%z = leaky_relu(%y) slope=0.2 : {0}\n"},
    {"clamp", "%z = clamp(%y) low=-0.5 high=1.5 : {0}\n"},
    {"masked",
     "%c = full() shape=[] dtype=f32 value=-2.5 : f32[]\n%l = lt(%y, %c) : {1}\n%n = logical_not(%l) : {1}\n"
     "%k = logical_and(%n, %m) : {1}\n%z = where(%k, %y, %c) : {0}\n"},
    {"square_root",
     "%two = full() shape=[] dtype=f32 value=2.0 : f32[]\n%s = pow(%y, %two) : {0}\n%z = sqrt(%s) : {0}\n"},
    {"remainder_abs", "%r = remainder(%y, %d) : {0}\n%z = abs(%r) : {0}\n"},
};

std::string filled(std::string text, const std::string& type, const std::string& mask) {
  for (auto& [mark, with] : {std::pair<std::string, const std::string&>{"{0}", type}, {"{1}", mask}})
    for (size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + with.size()))
      text.replace(i, mark.size(), with);
  return text;
}

std::vector<Case> epilogue_cases() {
  const std::string linear =
      "input %x : f32[5,20]\ninput %m : bool[5,1]\ninput %d : f32[24]\nparameter %w : f32[24,20]\n"
      "parameter %b : f32[24]\n%y = linear(%x, %w, %b) : f32[5,24]\n";
  const std::string conv =
      "input %x : f32[2,3,7,6]\ninput %m : bool[4,1,1]\ninput %d : f32[5,4]\nparameter %w : f32[4,3,3,3]\n"
      "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,4,5,4]\n";
  std::vector<Case> all;
  for (const Form& form : forms) {
    for (const char* technique : {"matmul.plain", "matmul.cublaslt"})
      all.push_back({.name = format("{}_{}", technique + 7, form.name),
                     .technique = technique,
                     .graph = linear + filled(form.graph, "f32[5,24]", "bool[5,24]") + "output %z\n"});
    for (const char* technique : {"conv.plain", "conv.cudnn"})
      all.push_back({.name = format("conv_{}_{}", technique + 5, form.name),
                     .technique = technique,
                     .graph = conv + filled(form.graph, "f32[2,4,5,4]", "bool[2,4,5,4]") + "output %z\n",
                     .numerics = Numerics::strict});
  }
  return all;
}

PRODUCT_CASES(Epilogues, epilogue_cases());

}  // namespace
}  // namespace stitch::code
