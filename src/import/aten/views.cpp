// Views: the result shares the argument's storage.
#include <algorithm>
#include <numeric>

#include "import/aten/table.h"

namespace stitch {

namespace {

const Shape& base_shape(Call& call, const char* base = "self") {
  return call.lowering().aten_type(call.tensor_name(base)).shape;
}

View reshape_to(const Shape& shape) { return {{Op::reshape, {{"shape", shape}}}}; }

// squeeze, unsqueeze, view, …: PyTorch has worked out the result's shape.
View to_output_shape(Call& call) { return reshape_to(call.output().shape); }

View permute_by(const std::vector<int64_t>& dims) { return {{Op::permute, {{"dims", dims}}}}; }

std::vector<int64_t> in_order(size_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::function<View(Call&)> transpose(const char* first, const char* second) {
  return [=](Call& call) {
    auto dims = in_order(base_shape(call).size());
    int64_t rank = std::ssize(dims);
    if (rank == 0) return View{};
    std::swap(dims[static_cast<size_t>(call.dimension(call.integer(first), rank))],
              dims[static_cast<size_t>(call.dimension(call.integer(second), rank))]);
    return permute_by(dims);
  };
}

View reversed(Call& call) {
  auto dims = in_order(base_shape(call).size());
  std::ranges::reverse(dims);
  return permute_by(dims);
}

View matrix_transposed(Call& call) {
  auto dims = in_order(base_shape(call).size());
  std::swap(dims.end()[-1], dims.end()[-2]);
  return permute_by(dims);
}

View permuted(Call& call) {
  auto dims = call.integers("dims");
  for (int64_t& dim : dims) dim = call.dimension(dim, std::ssize(dims));
  return permute_by(dims);
}

View moved(Call& call) {
  int64_t rank = std::ssize(base_shape(call));
  auto from = call.integers("source"), to = call.integers("destination");
  std::vector<int64_t> dims(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t source = call.dimension(from[i], rank);
    dims[static_cast<size_t>(call.dimension(to[i], rank))] = source;
    taken[static_cast<size_t>(source)] = true;
  }
  int64_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (taken[static_cast<size_t>(next)]) ++next;
    dim = next++;
  }
  return permute_by(dims);
}

ViewStep slice_step(int64_t dim, int64_t start, int64_t end, int64_t step = 1) {
  return {Op::slice, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}}};
}

View sliced(Call& call) {
  const Shape& shape = base_shape(call);
  int64_t dim = call.dimension(call.integer("dim", 0), std::ssize(shape)),
          size = shape.at(static_cast<size_t>(dim));
  int64_t start = call.integer("start", 0), end = call.integer("end", size);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp(end, start, size);
  return {slice_step(dim, start, end, call.integer("step", 1))};
}

View narrowed(Call& call) {
  const Shape& shape = base_shape(call);
  int64_t dim = call.dimension(call.integer("dim"), std::ssize(shape)), start = call.integer("start");
  if (start < 0) start += shape[static_cast<size_t>(dim)];
  return {slice_step(dim, start, start + call.integer("length"))};
}

View selected(const Shape& shape, int64_t dim, int64_t index) {
  Shape rest = shape;
  rest.erase(rest.begin() + dim);
  View view = {slice_step(dim, index, index + 1)};
  view.push_back({Op::reshape, {{"shape", rest}}});
  return view;
}

View select(Call& call) {
  const Shape& shape = base_shape(call);
  int64_t dim = call.dimension(call.integer("dim"), std::ssize(shape)), index = call.integer("index");
  if (index < 0) index += shape[static_cast<size_t>(dim)];
  return selected(shape, dim, index);
}

std::vector<View> unbind(Call& call) {
  const Shape& shape = base_shape(call);
  int64_t dim = call.dimension(call.integer("dim", 0), std::ssize(shape));
  if (std::ssize(call.node().outputs) != shape.at(static_cast<size_t>(dim)))
    refuse("unbind with another number of results than slices");
  std::vector<View> views;
  for (int64_t i = 0; i < shape.at(static_cast<size_t>(dim)); ++i) views.push_back(selected(shape, dim, i));
  return views;
}

// split, chunk, …: consecutive slices whose sizes PyTorch has worked out.
std::vector<View> consecutive_along(Call& call, int64_t dim) {
  int64_t start = 0;
  std::vector<View> views;
  for (size_t i = 0; i < call.node().outputs.size(); ++i) {
    int64_t size = call.output(i).shape[static_cast<size_t>(dim)];
    views.push_back({slice_step(dim, start, start + size)});
    start += size;
  }
  return views;
}

std::vector<View> consecutive(Call& call) {
  return consecutive_along(call, call.dimension(call.integer("dim", 0), std::ssize(base_shape(call))));
}

View strided(const Shape& shape, const std::vector<int64_t>& strides, int64_t offset) {
  return {{Op::strided_view, {{"shape", shape}, {"strides", strides}, {"offset", offset}}}};
}

View unfolded(Call& call) {
  const Shape& shape = base_shape(call);
  auto strides = contiguous_strides(shape);
  if (shape.empty()) return reshape_to(call.output().shape);
  size_t dim = static_cast<size_t>(call.dimension(call.integer("dimension"), std::ssize(shape)));
  strides.push_back(strides[dim]);
  strides[dim] *= call.integer("step");
  return strided(call.output().shape, strides, 0);
}

View diagonal_view(Call& call, const char* base, int64_t first, int64_t second) {
  const Shape& shape = base_shape(call, base);
  auto strides = contiguous_strides(shape);
  int64_t rank = std::ssize(shape), offset = call.integer("offset", 0);
  size_t rows = static_cast<size_t>(call.dimension(call.integer("dim1", first), rank)),
         columns = static_cast<size_t>(call.dimension(call.integer("dim2", second), rank));
  int64_t start = offset >= 0 ? offset * strides[columns] : -offset * strides[rows];
  std::vector<int64_t> kept;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != rows && i != columns) kept.push_back(strides[i]);
  kept.push_back(strides[rows] + strides[columns]);
  if (call.output().elements() == 0) start = 0;
  return strided(call.output().shape, kept, start);
}

View as_strided(Call& call) {
  if (!call.lowering().is_whole(call.tensor_name("self")))
    refuse("as_strided of a tensor that is itself a view is not supported", "call contiguous() first");
  return strided(call.integers("size"), call.integers("stride"), call.integer("storage_offset", 0));
}

// Can this shape be had by strides alone, as Tensor.view would?
bool view_possible(const TensorType& type, const Shape& wanted) {
  if (type.elements() <= 1) return true;
  size_t next = wanted.size();
  int64_t chunk = 1, stride = type.strides.back();
  for (size_t i = type.shape.size(); i-- > 0;) {
    chunk *= type.shape[i];
    bool chunk_ends = i == 0 || (type.shape[i - 1] != 1 && type.strides[i - 1] != chunk * stride);
    if (!chunk_ends) continue;
    int64_t seen = 1;
    while (next > 0 && (seen < chunk || wanted[next - 1] == 1)) seen *= wanted[--next];
    if (seen != chunk) return false;
    if (i > 0) {
      chunk = 1;
      stride = type.strides[i - 1];
    }
  }
  return next == 0;
}

// A view where PyTorch can make one, a copy elsewhere.
void reshape_or_copy(Lowering& lowering, Call& call) {
  std::string self = call.tensor_name("self");
  if (view_possible(lowering.aten_type(self), call.output().shape))
    lowering.bind_view(call.node().outputs[0], self, to_output_shape(call));
  else
    lowering.bind(call.node().outputs[0], call.reshape(call.tensor("self"), call.output().shape));
}

// The tensor itself if nothing changes, a converted copy otherwise.
void convert_dtype(Lowering& lowering, Call& call) {
  std::string self = call.tensor_name("self");
  bool copy = call.has("copy") && call.flag("copy");
  if (!copy && lowering.aten_type(self).dtype == call.output().dtype)
    lowering.bind_view(call.node().outputs[0], self, {});
  else
    lowering.bind(call.node().outputs[0], call.cast(call.tensor("self"), call.output().dtype));
}

void contiguous(Lowering& lowering, Call& call) {
  std::string self = call.tensor_name("self");
  const TensorType& type = lowering.aten_type(self);
  if (type.strides == call.output().strides)
    lowering.bind_view(call.node().outputs[0], self, {});
  else
    lowering.bind(call.node().outputs[0], call.tensor("self"));
}

}  // namespace

void add_views(AtenTable& table) {
  for (const char* name : {"view.default", "_unsafe_view.default", "squeeze.default", "squeeze.dim",
                           "squeeze.dims", "unsqueeze.default", "view_as.default", "unflatten.int"})
    table.view(format("aten.{}", name), "self", to_output_shape);
  for (const char* name : {"reshape.default", "flatten.using_ints", "reshape_as.default", "ravel.default"})
    table.custom(format("aten.{}", name), reshape_or_copy);
  for (const char* name :
       {"alias.default", "detach.default", "detach_.default", "lift_fresh.default", "lift.default",
        "requires_grad_.default", "resolve_conj.default", "resolve_neg.default"})
    table.view(format("aten.{}", name), "self", [](Call&) { return View{}; });
  for (const char* name : {"to.dtype", "to.dtype_layout", "to.device", "to.other", "to.prim_Device",
                           "to.prim_dtype", "to.prim_other", "type_as.default"})
    table.custom(format("aten.{}", name), convert_dtype);
  for (const char* name : {"clone.default", "lift_fresh_copy.default", "_to_copy.default",
                           "detach_copy.default", "view_copy.default"})
    table.one(format("aten.{}", name), [](Call& call) {
      return call.reshape(call.cast(call.tensor("self"), call.output().dtype), call.output().shape);
    });
  table.custom("aten.contiguous.default", contiguous);

  table.view("aten.permute.default", "self", permuted);
  table.view("aten.transpose.int", "self", transpose("dim0", "dim1"));
  table.view("aten.transpose_.default", "self", transpose("dim0", "dim1"));
  table.view("aten.swapaxes.default", "self", transpose("axis0", "axis1"));
  table.view("aten.swapdims.default", "self", transpose("dim0", "dim1"));
  for (const char* name : {"t.default", "numpy_T.default"})
    table.view(format("aten.{}", name), "self", reversed);
  for (const char* name : {"mT.default", "mH.default", "matrix_H.default", "adjoint.default"})
    table.view(format("aten.{}", name), "self", matrix_transposed);
  for (const char* name : {"movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist"})
    table.view(format("aten.{}", name), "self", moved);
  for (const char* name : {"expand.default", "expand_as.default", "broadcast_to.default"})
    table.view(format("aten.{}", name), "self", [](Call& call) {
      return View{{Op::expand, {{"shape", call.output().shape}}}};
    });

  table.view("aten.slice.Tensor", "self", sliced);
  table.view("aten.narrow.default", "self", narrowed);
  table.view("aten.select.int", "self", select);
  table.views("aten.unbind.int", "self", unbind);
  for (const char* name : {"split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default",
                           "tensor_split.sections", "tensor_split.indices", "unsafe_split.Tensor",
                           "unsafe_chunk.default", "unsafe_split_with_sizes.default"})
    table.views(format("aten.{}", name), "self", consecutive);
  table.view("aten.unfold.default", "self", unfolded);
  table.view("aten.diagonal.default", "self", [](Call& call) { return diagonal_view(call, "self", 0, 1); });
  table.view("aten.linalg_diagonal.default", "A",
             [](Call& call) { return diagonal_view(call, "A", -2, -1); });
  for (const char* name :
       {"hsplit.int", "hsplit.array", "vsplit.int", "vsplit.array", "dsplit.int", "dsplit.array"})
    table.views(format("aten.{}", name), "self", [name](Call& call) {
      int64_t rank = std::ssize(base_shape(call));
      return consecutive_along(call, *name == 'h' ? (rank == 1 ? 0 : 1) : *name == 'v' ? 0 : 2);
    });
  table.view("aten.as_strided.default", "self", as_strided);

  for (const char* name :
       {"_assert_tensor_metadata.default", "_assert_async.msg", "_assert_async.default",
        "_assert_scalar.default", "sym_constrain_range_for_size.default", "sym_constrain_range.default"})
    table.nothing(format("aten.{}", name));
}

}  // namespace stitch
