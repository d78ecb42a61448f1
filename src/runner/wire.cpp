#include "runner/wire.h"

#include <array>
#include <stdexcept>

namespace stitch::runner {

std::string_view name(Where where) { return where == Where::device ? "device" : "host"; }

std::string_view name(Filling filling) {
  constexpr std::array<std::string_view, 3> names = {"nan", "finite", "old result"};
  return names[static_cast<size_t>(filling)];
}

std::string_view name(Fence fence) {
  constexpr std::array<std::string_view, 6> names = {"none",  "end",  "exact end",
                                                     "start", "host", "read only"};
  return names[static_cast<size_t>(fence)];
}

std::string_view name(InStream in_stream) {
  constexpr std::array<std::string_view, 4> names = {"idle", "held", "captured", "beside"};
  return names[static_cast<size_t>(in_stream)];
}

std::string_view name(Captured captured) {
  constexpr std::array<std::string_view, 3> names = {"complete", "unjoined", "broken"};
  return names[static_cast<size_t>(captured)];
}

Json to_wire(const Slots& slots) {
  return {{"inputs_at", slots.inputs_at},     {"outputs_at", slots.outputs_at},
          {"inputs_step", slots.inputs_step}, {"outputs_step", slots.outputs_step},
          {"inputs", slots.inputs},           {"outputs", slots.outputs},
          {"where", name(slots.where)}};
}

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

namespace {

Where where_from_wire(const Json& json) {
  const std::string where = json.value("where", "host");
  if (where != "host" && where != "device") throw std::invalid_argument("no arena of ours: " + where);
  return where == "host" ? Where::host : Where::device;
}

}  // namespace

Place place_from_wire(const Json& json) { return {json.at("offset").get<int64_t>(), where_from_wire(json)}; }

Slots slots_from_wire(const Json& json) {
  return {.inputs_at = json.at("inputs_at").get<int64_t>(),
          .outputs_at = json.at("outputs_at").get<int64_t>(),
          .inputs_step = json.at("inputs_step").get<int64_t>(),
          .outputs_step = json.at("outputs_step").get<int64_t>(),
          .inputs = json.at("inputs").get<std::vector<int64_t>>(),
          .outputs = json.at("outputs").get<std::vector<int64_t>>(),
          .where = where_from_wire(json)};
}

Filling filling_from_wire(const Json& json) {
  const std::string word = json.get<std::string>();
  for (Filling filling : {Filling::nan, Filling::finite, Filling::old_result})
    if (word == name(filling)) return filling;
  throw std::invalid_argument("no filling of ours: " + word);
}

Fence fence_from_wire(const Json& json) {
  const std::string word = json.get<std::string>();
  for (Fence fence : {Fence::none, Fence::end, Fence::exact_end, Fence::start, Fence::host, Fence::read_only})
    if (word == name(fence)) return fence;
  throw std::invalid_argument("no fence of ours: " + word);
}

InStream in_stream_from_wire(const Json& json) {
  const std::string word = json.get<std::string>();
  for (InStream in_stream : {InStream::idle, InStream::held, InStream::captured, InStream::beside})
    if (word == name(in_stream)) return in_stream;
  throw std::invalid_argument("no place in a stream of ours: " + word);
}

Captured captured_from_wire(const Json& json) {
  const std::string word = json.get<std::string>();
  for (Captured captured : {Captured::complete, Captured::unjoined, Captured::broken})
    if (word == name(captured)) return captured;
  throw std::invalid_argument("no end of a capture of ours: " + word);
}

}  // namespace stitch::runner
