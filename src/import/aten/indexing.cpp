// Reading and writing at computed positions, and sorting.
#include "import/aten/promotion.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

struct Indices {
  Values tensors;
  std::vector<int64_t> dims;
};

// x[:, i, :, j] arrives as [null, i, null, j].
Indices indices(Call& call) {
  Indices out;
  Values listed = call.tensors_or_none("indices");
  for (size_t d = 0; d < listed.size(); ++d) {
    if (listed[d] == ValueId::none) continue;
    out.tensors.push_back(listed[d]);
    out.dims.push_back(static_cast<int64_t>(d));
  }
  return out;
}

bool is_mask(Call& call, const Indices& at) {
  return at.tensors.size() == 1 && call.type(at.tensors[0]).dtype == DType::boolean;
}

void refuse_masks(Call& call, const Indices& at) {
  for (ValueId id : at.tensors)
    if (call.type(id).dtype == DType::boolean)
      refuse("indexing with a mask gives a shape that depends on data",
             "use torch.where, or multiply by the mask");
}

ValueId index_along(Call& call, ValueId x, ValueId index, int64_t dim) {
  return call.emit(Op::index, {x, index}, {{"dims", std::vector<int64_t>{dim}}});
}

ValueId index(Call& call) {
  Indices at = indices(call);
  refuse_masks(call, at);
  Values operands = {call.tensor("self")};
  operands.insert(operands.end(), at.tensors.begin(), at.tensors.end());
  return call.emit(Op::index, operands, {{"dims", at.dims}});
}

ValueId index_put(Call& call) {
  ValueId x = call.tensor("self"), values = call.cast(call.tensor("values"), call.type(x).dtype);
  Indices at = indices(call);
  // A mask over leading dimensions with one value is a where.
  if (is_mask(call, at) && at.dims[0] == 0 && call.type(values).elements() == 1) {
    Shape shape = call.shape(at.tensors[0]);
    shape.resize(call.shape(x).size(), 1);
    ValueId value = call.reshape(values, {});
    if (call.flag("accumulate", false)) value = call.emit(Op::add, {x, value});
    return call.emit(Op::where, {call.reshape(at.tensors[0], shape), value, x});
  }
  refuse_masks(call, at);
  Values operands = {x, values};
  operands.insert(operands.end(), at.tensors.begin(), at.tensors.end());
  return call.emit(Op::index_put, operands,
                   {{"dims", at.dims}, {"accumulate", call.flag("accumulate", false)}});
}

// index_add, index_copy, index_fill: whole slices along one dimension.
ValueId put_slices(Call& call, ValueId x, ValueId values, bool accumulate) {
  int64_t dim = call.dimension(call.integer("dim"), call.rank(x));
  ValueId at = call.tensor("index");
  if (call.rank(at) == 0) at = call.reshape(at, {1});
  return call.emit(Op::index_put, {x, values, at},
                   {{"dims", std::vector<int64_t>{dim}}, {"accumulate", accumulate}});
}

ValueId index_add(Call& call) {
  ValueId x = call.tensor("self"), source = call.cast(call.tensor("source"), call.type(x).dtype);
  if (double alpha = call.number("alpha", 1); alpha != 1)
    source = call.emit(Op::mul, {source, call.scalar(call.type(x).dtype, alpha)});
  return put_slices(call, x, source, true);
}

std::string reduction_name(Call& call, const char* name) {
  if (!call.has(name)) return "none";
  std::string word = call.text(name);
  return word == "add" ? "sum" : word == "multiply" ? "prod" : word;
}

ValueId scatter(Call& call, const std::string& reduce, const char* source_name = "src") {
  ValueId x = call.tensor("self"), at = call.tensor("index");
  DType dtype = call.type(x).dtype;
  ValueId source = call.is_tensor(source_name) && call.rank(call.tensor(source_name)) == call.rank(at)
                       ? call.cast(call.tensor(source_name), dtype)
                       : call.expand(call.operand(source_name, dtype), call.shape(at));
  bool scalar = call.rank(x) == 0;
  if (scalar) {
    x = call.reshape(x, {1});
    at = call.reshape(at, {1});
    source = call.reshape(source, {1});
  }
  ValueId y = call.emit(
      Op::scatter, {x, at, source},
      {{"dim", call.integer("dim")}, {"reduce", reduce}, {"include_self", call.flag("include_self", true)}});
  return scalar ? call.reshape(y, {}) : y;
}

ValueId gather(Call& call, ValueId x, ValueId at, int64_t dim) {
  if (call.rank(x) == 0)
    return call.reshape(
        call.emit(Op::gather, {call.reshape(x, {1}), call.reshape(at, {call.type(at).elements()})},
                  {{"dim", int64_t{0}}}),
        call.shape(at));
  return call.emit(Op::gather, {x, at}, {{"dim", dim}});
}

ValueId take_along_dim(Call& call) {
  ValueId x = call.tensor("self"), at = call.tensor("indices");
  if (!call.has("dim"))
    return gather(call, call.reshape(x, {call.type(x).elements()}),
                  call.reshape(at, {call.type(at).elements()}), 0);
  int64_t dim = call.dimension(call.integer("dim"), call.rank(x));
  Shape wide = call.shape(x), wide_index = call.shape(at);
  for (size_t i = 0; i < wide.size(); ++i)
    if (static_cast<int64_t>(i) != dim) wide[i] = wide_index[i] = std::max(wide[i], wide_index[i]);
  return gather(call, call.expand(x, wide), call.expand(at, wide_index), dim);
}

Values sorted(Call& call) {
  return call.emit_all(Op::sort, {call.tensor("self")},
                       {{"dim", call.integer("dim", -1)},
                        {"descending", call.flag("descending", false)},
                        {"stable", call.flag("stable", false)}});
}

ValueId search(Call& call, ValueId rows, ValueId values) {
  // Compared in the dtype both meet in: 3.5 among whole numbers stays 3.5.
  DType dtype = promote(call.type(rows).dtype, call.type(values).dtype);
  rows = call.cast(rows, dtype);
  bool right = call.flag("right", false) || (call.has("side") && call.text("side") == "right");
  if (call.has("sorter")) rows = gather(call, rows, call.tensor("sorter"), call.rank(rows) - 1);
  return call.cast(call.emit(Op::searchsorted, {rows, call.cast(values, dtype)}, {{"right", right}}),
                   call.output().dtype);
}

// A number that is looked for, whole if it is.
ValueId number_among(Call& call, ValueId rows) {
  bool whole = call.is_integer("self");
  DType dtype = call.type(rows).dtype;
  if (!whole && !is_floating(dtype)) dtype = DType::f64;
  return call.operand("self", dtype);
}

ValueId one_hot(Call& call) {
  ValueId x = call.tensor("self");
  int64_t classes = call.output().shape.back();
  Shape column = call.shape(x);
  column.push_back(1);
  ValueId names = call.emit(Op::iota, {}, {{"size", classes}, {"dtype", call.type(x).dtype}});
  return call.cast(call.emit(Op::eq, {call.reshape(x, column), names}), call.output().dtype);
}

}  // namespace

void add_indexing(AtenTable& table) {
  for (const char* name : {"index.Tensor", "_unsafe_index.Tensor"}) table.one(format("aten.{}", name), index);
  for (const char* name : {"index_put.default", "_unsafe_index_put.default"})
    table.one(format("aten.{}", name), index_put);
  table.one("aten.embedding.default",
            [](Call& call) { return index_along(call, call.tensor("weight"), call.tensor("indices"), 0); });
  table.one("aten.index_select.default", [](Call& call) {
    ValueId x = call.tensor("self"), at = call.tensor("index");
    if (call.rank(x) == 0) return call.reshape(x, call.output().shape);
    if (call.rank(at) == 0) at = call.reshape(at, {1});
    return index_along(call, x, at, call.dimension(call.integer("dim"), call.rank(x)));
  });
  table.one("aten.take.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return index_along(call, call.reshape(x, {call.type(x).elements()}), call.tensor("index"), 0);
  });
  table.one("aten.index_add.default", index_add);
  table.one("aten.index_copy.default",
            [](Call& call) { return put_slices(call, call.tensor("self"), call.tensor("source"), false); });
  for (const char* overload : {"int_Scalar", "int_Tensor"})
    table.one(format("aten.index_fill.{}", overload), [](Call& call) {
      ValueId x = call.tensor("self");
      return put_slices(call, x, call.operand("value", call.type(x).dtype), false);
    });

  table.one("aten.gather.default", [](Call& call) {
    return gather(call, call.tensor("self"), call.tensor("index"), call.integer("dim"));
  });
  table.one("aten.take_along_dim.default", take_along_dim);
  table.one("aten.scatter.src", [](Call& call) { return scatter(call, "none"); });
  table.one("aten.scatter.value", [](Call& call) { return scatter(call, "none", "value"); });
  table.one("aten.scatter.reduce", [](Call& call) { return scatter(call, reduction_name(call, "reduce")); });
  table.one("aten.scatter.value_reduce",
            [](Call& call) { return scatter(call, reduction_name(call, "reduce"), "value"); });
  table.one("aten.scatter_add.default", [](Call& call) { return scatter(call, "sum"); });
  table.one("aten.scatter_reduce.two",
            [](Call& call) { return scatter(call, reduction_name(call, "reduce")); });

  for (const char* overload : {"default", "stable"}) {
    table.many(format("aten.sort.{}", overload), sorted);
    table.one(format("aten.argsort.{}", overload), [](Call& call) { return sorted(call)[1]; });
  }
  table.one("aten.msort.default", [](Call& call) {
    return call.emit(Op::sort, {call.tensor("self")}, {{"dim", int64_t{0}}});
  });
  table.many("aten.topk.default", [](Call& call) {
    return call.emit_all(Op::topk, {call.tensor("self")},
                         {{"k", call.integer("k")},
                          {"dim", call.integer("dim", -1)},
                          {"largest", call.flag("largest", true)}});
  });
  table.many("aten.kthvalue.default", [](Call& call) {
    ValueId x = call.tensor("self");
    int64_t dim = call.dimension(call.integer("dim", -1), call.rank(x)), k = call.integer("k");
    Values ordered = call.emit_all(Op::sort, {x}, {{"dim", dim}});
    for (ValueId& y : ordered) y = call.reshape(call.slice(y, dim, k - 1, k), call.output().shape);
    return ordered;
  });
  table.one("aten.searchsorted.Tensor",
            [](Call& call) { return search(call, call.tensor("sorted_sequence"), call.tensor("self")); });
  table.one("aten.searchsorted.Scalar", [](Call& call) {
    ValueId rows = call.tensor("sorted_sequence");
    return search(call, rows, number_among(call, rows));
  });
  table.one("aten.bucketize.Scalar", [](Call& call) {
    ValueId rows = call.tensor("boundaries");
    return search(call, rows, number_among(call, rows));
  });
  table.one("aten.bucketize.Tensor",
            [](Call& call) { return search(call, call.tensor("boundaries"), call.tensor("self")); });
  table.one("aten.one_hot.default", one_hot);

  struct DataDependent {
    const char *op, *fix;
  };
  for (DataDependent entry :
       {DataDependent{"nonzero.default", "keep the full shape and mask with torch.where"},
        {"masked_select.default", "keep the full shape and mask with torch.where"},
        {"unique_consecutive.default", "fix the size beforehand"},
        {"_unique2.default", "fix the size beforehand"},
        {"unique_dim.default", "fix the size beforehand"},
        {"item.default", "keep it a tensor"},
        {"_local_scalar_dense.default", "keep it a tensor"}})
    table.many(format("aten.{}", entry.op), [entry](Call& call) -> Values {
      refuse(format("the result of {} has a shape or value that depends on data", call.node().op), entry.fix);
    });
}

}  // namespace stitch
