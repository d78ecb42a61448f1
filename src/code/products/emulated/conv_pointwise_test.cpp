// Kernels of one pixel: planes, channels last, channels that libraries would pad, small NHWC products.
#include <algorithm>

#include "code/products/emulated/conv_forms.h"

namespace stitch::code {
namespace {

std::vector<Case> pointwise_cases() {
  std::vector<Case> all;
  all.push_back({.name = "pointwise_library",
                 .technique = "conv.pointwise",
                 .graph = "input %x : f32[3,9,5,7]\nparameter %w : f32[20,9,1,1]\n"
                          "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[3,20,5,7]\n"
                          "output %y\n",
                 .choices = {{"library", 1}},
                 .tolerance = 2e-3});
  for (const ConvForm& form : pointwise_forms) {
    all.push_back({.name = format("pointwise_{}", form.name),
                   .technique = "conv.pointwise",
                   .graph = form.graph,
                   .tolerance = 1e-3});
    all.push_back({.name = format("strict_pointwise_{}", form.name),
                   .technique = "conv.pointwise",
                   .graph = form.graph,
                   .numerics = Numerics::strict,
                   .tolerance = 1e-6});
  }
  for (size_t form : {1u, 4u})
    all.push_back({.name = format("pointwise_{}_together", pointwise_forms[form].name),
                   .technique = "conv.pointwise",
                   .graph = pointwise_forms[form].graph,
                   .choices = {{"together", 1}},
                   .tolerance = 1e-3});
  // Channels last: by cuBLASLt, unless what follows or only one side is like that.
  for (size_t form : {1u, 2u, 3u})
    for (const plan::Storage& storage : {last, half_last}) {
      std::string out = form == 1 ? "y" : "z";
      all.push_back({.name = format("pointwise_{}_{}last", pointwise_forms[form].name,
                                    storage.dtype == DType::f16 ? "half_" : ""),
                     .technique = "conv.pointwise",
                     .graph = pointwise_forms[form].graph,
                     .storage = {{"x", storage}, {out, storage}},
                     .tolerance = 2e-3});
    }
  // Channels that aren't multiples of eight: of an odd number and of pairs, more steps than a round.
  const char* const wide =
      "input %x : f32[2,154,5,7]\nparameter %w : f32[116,154,1,1]\nparameter %b : f32[116]\n"
      "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,116,5,7]\n"
      "%z = silu(%y) : f32[2,116,5,7]\noutput %z\n";
  for (const plan::Storage& storage : {last, half_last})
    for (bool pairs : {false, true})
      all.push_back({.name = format("pointwise_odd_{}{}", pairs ? "pairs_" : "",
                                    storage.dtype == DType::f16 ? "half" : "float"),
                     .technique = "conv.pointwise_odd",
                     .graph = pairs ? wide : pointwise_forms[0].graph,
                     .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                     .storage = {{"x", storage}, {pairs ? "z" : "y", storage}},
                     .tolerance = 2e-3});
  all.push_back({.name = "pointwise_odd_bf16",
                 .technique = "conv.pointwise_odd",
                 .graph = "input %x : bf16[3,21,5,7]\nparameter %w : bf16[37,21,1,1]\n"
                          "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : bf16[3,37,5,7]\n"
                          "output %y\n",
                 .offer = {plan::Arithmetic::by_class, plan::Order::channels_last},
                 .storage = {{"x", {DType::bf16, last.order}}, {"y", {DType::bf16, last.order}}},
                 .tolerance = 1e-2});
  all.push_back({.name = "pointwise_exact_last",
                 .technique = "conv.pointwise",
                 .graph = pointwise_forms[1].graph,
                 .offer = {plan::Arithmetic::exact, plan::Order::row_major},
                 .storage = {{"x", last}, {"y", last}},
                 .tolerance = 1e-6});
  all.push_back({.name = "pointwise_from_last",
                 .technique = "conv.pointwise",
                 .graph = pointwise_forms[3].graph,
                 .storage = {{"x", half_last}},
                 .tolerance = 2e-3});
  return all;
}

std::vector<Case> pointwise_nhwc_cases() {
  std::vector<Case> all;
  const char* const wide =
      "input %x : f32[2,154,5,7]\nparameter %w : f32[116,154,1,1]\nparameter %b : f32[116]\n"
      "%y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,116,5,7]\n"
      "%z = silu(%y) : f32[2,116,5,7]\noutput %z\n";
  // NHWC in small tiles: every way of sharing the channels, channels by fours and not, a residual, a gate.
  const char* const residual =
      "input %x : f32[2,72,5,7]\ninput %r : f32[2,40,5,7]\nparameter %w : f32[40,72,1,1]\nparameter %b : "
      "f32[40]\n%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,40,5,7]\n"
      "%z = add(%c, %r) : f32[2,40,5,7]\noutput %z\n";
  const char* const gated =
      "input %x : f32[3,36,3,5]\ninput %g : f32[3,36,1,1]\nparameter %w : f32[24,36,1,1]\n"
      "%m = mul(%x, %g) : f32[3,36,3,5]\n"
      "%y = conv(%m, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[3,24,3,5]\noutput %y\n";
  // Nine steps of channels for four warps: three, three, three and none.
  const char* const shared =
      "input %x : f32[1,144,3,4]\nparameter %w : f32[16,144,1,1]\n"
      "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,16,3,4]\noutput %y\n";
  struct Nhwc {
    const char *name, *graph, *out;
    plan::Arithmetic arithmetic;
    int64_t pixel_tiles, filter_tiles, depth_warps;
  };
  using plan::Arithmetic;
  for (const Nhwc& each : {Nhwc{"silu", wide, "z", Arithmetic::by_class, 2, 4, 1},
                           Nhwc{"silu_half", wide, "z", Arithmetic::half, 1, 8, 2},
                           Nhwc{"residual", residual, "z", Arithmetic::exact, 1, 3, 4},
                           Nhwc{"residual_half", residual, "z", Arithmetic::half_exact_bias, 2, 2, 2},
                           Nhwc{"shared", shared, "y", Arithmetic::exact, 1, 2, 4},
                           Nhwc{"gated", gated, "y", Arithmetic::by_class, 1, 2, 2},
                           Nhwc{"gated_half", gated, "y", Arithmetic::half, 2, 3, 1},
                           Nhwc{"odd", pointwise_forms[0].graph, "y", Arithmetic::exact, 1, 5, 1}}) {
    const plan::Storage& storage = each.arithmetic >= Arithmetic::half ? half_last : last;
    all.push_back({.name = format("pointwise_nhwc_{}", each.name),
                   .technique = "conv.pointwise_nhwc",
                   .graph = each.graph,
                   .offer = {each.arithmetic, plan::Order::channels_last},
                   .choices = {{"pixel_tiles", each.pixel_tiles},
                               {"filter_tiles", each.filter_tiles},
                               {"depth_warps", each.depth_warps}},
                   .storage = {{"x", storage}, {"r", storage}, {each.out, storage}},
                   .tolerance = each.arithmetic == Arithmetic::exact ? 2e-6 : 2e-3});
  }
  for (const char* stored : {"x", "y"})
    all.push_back({.name = format("pointwise_nhwc_{}", *stored == 'x' ? "to_nchw" : "from_nchw"),
                   .technique = "conv.pointwise_nhwc",
                   .graph = gated,
                   .offer = {Arithmetic::by_class, plan::Order::channels_last},
                   .storage = {{stored, last}},
                   .tolerance = 2e-3});
  // So many pixels that a warp makes several tiles; and four tiles of a quad that are stored at once.
  auto with_residual = [](int samples, const char* plane, int filters) {
    return format(
        "input %x : f32[{0},8,{1}]\ninput %r : f32[{0},{2},{1}]\nparameter %w : f32[{2},8,1,1]\n"
        "parameter %b : f32[{2}]\n%c = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : "
        "f32[{0},{2},{1}]\n%s = add(%c, %r) : f32[{0},{2},{1}]\n%y = relu(%s) : f32[{0},{2},{1}]\n"
        "output %y\n",
        samples, plane, filters);
  };
  for (bool many : {true, false})
    all.push_back({.name = many ? "nhwc_many_pixels" : "nhwc_quads",
                   .technique = "conv.pointwise_nhwc",
                   .graph = many ? with_residual(1, "260,263", 8) : with_residual(2, "9,11", 40),
                   .offer = {plan::Arithmetic::half, plan::Order::channels_last},
                   .choices = {{"filter_tiles", many ? 1 : 5}},
                   .storage = {{"x", half_last}, {"r", half_last}, {"y", half_last}},
                   .tolerance = 2e-3});
  return all;
}

std::vector<Case> all_pointwise_cases() {
  std::vector<Case> all = pointwise_cases();
  std::ranges::move(pointwise_nhwc_cases(), std::back_inserter(all));
  return all;
}

PRODUCT_CASES(ConvPointwise, all_pointwise_cases());

}  // namespace
}  // namespace stitch::code
