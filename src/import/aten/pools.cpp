// Pools and interpolation. Unbatched inputs get a batch of one.
#include "import/aten/table.h"

namespace stitch {

namespace {

std::vector<int64_t> spread_over(std::vector<int64_t> list, size_t dims) {
  if (list.size() == 1) list.assign(dims, list[0]);
  return list;
}

Values pooled(Call& call, size_t dims, const std::function<Values(ValueId)>& pool) {
  ValueId x = call.tensor("self");
  bool added = call.shape(x).size() == dims + 1;
  if (added) {
    Shape shape = call.shape(x);
    shape.insert(shape.begin(), 1);
    x = call.reshape(x, shape);
  }
  Values results = pool(x);
  if (added)
    for (ValueId& y : results) y = call.reshape(y, {call.shape(y).begin() + 1, call.shape(y).end()});
  return results;
}

struct Window {
  std::vector<int64_t> kernel, stride, padding;
};

Window window_of(Call& call, size_t dims) {
  Window w{spread_over(call.integers("kernel_size"), dims), spread_over(call.integers("stride"), dims),
           spread_over(call.integers("padding"), dims)};
  if (w.stride.empty()) w.stride = w.kernel;
  if (w.padding.empty()) w.padding.assign(dims, 0);
  return w;
}

Compute max_pool(size_t dims, bool indices) {
  return [=](Call& call) {
    return pooled(call, dims, [&](ValueId x) {
      Window w = window_of(call, dims);
      auto dilation = spread_over(call.integers("dilation"), dims);
      if (dilation.empty()) dilation.assign(dims, 1);
      return call.emit_all(Op::max_pool, {x},
                           {{"kernel", w.kernel},
                            {"stride", w.stride},
                            {"padding", w.padding},
                            {"dilation", dilation},
                            {"ceil", call.flag("ceil_mode", false)},
                            {"indices", indices}});
    });
  };
}

Compute avg_pool(size_t dims) {
  return [=](Call& call) {
    return pooled(call, dims, [&](ValueId x) {
      Window w = window_of(call, dims);
      return call.emit_all(Op::avg_pool, {x},
                           {{"kernel", w.kernel},
                            {"stride", w.stride},
                            {"padding", w.padding},
                            {"ceil", call.flag("ceil_mode", false)},
                            {"count_padding", call.flag("count_include_pad", true)},
                            {"divisor", call.integer("divisor_override", 0)}});
    });
  };
}

Compute adaptive(size_t dims, Op op) {
  return [=](Call& call) {
    return pooled(call, dims, [&](ValueId x) {
      Attributes attributes = {{"size", spread_over(call.integers("output_size"), dims)}};
      if (op == Op::adaptive_max_pool) attributes.set("indices", true);
      return call.emit_all(op, {x}, attributes);
    });
  };
}

ComputeOne resize(std::string mode) {
  return [mode](Call& call) {
    const char* input = call.has("input") ? "input" : "self";
    ValueId x = call.tensor(input);
    Shape out = call.output().shape;
    std::vector<int64_t> size(out.begin() + 2, out.end());
    // The scale factors position the samples only where they were given.
    std::vector<double> scales;
    if (!call.has("output_size") || call.integers("output_size").empty())
      scales = call.numbers("scale_factors");
    for (const char* name : {"scales", "scales_d", "scales_h", "scales_w"})
      if (call.has(name)) scales.push_back(call.number(name));
    if (scales.size() != size.size()) scales.clear();
    return call.emit(Op::resize, {x},
                     {{"size", size},
                      {"mode", mode},
                      {"align_corners", call.flag("align_corners", false)},
                      {"scales", scales}});
  };
}

}  // namespace

void add_pools(AtenTable& table) {
  const char* names[] = {"1d", "2d", "3d"};
  for (size_t i = 0; i < 3; ++i) {
    table.many(format("aten.max_pool{}.default", names[i]), max_pool(i + 1, false));
    table.many(format("aten.max_pool{}_with_indices.default", names[i]), max_pool(i + 1, true));
    table.many(format("aten.avg_pool{}.default", names[i]), avg_pool(i + 1));
    table.many(format("aten.adaptive_avg_pool{}.default", names[i]), adaptive(i + 1, Op::adaptive_avg_pool));
    table.many(format("aten._adaptive_avg_pool{}.default", names[i]), adaptive(i + 1, Op::adaptive_avg_pool));
    table.many(format("aten.adaptive_max_pool{}.default", names[i]), adaptive(i + 1, Op::adaptive_max_pool));
  }
  for (const char* overload : {"default", "vec"}) {
    for (const char* dims : names) {
      table.one(format("aten.upsample_nearest{}.{}", dims, overload), resize("nearest"));
      table.one(format("aten._upsample_nearest_exact{}.{}", dims, overload), resize("nearest_exact"));
    }
    table.one(format("aten.upsample_linear1d.{}", overload), resize("linear"));
    table.one(format("aten.upsample_bilinear2d.{}", overload), resize("linear"));
    table.one(format("aten.upsample_trilinear3d.{}", overload), resize("linear"));
    table.one(format("aten.upsample_bicubic2d.{}", overload), resize("cubic"));
  }
}

}  // namespace stitch
