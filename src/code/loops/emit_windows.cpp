// Pools and resizing: a small loop over the elements that an element is made of.
#include <cmath>
#include <optional>

#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

namespace {

const char* spatial_names[] = {"z", "y", "x"};

}  // namespace

// Loops over a window, one a spatial dimension, and what is done with each element inside. Where the lanes of
// a pack are channels, they share the window: it is walked once, a whole pack at each of its places.
std::string Emitter::window(ValueId id, const Node& node, size_t result, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape &in = graph().type(x).shape, &out = graph().type(node.results[0]).shape;
  size_t dims = in.size() - 2;
  DType dtype = graph().type(x).dtype;
  bool adaptive = node.op == Op::adaptive_max_pool || node.op == Op::adaptive_avg_pool;
  bool largest = node.op == Op::max_pool || node.op == Op::adaptive_max_pool;
  const Attributes& attributes = node.attributes;
  std::vector<int64_t> none;
  const auto& kernel = adaptive ? none : attributes.integers("kernel");
  const auto& stride = adaptive ? none : attributes.integers("stride");
  const auto& padding = adaptive ? none : attributes.integers("padding");

  bool positions = largest && node.results.size() > 1;
  std::string name = names_.unique(graph()[node.results[0]].name), place = names_.unique(name + "_from");
  std::string type = type_of(node.results[0]);
  bool shared = in_lanes() && !positions;
  for (size_t d = 0; d < dims; ++d) shared = shared && !at[d + 2].appears(pack_.variable);
  const int64_t lanes = pack_.width;
  std::string so_far = shared ? format("{}[{}]", name, pack_.variable) : name;
  std::optional<BeforeLanes> before;
  if (shared) before.emplace(*this);
  // Where each window begins and ends inside the input.
  std::vector<std::string> begins(dims), ends(dims), padded(dims);
  std::vector<int64_t> steps(dims, 1);
  std::vector<bool> inside(dims, false);   // whole in the input, whatever the place
  std::vector<bool> clipped(dims, false);  // perhaps not, and looked at as if: see below
  std::vector<Index> starts(dims);
  for (size_t d = 0; d < dims; ++d) {
    int64_t size = in[d + 2];
    std::string from = names_.unique(format("{}_begin", spatial_names[3 - dims + d]));
    std::string to = names_.unique(format("{}_end", spatial_names[3 - dims + d]));
    if (adaptive) {
      Index scaled = settled(at[d + 2], out[d + 2]) * size;
      Index begin = scaled.divided_by(out[d + 2]),
            end = (scaled + (size + out[d + 2] - 1)).divided_by(out[d + 2]);
      begins[d] = begin.text();
      ends[d] = end.text();
      padded[d] = format("({} - {})", "(" + ends[d] + ")", "(" + begins[d] + ")");
      continue;
    }
    int64_t dilation = largest ? attributes.integers("dilation")[d] : 1;
    steps[d] = dilation;
    Index start = at[d + 2] * stride[d] - padding[d];
    int64_t reach = (kernel[d] - 1) * dilation + 1;
    starts[d] = start;
    inside[d] = start.least() >= 0 && start.most() + reach <= size;
    if (inside[d]) {
      padded[d] = std::to_string(kernel[d]);
      continue;
    }
    std::string text = start.text();
    // A window that starts in the padding starts with its first tap that doesn't.
    std::string first =
        dilation == 1 ? "0" : format("({}) % {}", (start + padding[d] * dilation).text(), dilation);
    line(format("const {} {} = {} < 0 ? {} : {};", index_type(), from, text, first, text));
    line(format("const {} {} = {} < {} ? {} : {};", index_type(), to, (start + reach).text(), size,
                (start + reach).text(), size));
    begins[d] = from;
    ends[d] = to;
    scopes_.introduce(from);
    scopes_.introduce(to);
    Index past = start + reach;
    clipped[d] = dilation == 1 && !positions && kernel[d] <= 8;
    padded[d] = past.most() <= size + padding[d]
                    ? std::to_string(reach)
                    : format("(({0} < {1} ? {0} : {1}) - ({2}))", past.text(), size + padding[d], text);
  }
  std::string lowest = is_floating(dtype)        ? literal(-INFINITY, dtype)
                       : dtype == DType::boolean ? "false"
                       : type == "int64_t"       ? "INT64_MIN"
                                                 : "INT32_MIN";
  std::string start = largest ? lowest : literal(0, dtype);
  if (shared) {
    line(format("{} {}[{}];", type, name, lanes));
    line("#pragma unroll");
    line(format("for (int v = 0; v < {}; ++v) {} = {};", lanes, so_far, start));
  } else {
    line(format("{} {} = {};", type, name, start));
  }
  if (positions) {
    Index first;
    std::string text;
    for (size_t d = 0; d < dims; ++d) {
      std::string begin = inside[d] ? starts[d].text() : begins[d];
      text = text.empty() ? "(" + begin + ")" : format("({} * {} + {})", text, in[d + 2], begin);
    }
    line(format("int64_t {} = {};", place, text));
  }
  Indices from = at;
  Indices spatial;
  std::string counted;  // whether a tap counts, of a mean
  for (size_t d = 0; d < dims; ++d) {
    const char* axis = spatial_names[3 - dims + d];
    if (inside[d] || clipped[d]) {
      int64_t copies = shared ? lanes : 1;
      for (size_t inner = d; inner < dims; ++inner)
        copies *= inside[inner] || clipped[inner] ? kernel[inner] : 1;
      bool unroll = kernel[d] <= 8 && unrollable(copies, x);
      Index tap = open_loop(format("k{}", axis), "0", std::to_string(kernel[d]), 1, kernel[d], unroll);
      from[d + 2] = starts[d] + tap * steps[d];
      if (clipped[d]) {
        // Taps past an edge look at the edge, so that no load waits for the end of another: what is largest
        // stays, and a mean counts them as nothing.
        std::string wanted = names_.unique(format("{}_wanted", axis));
        line(format("const {} {} = {};", index_type(), wanted, from[d + 2].text()));
        from[d + 2] = declare_index(
            axis, format("stitch::clamp<{}>({}, 0, {})", index_type(), wanted, in[d + 2] - 1), in[d + 2]);
        if (!largest)
          counted += format("{}{} == {}", counted.empty() ? "" : " && ", wanted, from[d + 2].text());
      }
    } else {
      from[d + 2] = open_loop(axis, begins[d], ends[d], steps[d], in[d + 2]);
    }
    spatial.push_back(from[d + 2]);
  }
  if (shared) open_pack(lanes, pack_.together);
  std::string element = value(x, from);
  if (largest) {
    if (positions) {
      // As PyTorch: the first of equals, but the last NaN.
      guard(is_floating(dtype) ? format("{0} > {1} || {0} != {0}", element, name)
                               : format("{} > {}", element, name));
      line(format("{} = {};", name, element));
      line(format("{} = {};", place, flatten(spatial, Shape(in.begin() + 2, in.end())).text()));
      close();
    } else {
      line(format("{0} = stitch::maximum({0}, {1});", so_far, element));
    }
  } else {
    line(format("{} += {};", so_far,
                counted.empty() ? element : format("{} ? {} : {}", counted, element, literal(0, dtype))));
  }
  if (shared) close_pack();
  for (size_t d = 0; d < dims; ++d) close();
  before.reset();
  if (largest) {
    if (positions) {
      scopes_.remember(key_of(node.results[0], at), name);
      scopes_.remember(key_of(node.results[1], at), place);
    }
    return result == 0 ? so_far : place;
  }
  std::string count;
  auto multiply = [&](const std::string& factor) { count += (count.empty() ? "" : " * ") + factor; };
  int64_t divisor = adaptive ? 0 : attributes.integer("divisor");
  if (divisor) {
    count = std::to_string(divisor);
  } else {
    for (size_t d = 0; d < dims; ++d)
      multiply(adaptive || attributes.flag("count_padding") || inside[d]
                   ? padded[d]
                   : format("({} - {})", ends[d], begins[d]));
  }
  bool constant = count.find_first_of("(<") == std::string::npos;
  std::string mean = names_.unique(graph()[id].name + "_mean");
  if (constant) {
    int64_t number = 1;
    if (divisor)
      number = divisor;
    else
      for (const std::string& factor : padded) number *= std::stoll(factor);
    line(format("const {} {} = {} * {};", type, mean, so_far,
                literal(1.0 / static_cast<double>(number), dtype)));
    return mean;
  }
  // A window without elements has no mean; it is said to be zero.
  std::string empty;
  for (size_t d = 0; d < dims; ++d)
    if (!inside[d] && !adaptive)
      empty += format("{}{} >= {}", empty.empty() ? "" : " || ", begins[d], ends[d]);
  std::string quotient = format("{} / static_cast<{}>({})", so_far, type, count);
  line(format("const {} {} = {};", type, mean,
              empty.empty() ? quotient : format("{} ? {} : {}", empty, literal(0, dtype), quotient)));
  return mean;
}

std::string Emitter::resized(ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape &in = graph().type(x).shape, &out = graph().type(id).shape;
  DType dtype = graph().type(id).dtype;
  const Attributes& attributes = node.attributes;
  const std::string& mode = attributes.text("mode");
  const auto& scales = attributes.numbers("scales");
  bool align = attributes.flag("align_corners");
  size_t dims = in.size() - 2;
  auto scale_of = [&](size_t d) { return scales.empty() ? 0 : scales[d]; };
  Indices from = at;
  if (mode == "nearest" || mode == "nearest_exact") {
    for (size_t d = 0; d < dims; ++d) {
      // In float, as PyTorch computes it for every dtype: positions on the edge depend on the rounding.
      float step = scale_of(d) > 0 ? static_cast<float>(1 / scale_of(d))
                                   : static_cast<float>(in[d + 2]) / static_cast<float>(out[d + 2]);
      double whole = 1.0 / static_cast<double>(step);
      if (mode == "nearest" && step == 1.0f && in[d + 2] == out[d + 2]) continue;
      if (mode == "nearest" && scale_of(d) <= 0 && out[d + 2] % in[d + 2] == 0 && out[d + 2] < (1 << 20) &&
          (std::lround(whole) & (std::lround(whole) - 1)) == 0) {
        // A power of two: exact in float too, and a shift here.
        from[d + 2] = settled(at[d + 2], out[d + 2]).divided_by(out[d + 2] / in[d + 2]);
        continue;
      }
      std::string i = at[d + 2].text();
      std::string where = mode == "nearest"
                              ? format("static_cast<float>({}) * {}", i, literal(step, DType::f32))
                              : format("(static_cast<float>({}) + 0.5f) * {}", i, literal(step, DType::f32));
      const char* axis = spatial_names[3 - dims + d];
      std::string source = names_.unique(format("{}_source", axis));
      line(format("const {0} {1} = static_cast<{0}>({2});", index_type(), source, where));
      from[d + 2] = declare_index(axis, format("{0} < {1} ? {0} : {1}", source, in[d + 2] - 1), in[d + 2]);
    }
    return value(x, from);
  }
  bool cubic = mode == "cubic";
  std::string type = computed_type(dtype), name = names_.unique(graph()[id].name);
  std::vector<std::string> shares(dims), lefts(dims);
  for (size_t d = 0; d < dims; ++d) {
    const char* axis = spatial_names[3 - dims + d];
    std::string i = at[d + 2].text(), where = names_.unique(format("{}_position", axis));
    double size_in = static_cast<double>(in[d + 2]), size_out = static_cast<double>(out[d + 2]);
    double step = scale_of(d) > 0 ? 1 / scale_of(d) : size_in / size_out;
    std::string text;
    if (!cubic && in[d + 2] == out[d + 2])
      text = format("static_cast<double>({})", i);
    else if (align)
      text = out[d + 2] > 1 ? format("{} * static_cast<double>({})",
                                     literal((size_in - 1) / (size_out - 1), DType::f64), i)
                            : "0.0";
    else
      text = format("{} * (static_cast<double>({}) + 0.5) - 0.5", literal(step, DType::f64), i);
    // In double: a share that is off by a float's rounding would be off by as much times the position.
    line(format("const double {} = {};", where, cubic ? text : format("fmax({}, 0.0)", text)));
    lefts[d] = names_.unique(format("{}_left", axis));
    shares[d] = names_.unique(format("{}_share", axis));
    line(format("const {0} {1} = static_cast<{0}>(fmin(floor({2}), {3}));", index_type(), lefts[d], where,
                literal(size_in - 1, DType::f64)));
    line(format("const {0} {1} = static_cast<{0}>(fmin(fmax({2} - {3}, 0.0), 1.0));", type, shares[d], where,
                lefts[d]));
    scopes_.introduce(lefts[d]);
    scopes_.introduce(shares[d]);
  }
  line(format("{} {} = {};", type, name, literal(0, dtype)));
  std::string product;
  for (size_t d = 0; d < dims; ++d) {
    const char* axis = spatial_names[3 - dims + d];
    Index tap = open_loop(format("t{}", axis), "0", cubic ? "4" : "2", 1, cubic ? 4 : 2, true);
    std::string weight = names_.unique(format("{}_weight", axis));
    std::string t = tap.text();
    if (cubic)
      line(format("const {0} {1} = stitch::cubic_weight({2} - static_cast<{0}>({3} - 1));", type, weight,
                  shares[d], t));
    else
      line(format("const {0} {1} = {2} == 0 ? {3} - {4} : {4};", type, weight, t, literal(1, dtype),
                  shares[d]));
    std::string source = cubic ? format("{} + {} - 1", lefts[d], t) : format("{} + {}", lefts[d], t);
    std::string clamped = cubic
                              ? format("stitch::clamp<{}>({}, 0, {})", index_type(), source, in[d + 2] - 1)
                              : format("{0} < {1} ? {0} : {1}", source, in[d + 2] - 1);
    from[d + 2] = declare_index(axis, clamped, in[d + 2]);
    product += (product.empty() ? "" : " * ") + weight;
  }
  std::string element = value(x, from);
  line(format("{} += {} * {};", name, product, element));
  for (size_t d = 0; d < dims; ++d) close();
  return name;
}

}  // namespace stitch::code::loops
