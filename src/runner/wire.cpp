#include "runner/wire.h"

#include <stdexcept>

namespace stitch::runner {

std::string_view name(Where where) { return where == Where::device ? "device" : "host"; }

Json to_wire(const TensorType& type) { return {{"dtype", name(type.dtype)}, {"shape", type.shape}}; }

Json to_wire(const TensorAt& tensor) {
  Json out = to_wire(tensor.type);
  out["offset"] = tensor.offset;
  if (tensor.where != Where::host) out["where"] = name(tensor.where);
  return out;
}

TensorType type_from_wire(const Json& json) {
  auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("no dtype of ours: " + json.at("dtype").dump());
  return {*dtype, json.at("shape").get<Shape>(), {}};
}

TensorAt tensor_from_wire(const Json& json) {
  const Place place = place_from_wire(json);
  return {type_from_wire(json), place.offset, place.where};
}

Place place_from_wire(const Json& json) {
  const std::string where = json.value("where", "host");
  if (where != "host" && where != "device") throw std::invalid_argument("no arena of ours: " + where);
  return {json.at("offset").get<int64_t>(), where == "host" ? Where::host : Where::device};
}

}  // namespace stitch::runner
