// Softmax and the norms. Batch norm in training writes its running statistics back.
#include "import/aten/table.h"

namespace stitch {

namespace {

ComputeOne softmax(Op op) {
  return [op](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.emit(op, {x}, {{"dim", call.integer("dim")}});
  };
}

void batch_norm(Lowering& lowering, Call& call) {
  bool training = call.flag("training") || !call.has("running_mean");
  ValueId x = call.tensor("input");
  for (const char* name : {"weight", "running_mean"})
    if (call.has(name)) x = call.cast(x, call.type(call.tensor(name)).dtype);
  Values results = call.emit_all(
      Op::batch_norm,
      {x, call.tensor_or_none("weight"), call.tensor_or_none("bias"), call.tensor_or_none("running_mean"),
       call.tensor_or_none("running_var")},
      {{"training", training}, {"momentum", call.number("momentum")}, {"eps", call.number("eps")}});
  if (results.size() == 3) {
    lowering.write(call.tensor_name("running_mean"), results[1]);
    lowering.write(call.tensor_name("running_var"), results[2]);
  }
  lowering.bind(call.node().outputs[0], call.cast(results[0], call.output().dtype));
}

// new = (1 - momentum) * old + momentum * seen
void blend(Lowering& lowering, Call& call, const char* name, ValueId seen) {
  DType dtype = call.type(seen).dtype;
  double momentum = call.number("momentum");
  ValueId old = call.emit(Op::mul, {call.tensor(name), call.scalar(dtype, 1 - momentum)});
  lowering.write(call.tensor_name(name),
                 call.emit(Op::add, {old, call.emit(Op::mul, {seen, call.scalar(dtype, momentum)})}));
}

// Instance norm is group norm with a channel a group; its running statistics are means over the batch.
void instance_norm(Lowering& lowering, Call& call) {
  ValueId x = call.tensor("input");
  if (!call.flag("use_input_stats")) {
    ValueId y = call.emit(Op::batch_norm,
                          {x, call.tensor_or_none("weight"), call.tensor_or_none("bias"),
                           call.tensor("running_mean"), call.tensor("running_var")},
                          {{"eps", call.number("eps")}});
    return lowering.bind(call.node().outputs[0], y);
  }
  ValueId y = call.emit(Op::group_norm, {x, call.tensor_or_none("weight"), call.tensor_or_none("bias")},
                        {{"groups", call.shape(x)[1]}, {"eps", call.number("eps")}});
  if (call.has("running_mean")) {
    std::vector<int64_t> plane;
    for (int64_t d = 2; d < call.rank(x); ++d) plane.push_back(d);
    blend(lowering, call, "running_mean", call.reduce(Op::mean, call.reduce(Op::mean, x, plane), {0}));
    blend(lowering, call, "running_var",
          call.reduce(Op::mean, call.emit(Op::var, {x}, {{"dims", plane}}), {0}));
  }
  lowering.bind(call.node().outputs[0], y);
}

// Half precision with statistics and weights in FP32, as under autocast: computed in theirs.
ValueId normalised(Call& call, Op op, const Attributes& attributes) {
  ValueId x = call.tensor("input"), weight = call.tensor_or_none("weight");
  DType dtype = weight == ValueId::none ? call.type(x).dtype : call.type(weight).dtype;
  Values operands = {call.cast(x, dtype), weight};
  if (op != Op::rms_norm) operands.push_back(call.tensor_or_none("bias"));
  return call.cast(call.emit(op, operands, attributes), call.output().dtype);
}

// Of the dtype that PyTorch computes in: half precision is computed in f32.
double machine_epsilon(DType dtype) {
  return dtype == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

}  // namespace

void add_norms(AtenTable& table) {
  for (const char* name : {"aten.softmax.int", "aten._softmax.default", "aten.special_softmax.default"})
    table.one(name, softmax(Op::softmax));
  for (const char* name :
       {"aten.log_softmax.int", "aten._log_softmax.default", "aten.special_log_softmax.default"})
    table.one(name, softmax(Op::log_softmax));
  table.custom("aten.batch_norm.default", batch_norm);
  table.custom("aten.instance_norm.default", instance_norm);
  table.one("aten.layer_norm.default", [](Call& call) {
    int64_t dims = std::ssize(call.integers("normalized_shape"));
    return normalised(call, Op::layer_norm, {{"dims", dims}, {"eps", call.number("eps")}});
  });
  table.one("aten.group_norm.default", [](Call& call) {
    return normalised(call, Op::group_norm,
                      {{"groups", call.integer("num_groups")}, {"eps", call.number("eps")}});
  });
  table.one("aten.rms_norm.default", [](Call& call) {
    ValueId x = call.tensor("input");
    int64_t dims = std::ssize(call.integers("normalized_shape"));
    return normalised(call, Op::rms_norm,
                      {{"dims", dims}, {"eps", call.number("eps", machine_epsilon(call.type(x).dtype))}});
  });
}

}  // namespace stitch
