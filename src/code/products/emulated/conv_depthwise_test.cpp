// Depthwise convolutions: planes and channels last.
#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

const ConvForm depthwise_forms[] = {
    {"same", depthwise},
    {"strided",
     "input %x : f32[1,4,37,41]\nparameter %w : f32[4,1,5,3]\n"
     "%y = conv(%x, %w) stride=[2,2] padding=[2,1] dilation=[1,1] groups=4 : f32[1,4,19,21]\noutput %y\n"},
    {"two_rows",
     "input %x : f32[1,8,61,59]\nparameter %w : f32[8,1,5,5]\n"
     "%y = conv(%x, %w) stride=[2,2] padding=[2,2] dilation=[1,1] groups=8 : f32[1,8,31,30]\noutput %y\n"},
    {"large",
     "input %x : f32[2,12,14,15]\nparameter %w : f32[12,1,7,7]\nparameter %b : f32[12]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[3,3] dilation=[1,1] groups=12 : "
     "f32[2,12,14,15]\noutput %y\n"},
    {"dilated",
     "input %x : f32[2,8,35,9]\nparameter %w : f32[8,1,3,3]\nparameter %b : f32[8]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[2,0] dilation=[2,3] groups=8 : f32[2,8,35,3]\noutput %y\n"},
    {"multiplied",
     "input %x : f32[2,3,9,9]\nparameter %w : f32[6,1,3,3]\nparameter %b : f32[6]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,1] dilation=[1,1] groups=3 : f32[2,6,9,9]\noutput %y\n"},
    {"line",
     "input %x : f32[2,4,150]\nparameter %w : f32[4,1,4]\nparameter %b : f32[4]\n"
     "%y = conv(%x, %w, %b) stride=[1] padding=[3] dilation=[1] groups=4 : f32[2,4,153]\noutput %y\n"},
};
// So long that threads make two outputs each.
const char* depthwise_long_line =
    "input %x : f32[1,2,262400]\nparameter %w : f32[2,1,3]\n"
    "%y = conv(%x, %w) stride=[1] padding=[1] dilation=[1] groups=2 : f32[1,2,262400]\noutput %y\n";

std::vector<Case> depthwise_cases() {
  std::vector<Case> all;
  // Pixels of a linear layer's, read and written as they lie.
  all.push_back({"depthwise_pixels", "conv.depthwise",
                 "input %t : f32[2,30,8]\nparameter %w : f32[8,1,5,5]\nparameter %b : f32[8]\n"
                 "%p = permute(%t) dims=[0,2,1] : f32[2,8,30]\n"
                 "%x = reshape(%p) shape=[2,8,5,6] : f32[2,8,5,6]\n"
                 "%y = conv(%x, %w, %b) stride=[1,1] padding=[2,2] dilation=[1,1] groups=8 : f32[2,8,5,6]\n"
                 "%g = gelu(%y) : f32[2,8,5,6]\n%f = reshape(%g) shape=[2,8,30] : f32[2,8,30]\n"
                 "%z = permute(%f) dims=[0,2,1] : f32[2,30,8]\noutput %z\n"});
  all.push_back({"depthwise_long_line", "conv.depthwise", depthwise_long_line});
  for (const ConvForm& form : depthwise_forms) {
    all.push_back({format("depthwise_{}", form.name), "conv.depthwise", form.graph});
    std::vector<int64_t> order =
        form.name == std::string("line") ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{0, 2, 3, 1};
    std::string out = form.name == std::string("same") ? "z" : "y";
    all.push_back({.name = format("depthwise_{}_last", form.name),
                   .technique = "conv.depthwise",
                   .graph = form.graph,
                   .storage = {{"x", {DType::f32, order}}, {out, {DType::f32, order}}}});
    all.push_back({.name = format("depthwise_{}_half", form.name),
                   .technique = "conv.depthwise",
                   .graph = form.graph,
                   .storage = {{"x", {DType::f16, order}}, {out, {DType::f16, order}}},
                   .tolerance = 1e-3});
  }
  return all;
}

PRODUCT_CASES(ConvDepthwise, depthwise_cases());

}  // namespace
}  // namespace stitch::code
