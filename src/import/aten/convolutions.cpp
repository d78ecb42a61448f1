// Convolutions. Unbatched inputs get a batch of one; uneven 'same' padding becomes a pad.
#include "import/aten/table.h"

namespace stitch {

namespace {

std::vector<int64_t> spread(std::vector<int64_t> list, size_t dims, int64_t otherwise) {
  if (list.empty()) list.assign(dims, otherwise);
  if (list.size() == 1) list.assign(dims, list[0]);
  return list;
}

struct Batched {
  ValueId x;
  bool added;
};

Batched batched(Call& call, ValueId x, size_t dims) {
  if (call.shape(x).size() == dims + 2) return {x, false};
  Shape shape = call.shape(x);
  shape.insert(shape.begin(), 1);
  return {call.reshape(x, shape), true};
}

ValueId unbatched(Call& call, ValueId y, bool added) {
  if (!added) return y;
  return call.reshape(y, {call.shape(y).begin() + 1, call.shape(y).end()});
}

// How much 'same' pads on both sides, and what is left over for the end.
std::vector<int64_t> same_padding(Call& call, ValueId& x, ValueId weight,
                                  const std::vector<int64_t>& dilation) {
  std::vector<int64_t> padding, pads(call.shape(x).size() * 2, 0);
  bool uneven = false;
  for (size_t i = 0; i < dilation.size(); ++i) {
    int64_t total = dilation[i] * (call.shape(weight)[i + 2] - 1);
    padding.push_back(total / 2);
    pads[2 * (i + 2) + 1] = total % 2;
    uneven |= total % 2 != 0;
  }
  if (uneven) x = call.emit(Op::pad, {x}, {{"pads", pads}});
  return padding;
}

ValueId conv(Call& call) {
  ValueId weight = call.tensor("weight");
  size_t dims = call.shape(weight).size() - 2;
  auto [x, added] = batched(call, call.tensor("input"), dims);
  auto dilation = spread(call.integers("dilation"), dims, 1),
       stride = spread(call.integers("stride"), dims, 1);
  std::vector<int64_t> padding;
  if (call.is_text("padding"))
    padding = call.text("padding") == "same" ? same_padding(call, x, weight, dilation)
                                             : std::vector<int64_t>(dims, 0);
  else
    padding = spread(call.integers("padding"), dims, 0);
  ValueId y = call.emit(Op::conv, {x, weight, call.tensor_or_none("bias")},
                        {{"stride", stride},
                         {"padding", padding},
                         {"dilation", dilation},
                         {"groups", call.integer("groups", 1)}});
  return unbatched(call, y, added);
}

ValueId conv_transpose(Call& call) {
  ValueId weight = call.tensor("weight");
  size_t dims = call.shape(weight).size() - 2;
  auto [x, added] = batched(call, call.tensor("input"), dims);
  ValueId y = call.emit(Op::conv_transpose, {x, weight, call.tensor_or_none("bias")},
                        {{"stride", spread(call.integers("stride"), dims, 1)},
                         {"padding", spread(call.integers("padding"), dims, 0)},
                         {"dilation", spread(call.integers("dilation"), dims, 1)},
                         {"groups", call.integer("groups", 1)},
                         {"output_padding", spread(call.integers("output_padding"), dims, 0)}});
  return unbatched(call, y, added);
}

}  // namespace

void add_convolutions(AtenTable& table) {
  for (const char* dims : {"1d", "2d", "3d"}) {
    table.one(format("aten.conv{}.default", dims), conv);
    table.one(format("aten.conv{}.padding", dims), conv);
  }
  table.one("aten.conv_transpose1d.default", conv_transpose);
  table.one("aten.conv_transpose2d.input", conv_transpose);
  table.one("aten.conv_transpose3d.input", conv_transpose);
  for (const char* name : {"aten.convolution.default", "aten._convolution.default"})
    table.one(name, [](Call& call) { return call.flag("transposed") ? conv_transpose(call) : conv(call); });
}

}  // namespace stitch
