// Concatenation, padding, repetition, shuffles and patches.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "import/aten/table.h"

namespace stitch {

namespace {

ValueId concat(Call& call, Values parts, int64_t dim) {
  // PyTorch's old rule: empty vectors fit anywhere.
  bool others = std::ranges::any_of(parts, [&](ValueId x) { return call.rank(x) != 1; });
  if (others) std::erase_if(parts, [&](ValueId x) { return call.shape(x) == Shape{0}; });
  for (ValueId& x : parts) x = call.cast(x, call.output().dtype);
  if (parts.size() == 1) return parts[0];
  return call.emit(Op::concat, parts, {{"dim", call.dimension(dim, call.rank(parts[0]))}});
}

ValueId stack(Call& call) {
  Values parts = call.tensors("tensors");
  int64_t dim = call.dimension(call.integer("dim", 0), call.rank(parts[0]) + 1);
  for (ValueId& x : parts) {
    Shape shape = call.shape(x);
    shape.insert(shape.begin() + dim, 1);
    x = call.reshape(x, shape);
  }
  return concat(call, parts, dim);
}

// PyTorch lists pads from the last dimension on; negative ones cut.
ValueId pad(Call& call, ValueId x, const std::vector<int64_t>& listed, const std::string& mode,
            double value) {
  size_t rank = call.shape(x).size();
  std::vector<int64_t> pads(2 * rank, 0);
  bool any = false;
  for (size_t i = 0; i < listed.size() / 2; ++i) {
    size_t d = rank - 1 - i;
    int64_t before = listed[2 * i], after = listed[2 * i + 1];
    if (before < 0 || after < 0)
      x = call.slice(x, static_cast<int64_t>(d), std::max<int64_t>(-before, 0),
                     call.shape(x)[d] - std::max<int64_t>(-after, 0));
    pads[2 * d] = std::max<int64_t>(before, 0);
    pads[2 * d + 1] = std::max<int64_t>(after, 0);
    any |= pads[2 * d] + pads[2 * d + 1] > 0;
  }
  return any ? call.emit(Op::pad, {x}, {{"pads", pads}, {"mode", mode}, {"value", value}}) : x;
}

// A value past 2^53 is no attribute: x - value is padded with 0.
ValueId padded_with(Call& call, ValueId x, const std::vector<int64_t>& listed) {
  DType dtype = call.type(x).dtype;
  constexpr double most = 0x1p53;
  if (!is_integer(dtype) || !call.has("value") || std::fabs(call.number("value")) < most)
    return pad(call, x, listed, "constant", call.number("value", 0));
  ValueId value = call.operand("value", dtype);
  return call.emit(Op::add, {pad(call, call.emit(Op::sub, {x, value}), listed, "constant", 0), value});
}

ComputeOne padding(std::string mode, const char* name) {
  return [=](Call& call) {
    if (mode == "constant") return padded_with(call, call.tensor("self"), call.integers(name));
    return pad(call, call.tensor("self"), call.integers(name), mode, 0);
  };
}

ValueId roll(Call& call) {
  ValueId x = call.tensor("self");
  auto shifts = call.integers("shifts"), dims = call.integers("dims");
  if (!dims.empty()) return call.emit(Op::roll, {x}, {{"shifts", shifts}, {"dims", dims}});
  ValueId flat = call.reshape(x, {call.type(x).elements()});
  return call.reshape(call.emit(Op::roll, {flat}, {{"shifts", shifts}, {"dims", std::vector<int64_t>{0}}}),
                      call.shape(x));
}

ValueId repeat(Call& call, const char* name) {
  ValueId x = call.tensor("self");
  auto times = call.integers(name);
  Shape shape = call.shape(x);
  while (times.size() < shape.size()) times.insert(times.begin(), 1);
  while (shape.size() < times.size()) shape.insert(shape.begin(), 1);
  Shape apart, wide, merged;
  for (size_t i = 0; i < shape.size(); ++i) {
    apart.insert(apart.end(), {1, shape[i]});
    wide.insert(wide.end(), {times[i], shape[i]});
    merged.push_back(times[i] * shape[i]);
  }
  return call.reshape(call.expand(call.reshape(x, apart), wide), merged);
}

ValueId repeat_interleave(Call& call) {
  ValueId x = call.tensor("self");
  int64_t times = call.integer("repeats");
  if (!call.has("dim")) x = call.reshape(x, {call.type(x).elements()});
  int64_t dim = call.dimension(call.integer("dim", 0), call.rank(x));
  Shape apart = call.shape(x), merged = apart;
  apart.insert(apart.begin() + dim + 1, 1);
  Shape wide = apart;
  wide[static_cast<size_t>(dim) + 1] = times;
  merged[static_cast<size_t>(dim)] *= times;
  return call.reshape(call.expand(call.reshape(x, apart), wide), merged);
}

// Which element each of `size` copies is of, where element i is copied repeats[i] times: a search among the
// ends.
ValueId owners(Call& call, ValueId repeats, int64_t size) {
  ValueId ends = call.emit(Op::cumsum, {call.cast(repeats, DType::i64)}, {{"dim", int64_t{0}}});
  ValueId copies = call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}});
  return call.emit(Op::searchsorted, {ends, copies}, {{"right", true}});
}

// The size of the result is known: output_size, or the exporter refuses.
ValueId repeat_interleave_by_counts(Call& call) {
  ValueId x = call.tensor("self");
  if (!call.has("dim")) x = call.reshape(x, {call.type(x).elements()});
  int64_t dim = call.dimension(call.integer("dim", 0), call.rank(x));
  auto along = static_cast<size_t>(dim);
  ValueId repeats = call.expand(call.tensor("repeats"), {call.shape(x)[along]});
  ValueId owner = owners(call, repeats, call.output().shape[along]);
  return call.emit(Op::index, {x, owner}, {{"dims", std::vector<int64_t>{dim}}});
}

// (…, C r², H, W) <-> (…, C, H r, W r)
ValueId pixel_shuffle(Call& call) {
  ValueId x = call.tensor("self");
  int64_t r = call.integer("upscale_factor");
  Shape s = call.shape(x), lead(s.begin(), s.end() - 3);
  int64_t channels = s.end()[-3] / (r * r), height = s.end()[-2], width = s.end()[-1],
          batch = element_count(lead);
  ValueId y = call.permute(call.reshape(x, {batch, channels, r, r, height, width}), {0, 1, 4, 2, 5, 3});
  lead.insert(lead.end(), {channels, height * r, width * r});
  return call.reshape(y, lead);
}

ValueId pixel_unshuffle(Call& call) {
  ValueId x = call.tensor("self");
  int64_t r = call.integer("downscale_factor");
  Shape s = call.shape(x), lead(s.begin(), s.end() - 3);
  int64_t channels = s.end()[-3], height = s.end()[-2] / r, width = s.end()[-1] / r,
          batch = element_count(lead);
  ValueId y = call.permute(call.reshape(x, {batch, channels, height, r, width, r}), {0, 1, 3, 5, 2, 4});
  lead.insert(lead.end(), {channels * r * r, height, width});
  return call.reshape(y, lead);
}

ValueId channel_shuffle(Call& call) {
  ValueId x = call.tensor("self");
  int64_t groups = call.integer("groups");
  Shape s = call.shape(x);
  int64_t rest = element_count({s.begin() + 2, s.end()});
  return call.reshape(call.permute(call.reshape(x, {s[0], groups, s[1] / groups, rest}), {0, 2, 1, 3}), s);
}

struct Patches {
  std::vector<int64_t> kernel, dilation, padding, stride;
  explicit Patches(Call& call)
      : kernel(pair(call, "kernel_size")),
        dilation(pair(call, "dilation")),
        padding(pair(call, "padding")),
        stride(pair(call, "stride")) {}
  static std::vector<int64_t> pair(Call& call, const char* name) {
    auto list = call.integers(name);
    if (list.size() == 1) list.push_back(list[0]);
    return list;
  }
  int64_t count(int64_t size, size_t d) const {
    return (size + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  }
};

// nn.Unfold: patches as overlapping strided views of the padded image.
ValueId im2col(Call& call) {
  Patches p(call);
  ValueId x = call.tensor("self");
  bool added = call.rank(x) == 3;
  if (added) x = call.reshape(x, {1, call.shape(x)[0], call.shape(x)[1], call.shape(x)[2]});
  int64_t rows = p.count(call.shape(x)[2], 0), columns = p.count(call.shape(x)[3], 1);
  x = pad(call, x, {p.padding[1], p.padding[1], p.padding[0], p.padding[0]}, "constant", 0);
  Shape s = call.shape(x);
  auto strides = contiguous_strides(s);
  ValueId windows =
      call.emit(Op::strided_view, {x},
                {{"shape", Shape{s[0], s[1], p.kernel[0], p.kernel[1], rows, columns}},
                 {"strides", std::vector<int64_t>{strides[0], strides[1], p.dilation[0] * strides[2],
                                                  p.dilation[1], p.stride[0] * strides[2], p.stride[1]}}});
  return call.reshape(windows, call.output().shape);
}

// nn.Fold: overlapping patches summed, which is a transposed convolution with a one-hot kernel.
ValueId col2im(Call& call) {
  Patches p(call);
  ValueId x = call.tensor("self");
  DType dtype = call.type(x).dtype;
  Shape s = call.shape(x);
  if (s.size() == 2) s.insert(s.begin(), 1);
  auto size = Patches::pair(call, "output_size");
  int64_t area = p.kernel[0] * p.kernel[1], channels = s[1] / area, rows = p.count(size[0], 0),
          columns = p.count(size[1], 1);
  ValueId place = call.emit(Op::iota, {}, {{"size", area}, {"dtype", DType::i64}});
  ValueId one_hot = call.cast(call.emit(Op::eq, {call.reshape(place, {area, 1}), place}), dtype);
  Shape kernel = {1, area, 1, p.kernel[0], p.kernel[1]};
  ValueId weight = call.expand(call.reshape(one_hot, kernel), {channels, area, 1, p.kernel[0], p.kernel[1]});
  weight = call.reshape(weight, {channels * area, 1, p.kernel[0], p.kernel[1]});
  std::vector<int64_t> extra;
  for (size_t d = 0; d < 2; ++d)
    extra.push_back(size[d] - (((d ? columns : rows) - 1) * p.stride[d] - 2 * p.padding[d] +
                               p.dilation[d] * (p.kernel[d] - 1) + 1));
  ValueId y = call.emit(Op::conv_transpose, {call.reshape(x, {s[0], s[1], rows, columns}), weight},
                        {{"stride", p.stride},
                         {"padding", p.padding},
                         {"dilation", p.dilation},
                         {"groups", channels},
                         {"output_padding", extra}});
  return call.reshape(y, call.output().shape);
}

ComputeOne triangle(Op op) {
  return [op](Call& call) {
    return call.emit(op, {call.tensor("self")}, {{"diagonal", call.integer("diagonal", 0)}});
  };
}

// The last dimension as a diagonal of a matrix of zeros.
ValueId diag_embed(Call& call, ValueId x, int64_t offset, int64_t dim1, int64_t dim2) {
  const Shape out = call.output().shape;
  int64_t rank = std::ssize(out), n = call.shape(x).back(), side = n + std::abs(offset);
  dim1 = call.dimension(dim1, rank);
  dim2 = call.dimension(dim2, rank);
  ValueId index = call.emit(Op::iota, {}, {{"size", side}, {"dtype", DType::i64}});
  ValueId on_diagonal =
      call.emit(Op::eq, {call.emit(Op::add, {call.reshape(index, {side, 1}),
                                             call.scalar(DType::i64, static_cast<double>(offset))}),
                         index});
  // Row i holds element i (or i + offset below the diagonal): pad the vector to the matrix's side.
  ValueId rows =
      offset >= 0 ? pad(call, x, {0, offset}, "constant", 0) : pad(call, x, {-offset, 0}, "constant", 0);
  Shape column = call.shape(rows);
  column.push_back(1);
  ValueId matrix =
      call.emit(Op::where, {on_diagonal, call.reshape(rows, column), call.scalar(call.type(x).dtype, 0)});
  std::vector<int64_t> dims(static_cast<size_t>(rank), -1);
  dims[static_cast<size_t>(dim1)] = rank - 2;
  dims[static_cast<size_t>(dim2)] = rank - 1;
  int64_t next = 0;
  for (int64_t& dim : dims)
    if (dim < 0) dim = next++;
  return call.permute(matrix, dims);
}

Values meshgrid(Call& call) {
  Values axes = call.tensors("tensors"), out;
  bool swapped = call.has("indexing") && call.text("indexing") == "xy" && axes.size() > 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Shape& wanted = call.output(i).shape;
    Shape shape(axes.size(), 1);
    size_t d = swapped && i < 2 ? 1 - i : i;
    shape[d] = call.type(axes[i]).elements();
    out.push_back(call.expand(call.reshape(axes[i], shape), wanted));
  }
  return out;
}

}  // namespace

void add_movements(AtenTable& table) {
  for (const char* name : {"cat", "concat", "concatenate"})
    table.one(format("aten.{}.default", name),
              [](Call& call) { return concat(call, call.tensors("tensors"), call.integer("dim", 0)); });
  table.one("aten.stack.default", stack);
  table.many("aten.broadcast_tensors.default", [](Call& call) {
    Values out = call.tensors("tensors");
    for (size_t i = 0; i < out.size(); ++i) out[i] = call.expand(out[i], call.output(i).shape);
    return out;
  });
  table.many("aten.meshgrid.default", meshgrid);
  table.many("aten.meshgrid.indexing", meshgrid);

  table.one("aten.pad.default", [](Call& call) {
    if (call.text("mode") == "constant") return padded_with(call, call.tensor("self"), call.integers("pad"));
    return pad(call, call.tensor("self"), call.integers("pad"), call.text("mode"), 0);
  });
  table.one("aten.constant_pad_nd.default", padding("constant", "pad"));
  for (const char* dims : {"1d", "2d", "3d"}) {
    table.one(format("aten.reflection_pad{}.default", dims), padding("reflect", "padding"));
    table.one(format("aten.replication_pad{}.default", dims), padding("replicate", "padding"));
  }

  table.one("aten.flip.default", [](Call& call) {
    return call.emit(Op::flip, {call.tensor("self")}, {{"dims", call.integers("dims")}});
  });
  table.one("aten.fliplr.default", [](Call& call) {
    return call.emit(Op::flip, {call.tensor("self")}, {{"dims", std::vector<int64_t>{1}}});
  });
  table.one("aten.flipud.default", [](Call& call) {
    return call.emit(Op::flip, {call.tensor("self")}, {{"dims", std::vector<int64_t>{0}}});
  });
  table.one("aten.roll.default", roll);
  table.one("aten.repeat.default", [](Call& call) { return repeat(call, "repeats"); });
  table.one("aten.tile.default", [](Call& call) { return repeat(call, "dims"); });
  table.one("aten.repeat_interleave.self_int", repeat_interleave);
  table.one("aten.repeat_interleave.self_Tensor", repeat_interleave_by_counts);
  table.one("aten.repeat_interleave.Tensor", [](Call& call) {
    return call.cast(owners(call, call.tensor("repeats"), call.output().shape[0]), call.output().dtype);
  });
  table.one("aten.pixel_shuffle.default", pixel_shuffle);
  table.one("aten.pixel_unshuffle.default", pixel_unshuffle);
  for (const char* name : {"channel_shuffle", "native_channel_shuffle"})
    table.one(format("aten.{}.default", name), channel_shuffle);
  table.one("aten.im2col.default", im2col);
  table.one("aten.col2im.default", col2im);
  table.one("aten.tril.default", triangle(Op::tril));
  table.one("aten.triu.default", triangle(Op::triu));
  table.one("aten.diag_embed.default", [](Call& call) {
    return diag_embed(call, call.tensor("self"), call.integer("offset"), call.integer("dim1"),
                      call.integer("dim2"));
  });
  table.one("aten.diag.default", [](Call& call) {
    ValueId x = call.tensor("self");
    int64_t offset = call.integer("diagonal", 0);
    if (call.rank(x) == 1) return diag_embed(call, x, offset, 0, 1);
    auto strides = contiguous_strides(call.shape(x));
    int64_t start = offset >= 0 ? offset : -offset * strides[0];
    return call.emit(Op::strided_view, {x},
                     {{"shape", call.output().shape},
                      {"strides", std::vector<int64_t>{strides[0] + 1}},
                      {"offset", start}});
  });
  table.one("aten.slice_scatter.default", [](Call& call) {
    ValueId x = call.tensor("self");
    int64_t dim = call.dimension(call.integer("dim", 0), call.rank(x)),
            size = call.shape(x)[static_cast<size_t>(dim)], start = call.integer("start", 0);
    if (start < 0) start += size;
    return call.emit(
        Op::update_slice, {x, call.tensor("src")},
        {{"dim", dim}, {"start", std::clamp<int64_t>(start, 0, size)}, {"step", call.integer("step", 1)}});
  });
  table.one("aten.select_scatter.default", [](Call& call) {
    ValueId x = call.tensor("self");
    int64_t dim = call.dimension(call.integer("dim"), call.rank(x)), index = call.integer("index");
    if (index < 0) index += call.shape(x)[static_cast<size_t>(dim)];
    Shape slice = call.shape(x);
    slice[static_cast<size_t>(dim)] = 1;
    return call.emit(Op::update_slice, {x, call.reshape(call.tensor("src"), slice)},
                     {{"dim", dim}, {"start", index}});
  });
}

}  // namespace stitch
