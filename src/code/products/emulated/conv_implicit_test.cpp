// Implicit GEMMs over images as they lie.
#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

std::vector<Case> implicit_cases() {
  std::vector<Case> all;
  // Implicit GEMMs: few channels by taps and many by chunks, phases, more filters than a block has, lines,
  // results that scatter; stages that are full and not.
  for (const ConvForm* form :
       {&halo_forms[0], &halo_forms[1], &halo_forms[2], &conv_forms[2], &conv_forms[5]})
    all.push_back({.name = format("implicit_{}", form->name),
                   .technique = "conv.implicit",
                   .graph = form->graph,
                   .tolerance = 2e-6});
  const char* const chunks =
      "input %x : f32[1,70,6,18]\nparameter %w : f32[150,70,3,3]\nparameter %b : f32[150]\n"
      "%y = conv(%x, %w, %b) stride=[1,2] padding=[1,1] dilation=[1,1] : f32[1,150,6,9]\n"
      "%z = silu(%y) : f32[1,150,6,9]\noutput %z\n";
  const char* const no_tap_chunks =
      "input %x : f32[1,80,4,3]\nparameter %w : f32[80,4,2,1]\n"
      "%y = conv_transpose(%x, %w) stride=[3,2] padding=[0,0] dilation=[1,1] output_padding=[2,0] : "
      "f32[1,4,13,5]\noutput %y\n";
  for (const ConvForm& form :
       {ConvForm{"chunks", chunks}, ConvForm{"no_tap_chunks", no_tap_chunks}, transposed_forms[0],
        transposed_forms[4], transposed_forms[8], strided_forms[1], strided_forms[3], strided_forms[4]})
    all.push_back({.name = format("implicit_half_{}", form.name),
                   .technique = "conv.implicit",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::half, plan::Order::row_major},
                   .tolerance = 2e-3});
  const ConvForm pooled_forms[] = {
      {"max_pool",
       "input %x : f32[2,8,19,37]\nparameter %w : f32[50,8,3,3]\nparameter %b : f32[50]\n"
       "%y = conv(%x, %w, %b) stride=[1,1] padding=[1,0] dilation=[1,1] : f32[2,50,19,35]\n"
       "%s = silu(%y) : f32[2,50,19,35]\n%z = max_pool(%s) kernel=[4,4] stride=[4,4] padding=[0,0] "
       "dilation=[1,1] : f32[2,50,4,8]\noutput %z\n"},
      {"avg_pool",
       "input %x : f32[1,9,7,70]\nparameter %w : f32[70,9,3,3]\n"
       "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,70,7,70]\n"
       "%z = avg_pool(%y) kernel=[2,2] stride=[2,2] padding=[0,0] : f32[1,70,3,35]\noutput %z\n"},
      {"row_pool",
       "input %x : f32[1,5,3,5,34]\nparameter %w : f32[12,5,1,2,3]\n"
       "%y = conv(%x, %w) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[1,12,3,4,32]\n"
       "%z = avg_pool(%y) kernel=[1,1,8] stride=[1,1,8] padding=[0,0,0] : f32[1,12,3,4,4]\noutput %z\n"}};
  for (const ConvForm& form : pooled_forms)
    all.push_back({.name = format("implicit_{}", form.name),
                   .technique = "conv.implicit",
                   .graph = form.graph,
                   .tolerance = 2e-6});
  all.push_back({.name = "implicit_half_storage",
                 .technique = "conv.implicit",
                 .graph = strided_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::row_major},
                 .storage = {{"x", {DType::f16, {}}}, {"z", half_last}},
                 .tolerance = 2e-3});
  return all;
}

PRODUCT_CASES(ConvImplicit, implicit_cases());

}  // namespace
}  // namespace stitch::code
