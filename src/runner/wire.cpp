#include "runner/wire.h"

#include <stdexcept>

namespace stitch::runner {

Json to_wire(const TensorType& type) { return {{"dtype", name(type.dtype)}, {"shape", type.shape}}; }

Json to_wire(const TensorAt& tensor) {
  Json out = to_wire(tensor.type);
  out["offset"] = tensor.offset;
  return out;
}

TensorType type_from_wire(const Json& json) {
  auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("no dtype of ours: " + json.at("dtype").dump());
  return {*dtype, json.at("shape").get<Shape>(), {}};
}

TensorAt tensor_from_wire(const Json& json) {
  return {type_from_wire(json), json.at("offset").get<int64_t>()};
}

}  // namespace stitch::runner
