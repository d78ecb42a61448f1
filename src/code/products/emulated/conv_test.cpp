// Convolutions by our kernels: plain ones, those for one shape, implicit GEMMs, pairs of fp16, depthwise
// ones.
#include <algorithm>

#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

const ConvForm vector_forms[] = {
    {"one_pixel",
     "input %x : f32[2,96,1,1]\nparameter %w : f32[37,96,1,1]\nparameter %b : f32[37]\n"
     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,37,1,1]\n"
     "%z = sigmoid(%y) : f32[2,37,1,1]\noutput %z\n"},
    {"long",
     "input %x : f32[1,1500,1]\nparameter %w : f32[9,1500,1]\n"
     "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f32[1,9,1]\noutput %y\n"},
    {"odd",
     "input %x : f32[5,21,1,1,1]\nparameter %w : f32[6,21,1,1,1]\n"
     "%y = conv(%x, %w) stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] : f32[5,6,1,1,1]\noutput %y\n"},
    {"pixels",
     "input %x : f32[2,32,3,4]\nparameter %w : f32[10,32,1,1]\nparameter %b : f32[10]\n"
     "%y = conv(%x, %w, %b) stride=[2,2] padding=[0,0] dilation=[1,1] : f32[2,10,2,2]\n"
     "%z = relu(%y) : f32[2,10,2,2]\noutput %z\n"},
};

std::vector<Case> plain_conv_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    all.push_back({format("plain_{}", form.name), "conv.plain", form.graph});
  all.push_back({"plain_depthwise", "conv.plain", depthwise});
  all.push_back({.name = "plain_channels_last",
                 .technique = "conv.plain",
                 .graph = conv_forms[0].graph,
                 .storage = {{"x", last}, {"y", last}}});
  all.push_back({.name = "plain_half",
                 .technique = "conv.plain",
                 .graph = conv_forms[1].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  all.push_back({"plain_double", "conv.plain",
                 "input %x : f64[1,2,4]\nparameter %w : f64[3,2,2]\n"
                 "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f64[1,3,3]\noutput %y\n"});
  all.push_back({"plain_no_samples", "conv.plain",
                 "input %x : f32[0,2,4]\nparameter %w : f32[3,2,2]\n"
                 "%y = conv(%x, %w) stride=[1] padding=[0] dilation=[1] : f32[0,3,3]\noutput %y\n"});
  return all;
}

std::vector<Case> small_conv_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : vector_forms)
    all.push_back({.name = format("vector_{}", form.name),
                   .technique = "conv.vector",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  all.push_back({"concat", "conv.concat",
                 "input %x : f32[2,6,9,37]\nparameter %v : f32[20,6,1,1]\nparameter %a : f32[20]\n"
                 "parameter %w : f32[7,6,3,3]\n"
                 "%c = conv(%x, %v, %a) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,20,9,37]\n"
                 "%r = relu(%c) : f32[2,20,9,37]\n"
                 "%d = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[2,7,9,37]\n"
                 "%y = concat(%r, %d) dim=1 : f32[2,27,9,37]\noutput %y\n"});
  // Images that share a block, tiles past the end, channels last.
  const char* direct =
      "input %x : f32[5,2,13,11]\nparameter %w : f32[6,2,3,5]\nparameter %b : f32[6]\n"
      "%c = conv(%x, %w, %b) stride=[1,2] padding=[1,0] dilation=[2,1] : f32[5,6,11,4]\n"
      "%y = relu(%c) : f32[5,6,11,4]\noutput %y\n";
  all.push_back({"direct", "conv.direct", direct});
  all.push_back({.name = "direct_half_last",
                 .technique = "conv.direct",
                 .graph = direct,
                 .storage = {{"x", half_last}, {"y", half_last}},
                 .tolerance = 2e-3});
  all.push_back(
      {"direct_tiles", "conv.direct",
       "input %x : f32[1,3,40,90]\nparameter %w : f32[9,3,3,3]\n"
       "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[1,9,40,90]\noutput %y\n"});
  const char* pixel =
      "input %x : f32[6,37,1,1]\nparameter %w : f32[10,37,1,1]\nparameter %b : f32[10]\n"
      "%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[6,10,1,1]\n"
      "%y = hardsigmoid(%c) : f32[6,10,1,1]\noutput %y\n";
  all.push_back({"pixel", "conv.pixel", pixel, Numerics::strict});
  all.push_back({.name = "pixel_half",
                 .technique = "conv.pixel",
                 .graph = pixel,
                 .storage = {{"x", half_last}, {"y", half_last}},
                 .tolerance = 2e-3});
  return all;
}

std::vector<Case> conv_cases() {
  std::vector<Case> all = plain_conv_cases();
  std::ranges::move(small_conv_cases(), std::back_inserter(all));
  return all;
}

PRODUCT_CASES(Conv, conv_cases());

}  // namespace

// Implicit GEMMs over images as they lie.

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

// Few channels at FP32's accuracy on tensor cores, and transposed convolutions phase by phase.

namespace {

std::vector<Case> split_half_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    all.push_back({format("split_{}", form.name), "conv.split_half", form.graph});
  all.push_back({.name = "split_once",
                 .technique = "conv.split_half",
                 .graph = conv_forms[10].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "split_half_storage",
                 .technique = "conv.split_half",
                 .graph = conv_forms[1].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  for (const ConvForm& form : halo_forms)
    if (&form != &halo_forms[1])  // implicit_slices has that
      all.push_back({.name = format("halo_{}", form.name),
                     .technique = "conv.split_half",
                     .graph = form.graph,
                     .tolerance = 2e-6});
  all.push_back({.name = "halo_once",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "halo_last",
                 .technique = "conv.split_half",
                 .graph = halo_forms[0].graph,
                 .storage = {{"x", last}, {"z", last}},
                 .tolerance = 2e-6});
  return all;
}

std::vector<Case> phase_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    if (std::string_view(form.name).starts_with("transpose"))
      all.push_back({format("phases_{}", form.name), "conv.transposed", form.graph, Numerics::strict});
  for (const ConvForm& form : transposed_forms)
    all.push_back({.name = format("phases_{}", form.name),
                   .technique = "conv.transposed",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  all.push_back({.name = "phases_half_storage",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[3].graph,
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 1e-3});
  all.push_back({.name = "phases_two_fours",
                 .technique = "conv.transposed",
                 .graph = transposed_forms[2].graph,
                 .choices = {{"fours", 2}},
                 .tolerance = 1e-6});
  return all;
}

std::vector<Case> split_and_phase_cases() {
  std::vector<Case> all = split_half_cases();
  std::ranges::move(phase_cases(), std::back_inserter(all));
  return all;
}

PRODUCT_CASES(ConvSplit, split_and_phase_cases());

}  // namespace

// Depthwise convolutions: planes and channels last.

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
