// conv.plain: any convolution or transposed convolution as an implicit GEMM on the CUDA cores:
// channels_out/groups rows, batch · positions columns, channels_in/groups · taps deep, a batch of groups. x
// is read about channels_out/64 times, exact in FP32. The fallback.
#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/matmul/library_product.h"
#include "code/products/techniques.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

constexpr const char* axis_names[] = {"z", "y", "x"};

// The coordinates of `position`, outermost first, as C declarations from a flat index.
std::string coordinates(std::string_view flat, std::string_view prefix, const Convolution::Three& sizes) {
  std::string text;
  int64_t below = 1;
  for (size_t d = 3; d-- > 0;) {
    if (sizes[d] > 1) {
      std::string value(flat);
      if (below > 1) value += format(" / {}", below);
      value += format(" % {}", sizes[d]);
      text += format("{}{}{} = {}", text.empty() ? "" : ", ", prefix, axis_names[d], value);
    }
    below *= sizes[d];
  }
  return text.empty() ? "" : format("    const Index {};\n", text);
}

std::string coordinate(std::string_view prefix, size_t d, const Convolution::Three& sizes) {
  return sizes[d] > 1 ? format("{}{}", prefix, axis_names[d]) : "0";
}

class Sum {
 public:
  void add(std::string_view name, int64_t factor) {
    if (factor == 0 || name == "0") return;
    terms_.push_back(factor == 1 ? std::string(name) : format("{} * {}", name, factor));
  }
  void add(int64_t constant) {
    if (constant != 0) terms_.push_back(std::to_string(constant));
  }
  std::string text() const { return terms_.empty() ? "0" : join(terms_, " + "); }

 private:
  std::vector<std::string> terms_;
};

// The element of x for a tap at a position of the result; -1 outside.
std::string gather_function(const Convolution& c, bool channels_first) {
  int64_t channels = c.channels_in / c.groups, taps = c.taps();
  auto strides = c.strides(c.x);
  std::string body = coordinates(channels_first ? format("(k / {})", channels) : "k", "tap_", c.kernel);
  body += coordinates("column", "out_", c.size_out);
  Sum sum;
  for (size_t d = 0; d < 3; ++d) {
    std::string out = coordinate("out_", d, c.size_out), tap = coordinate("tap_", d, c.kernel);
    std::string name = axis_names[d];
    if (!c.transposed) {
      Sum at;
      at.add(out, c.stride[d]);
      at.add(tap, c.dilation[d]);
      std::string text = at.text();
      if (c.padding[d] > 0) text += format(" - {}", c.padding[d]);
      if (text == "0") continue;
      body += format("    const Index {} = {};\n", name, text);
      body +=
          c.padding[d] > 0 ? format("    if ({0} < 0 || {0} >= {1}) return -1;\n", name, c.size_in[d]) : "";
    } else {
      Sum at;
      at.add(out, 1);
      at.add(c.padding[d]);
      std::string text = at.text();
      if (tap != "0") text += format(" - {} * {}", tap, c.dilation[d]);
      if (text == "0") continue;
      std::string wide = c.stride[d] > 1 ? "wide_" + name : name;
      body += format("    const Index {} = {};\n", wide, text);
      if (c.stride[d] > 1) {
        body += format("    if ({0} < 0 || {0} % {1} != 0) return -1;\n", wide, c.stride[d]);
        body += format("    const Index {} = {} / {};\n", name, wide, c.stride[d]);
        body += format("    if ({} >= {}) return -1;\n", name, c.size_in[d]);
      } else {
        body += format("    if ({0} < 0 || {0} >= {1}) return -1;\n", name, c.size_in[d]);
      }
    }
    sum.add(name, strides[2 + d]);
  }
  if (c.batch > 1) sum.add(format("column / {}", c.positions()), strides[0]);
  if (channels > 1)
    sum.add(channels_first ? format("k % {}", channels)
            : taps > 1     ? format("k / {}", taps)
                           : "k",
            strides[1]);
  if (c.groups > 1) sum.add("group", strides[1] * channels);
  sum.add(c.x.offset);
  body += format("    return {};\n", sum.text());
  return format("  __device__ static Index right(Index{}, Index{}, Index{}) {{\n{}  }}\n",
                c.groups > 1 ? " group" : "", channels > 1 || taps > 1 ? " k" : "",
                c.batch > 1 || c.positions() > 1 ? " column" : "", body);
}

std::string pixel_index_function(std::string_view name, const std::array<const char*, 3>& variables,
                                 const Index& index) {
  std::vector<std::string> parameters;
  for (const char* variable : variables)
    parameters.push_back(index.appears(variable) ? format("Index {}", variable) : "Index");
  return format("  __device__ static Index {}({}) {{ return {}; }}\n", name, join(parameters, ", "),
                index.text());
}

}  // namespace

std::string convolution_struct(const Convolution& c, const std::string& name) {
  int64_t channels = c.channels_in / c.groups, filters = c.channels_out / c.groups, taps = c.taps();
  bool channels_first =
      c.strides(c.x)[1] == 1 && channels > 1;  // in k: contiguous elements are read together
  Index group = Index::variable("group", c.groups), row = Index::variable("row", filters);
  Index column = Index::variable("column", c.batch * c.positions()),
        k = Index::variable("k", channels * taps);

  // weight (channels_out, channels, taps…), transposed (channels_in, filters, taps…)
  Index channel =
      channels_first ? k.modulo(std::max<int64_t>(channels, 1)) : k.divided_by(std::max<int64_t>(taps, 1));
  Index tap =
      channels_first ? k.divided_by(std::max<int64_t>(channels, 1)) : k.modulo(std::max<int64_t>(taps, 1));
  auto weight_strides = c.strides(c.weight);
  Index left(c.weight.offset);
  if (c.transposed)
    left = left + (group * channels + channel) * weight_strides[0] + row * weight_strides[1];
  else
    left = left + (group * filters + row) * weight_strides[0] + channel * weight_strides[1];
  auto add_coordinates = [](Index sum, const Index& flat, const Convolution::Three& sizes,
                            const int64_t* strides) {
    if (sizes[0] * sizes[1] * sizes[2] == 0) return sum;
    Indices at = unflatten(flat, {sizes[0], sizes[1], sizes[2]});
    for (size_t d = 0; d < 3; ++d) sum = sum + at[d] * strides[d];
    return sum;
  };
  left = add_coordinates(left, tap, c.kernel, weight_strides.data() + 2);

  auto result_index = [&](const View& view) {
    auto strides = c.strides(view);
    Index sum = Index(view.offset) + (group * filters + row) * strides[1];
    int64_t positions = std::max<int64_t>(c.positions(), 1);
    sum = sum + column.divided_by(positions) * strides[0];
    return add_coordinates(sum, column.modulo(positions), c.size_out, strides.data() + 2);
  };
  View dense = c.result.view;
  dense.strides = contiguous_strides(dense.shape);
  dense.offset = 0;
  Index position = result_index(dense),
        out = c.result.scatter ? c.result.scatter(position) : result_index(c.result.view);

  constexpr int64_t most = int64_t{1} << 30;
  bool small = left.most() < most && out.most() < most && position.most() < most && channels * taps < most &&
               element_count(c.x.shape) < most;
  DType dtype = c.result.view.place->dtype;
  bool doubles = dtype == DType::f64 || c.x.place->dtype == DType::f64;
  std::string text = format("struct {} {{  // {}\n", name, describe(c));
  text += format(
      "  using Left = {};\n  using Right = {};\n  using Out = {};\n  using Sum = {};\n  using Index = {};\n",
      element_type(c.weight.place->dtype), element_type(c.x.place->dtype), element_type(dtype),
      doubles ? "double" : "float", small ? "int" : "int64_t");
  text += "  // Filters, positions of all samples, channels and taps; a batch is a group.\n";
  text += format(
      "  static constexpr Index batches = {}, rows = {}, depth = {};\n  static constexpr Index columns = "
      "{};\n",
      c.groups, filters, channels * taps, c.batch * c.positions());
  text += format(
      "  static constexpr bool left_by_depth = {}, right_by_depth = {}, has_right = true, padded = true;\n",
      !c.transposed, channels_first);
  text += pixel_index_function("left", {"group", "row", "k"}, left);
  text += gather_function(c, channels_first);
  text += pixel_index_function("out", {"group", "row", "column"}, out);
  text += pixel_index_function("position", {"group", "row", "column"}, position);
  return text + "};\n";
}

int64_t product_lanes(const Convolution& c) {
  return product_lanes(c.groups, c.channels_out / c.groups, c.batch * c.positions(),
                       c.channels_in / c.groups * c.taps(), true);
}

namespace {

Result<void> accepts_conv_plain(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  return {};
}

Result<RegionCode> write_conv_plain(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution convolution, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  std::string product = type_name(request.name, "Product");

  const Place &x = *convolution.x.place, &weight = *convolution.weight.place,
              &out = *convolution.result.view.place;
  return write_kernel(
      request, out, epilogue,
      {.header = "matmul.h",
       .summary = describe(convolution),
       .idea = "A product that gathers x, on the CUDA cores, exact; kernels/matmul.h has the kernel.",
       .structs = convolution_struct(convolution, product) + "\n",
       .reads = {&x, &weight},
       .call = format("enqueue_product<{}>", product_lanes(convolution)),
       .arguments = {product + "{}", weight.pointer, x.pointer, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_plain{{
    .name = "conv.plain",
    .idea = "any convolution on the CUDA cores, as an implicit product that gathers its operand",
    .kind = plan::Kind::convolution,
    .entry = plan::Entry::plain,
    .accepts = accepts_conv_plain,
    .write = write_conv_plain,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return plain_rate(context);
    },
    // At least as long as conv.pointwise waits for its weights.
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          constexpr double start = 4e-6, step = 0.45e-6;
          return start + step * static_cast<double>((c.channels_in / c.groups * c.taps() + 7) / 8);
        },
}};

}  // namespace stitch::code
