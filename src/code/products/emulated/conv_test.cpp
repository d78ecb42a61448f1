// Convolutions by plain kernels, and by those for one shape: few filters, few pixels, a concat.
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
}  // namespace stitch::code
