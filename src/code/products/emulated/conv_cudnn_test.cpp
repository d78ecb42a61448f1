// Convolutions by cuDNN, by its operation graphs, and by the engines that PyTorch takes.
#include <algorithm>

#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

std::vector<Case> cudnn_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms) {
    all.push_back({.name = format("strict_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .numerics = Numerics::strict});
    all.push_back({.name = format("half_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .tolerance = 2e-3});
    all.push_back({.name = format("last_{}", form.name),
                   .technique = "conv.cudnn",
                   .graph = form.graph,
                   .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                   .tolerance = 2e-3});
  }
  for (const ConvForm& form : strided_forms)
    for (plan::Arithmetic arithmetic : {plan::Arithmetic::half, plan::Arithmetic::by_class})
      all.push_back({.name = format("{}_strided_{}", plan::name(arithmetic), form.name),
                     .technique = "conv.cudnn",
                     .graph = form.graph,
                     .offer = {arithmetic, plan::Order::channels_last},
                     .tolerance = 2e-3});
  all.push_back({.name = "half_strided_stored",
                 .technique = "conv.cudnn",
                 .graph = strided_forms[0].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  // More pixels and channels than a tile of those that turn images: of 16, 32 and 64 channels.
  all.push_back({.name = "half_wide_tiles",
                 .technique = "conv.cudnn",
                 .graph =
                     "input %x : f32[2,16,19,17]\nparameter %w : f32[24,16,1,1]\nparameter %b : f32[24]\n"
                     "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,24,19,17]\n"
                     "%z = gelu(%y) : f32[2,24,19,17]\noutput %z\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "half_tiles",
                 .technique = "conv.cudnn",
                 .graph = "input %x : f32[2,72,9,15]\nparameter %w : f32[80,72,1,1]\nparameter %b : f32[80]\n"
                          "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,80,9,15]\n"
                          "%z = silu(%y) : f32[2,80,9,15]\noutput %z\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  all.push_back({.name = "tf32_search",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[1].graph,
                 .choices = {{"search", 1}},
                 .tolerance = 2e-3});
  all.push_back({.name = "tf32_second_proposal",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[1].graph,
                 .choices = {{"algorithm", 1}},
                 .tolerance = 2e-3});
  all.push_back({.name = "strict_channels_last",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[0].graph,
                 .numerics = Numerics::strict,
                 .storage = {{"x", last}, {"y", last}}});
  all.push_back({.name = "strict_to_channels_last",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[1].graph,
                 .numerics = Numerics::strict,
                 .storage = {{"z", last}}});
  all.push_back({.name = "half_storage",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[1].graph,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "half_storage_exact_bias",
                 .technique = "conv.cudnn",
                 .graph = conv_forms[1].graph,
                 .offer = {plan::Arithmetic::half_exact_bias, plan::Order::channels_last},
                 .storage = {{"x", half_last}, {"z", half_last}},
                 .tolerance = 2e-3});
  all.push_back({.name = "strict_depthwise",
                 .technique = "conv.cudnn",
                 .graph = depthwise,
                 .numerics = Numerics::strict});
  all.push_back({.name = "half_depthwise",
                 .technique = "conv.cudnn",
                 .graph = depthwise,
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  // Strides folded into channels, and a rest of the image that no window takes.
  for (bool half : {true, false})
    all.push_back(
        {.name = half ? "folded_half" : "folded_tf32",
         .technique = "conv.cudnn",
         .graph = half ? "input %x : f32[2,3,23,30]\nparameter %w : f32[8,3,8,6]\n"
                         "parameter %b : f32[8]\n%c = conv(%x, %w, %b) stride=[4,3] padding=[2,0] "
                         "dilation=[1,1] : f32[2,8,5,9]\n%y = relu(%c) : f32[2,8,5,9]\noutput %y\n"
                       : "input %x : f32[2,2,21,19]\nparameter %w : f32[8,2,8,8]\n"
                         "%y = conv(%x, %w) stride=[4,4] padding=[1,1] dilation=[1,1] : "
                         "f32[2,8,4,4]\noutput %y\n",
         .offer = {half ? plan::Arithmetic::half : plan::Arithmetic::by_class, plan::Order::channels_last},
         .tolerance = 2e-3});
  // The same with zero-padded filters: no output has pixels.
  all.push_back({.name = "folded_zeros",
                 .technique = "conv.cudnn",
                 .graph = "input %x : f32[2,3,23,30]\nparameter %w : f32[8,3,11,7]\nparameter %b : f32[8]\n"
                          "%c = conv(%x, %w, %b) stride=[4,3] padding=[2,0] dilation=[1,1] : f32[2,8,5,8]\n"
                          "%y = reshape(%c) shape=[2,320] : f32[2,320]\noutput %y\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .tolerance = 2e-3});
  return all;
}

std::vector<Case> cudnn_graph_cases() {
  std::vector<Case> all;
  // Epilogues in cuDNN's graphs; it has no engine for the last one here.
  const std::string image =
                        "input %x : f32[2,16,7,5]\nparameter %w : f32[24,16,3,3]\nparameter %b : f32[24]\n",
                    product =
                        "%c = conv(%x, %w, %b) stride=[2,1] padding=[1,1] dilation=[1,1] : f32[2,24,4,5]\n";
  const ConvForm graphs[] = {
      {"relu", "%y = relu(%c) : f32[2,24,4,5]\noutput %y\n"},
      {"residual", "%s = add(%r, %c) : f32[2,24,4,5]\n%y = relu(%s) : f32[2,24,4,5]\noutput %y\n"},
      {"gate", "%h = hardswish(%c) : f32[2,24,4,5]\n%y = mul(%h, %g) : f32[2,24,4,5]\noutput %y\n"},
      {"sigmoid", "%h = sigmoid(%c) : f32[2,24,4,5]\n%y = mul(%c, %h) : f32[2,24,4,5]\noutput %y\n"},
      {"clamp",
       "%h = clamp(%c) low=0.0 high=0.5 : f32[2,24,4,5]\n%y = silu(%h) : f32[2,24,4,5]\noutput %y\n"},
      {"gelu", "%h = gelu(%c) : f32[2,24,4,5]\n%y = sub(%h, %r) : f32[2,24,4,5]\noutput %y\n"},
  };
  for (const ConvForm& form : graphs) {
    std::string inputs = image;
    if (std::string(form.graph).find("%r") != std::string::npos)
      inputs = "input %r : f32[2,24,4,5]\n" + inputs;
    if (std::string(form.graph).find("%g") != std::string::npos)
      inputs = "input %g : f32[2,24,1,1]\n" + inputs;
    const std::string text = inputs + product + form.graph;
    all.push_back({.name = format("graph_{}_half", form.name),
                   .technique = "conv.cudnn_graph",
                   .graph = text,
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .storage = {{"x", half_last}, {"r", half_last}, {"y", half_last}},
                   .tolerance = 2e-3});
    if (form.name == std::string("residual"))
      for (bool half : {true, false})
        all.push_back({.name = half ? "library_residual_half" : "library_residual_tf32",
                       .technique = "conv.cudnn",
                       .graph = text,
                       .offer = {half ? plan::Arithmetic::half : plan::Arithmetic::by_class,
                                 plan::Order::channels_last},
                       .storage = {{"x", half ? half_last : last},
                                   {"r", half ? half_last : last},
                                   {"y", half ? half_last : last}},
                       .tolerance = 2e-3});
    all.push_back({.name = format("graph_{}_tf32", form.name),
                   .technique = "conv.cudnn_graph",
                   .graph = text,
                   .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                   .storage = {{"x", last}, {"r", last}, {"y", last}},
                   .tolerance = 2e-3});
  }
  all.push_back({.name = "graph_first_layer",
                 .technique = "conv.cudnn_graph",
                 .graph = "input %x : f32[2,3,9,8]\nparameter %w : f32[16,3,3,3]\nparameter %b : f32[16]\n"
                          "%c = conv(%x, %w, %b) stride=[2,2] padding=[1,1] dilation=[1,1] : f32[2,16,5,4]\n"
                          "%y = hardswish(%c) : f32[2,16,5,4]\noutput %y\n",
                 .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                 .storage = {{"y", half_last}},
                 .tolerance = 2e-3});
  return all;
}

// Alone and channels first, whatever follows and however it lies.
std::vector<Case> as_pytorch_cases() {
  std::vector<Case> all;
  for (const ConvForm& form : conv_forms)
    all.push_back({.name = format("as_pytorch_{}", form.name),
                   .technique = "conv.as_pytorch",
                   .graph = form.graph,
                   .tolerance = 2e-3});
  all.push_back({.name = "as_pytorch_strict",
                 .technique = "conv.as_pytorch",
                 .graph = conv_forms[1].graph,
                 .numerics = Numerics::strict});
  all.push_back({.name = "as_pytorch_channels_last",
                 .technique = "conv.as_pytorch",
                 .graph = conv_forms[1].graph,
                 .storage = {{"x", last}, {"z", last}},
                 .tolerance = 2e-3});
  return all;
}

std::vector<Case> all_cudnn_cases() {
  std::vector<Case> all = cudnn_cases();
  std::ranges::move(cudnn_graph_cases(), std::back_inserter(all));
  std::ranges::move(as_pytorch_cases(), std::back_inserter(all));
  return all;
}

PRODUCT_CASES(ConvCudnn, all_cudnn_cases());

}  // namespace
}  // namespace stitch::code
