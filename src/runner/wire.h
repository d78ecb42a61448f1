// Requests and answers as JSON (README), for both sides of the protocol.
#pragma once

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "graph/type.h"
#include "runner/candidate.h"

namespace stitch::runner {

inline constexpr int protocol_version = 1;
inline constexpr int request_descriptor = 3, answer_descriptor = 4, arena_descriptor = 5;

std::string_view name(Where where);
std::string_view name(Filling filling);
std::string_view name(Fence fence);
std::string_view name(InStream in_stream);
std::string_view name(Captured captured);
Json to_wire(const TensorType& type);
Json to_wire(const TensorAt& tensor);
Json to_wire(const Slots& slots);
template <class T>
Json to_wire(std::span<const T> list) {
  Json out = Json::array();
  for (const T& item : list) out.push_back(to_wire(item));
  return out;
}

// Throws nlohmann's exceptions on malformed JSON.
TensorType type_from_wire(const Json& json);
TensorAt tensor_from_wire(const Json& json);
// Of any object with an offset.
Place place_from_wire(const Json& json);
Slots slots_from_wire(const Json& json);
Filling filling_from_wire(const Json& json);
Fence fence_from_wire(const Json& json);
InStream in_stream_from_wire(const Json& json);
Captured captured_from_wire(const Json& json);

}  // namespace stitch::runner
