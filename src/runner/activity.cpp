#include "runner/activity.h"

#include <nlohmann/json.hpp>

#include "base/format.h"

namespace stitch::runner {

namespace {

constexpr std::pair<ActivityKind, std::string_view> kinds[] = {{ActivityKind::kernel, "kernel"},
                                                               {ActivityKind::copy, "copy"},
                                                               {ActivityKind::fill, "fill"},
                                                               {ActivityKind::graph_launch, "graph launch"},
                                                               {ActivityKind::host_call, "host call"}};

Error wrong(const std::string& field) {
  return user_error("activity", format("an activity's '{}' is missing or of the wrong type", field));
}

}  // namespace

std::string_view name(ActivityKind kind) {
  for (const auto& [known, text] : kinds)
    if (known == kind) return text;
  throw Bug("a kind of activity without a name");
}

Result<ActivityKind> parse_activity_kind(std::string_view name) {
  for (const auto& [kind, text] : kinds)
    if (text == name) return kind;
  return user_error("activity", format("'{}' is no kind of activity", name));
}

Json to_json(const Activity& activity) {
  Json out = {{"name", activity.name},
              {"kind", name(activity.kind)},
              {"start_ns", activity.start_ns},
              {"end_ns", activity.end_ns}};
  auto add = [&](const char* field, auto value) {
    if (value) out[field] = value;
  };
  add("stream", activity.stream);
  add("bytes", activity.bytes);
  if (activity.block[0]) {
    out["grid"] = activity.grid;
    out["block"] = activity.block;
  }
  add("registers", activity.registers);
  add("shared_bytes", activity.shared_bytes);
  add("correlation", activity.correlation);
  add("in_graph", activity.in_graph);
  if (!activity.used.empty()) out["used"] = activity.used;
  if (!activity.counters.empty()) out["counters"] = activity.counters;
  return out;
}

Result<Activity> activity_from_json(const Json& json) {
  Activity out;
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return wrong("name");
  out.name = json["name"].get<std::string>();
  if (json.contains("kind")) {
    if (!json["kind"].is_string()) return wrong("kind");
    STITCH_TRY(out.kind, parse_activity_kind(json["kind"].get<std::string>()));
  }
  std::string bad;
  auto number = [&](const char* field, auto& value) {
    auto found = json.find(field);
    if (found == json.end()) return;
    using Value = std::remove_reference_t<decltype(value)>;
    if (std::is_same_v<Value, bool> ? found->is_boolean() : found->is_number_integer())
      value = found->get<Value>();
    else
      bad = field;
  };
  number("start_ns", out.start_ns);
  number("end_ns", out.end_ns);
  number("stream", out.stream);
  number("bytes", out.bytes);
  number("registers", out.registers);
  number("shared_bytes", out.shared_bytes);
  number("correlation", out.correlation);
  number("in_graph", out.in_graph);
  auto triple = [&](const char* field, int(&value)[3]) {
    auto found = json.find(field);
    if (found == json.end()) return;
    if (!found->is_array() || found->size() != 3) {
      bad = field;
      return;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (!(*found)[i].is_number_integer())
        bad = field;
      else
        value[i] = (*found)[i].get<int>();
    }
  };
  triple("grid", out.grid);
  triple("block", out.block);
  if (auto counters = json.find("counters"); counters != json.end()) {
    if (!counters->is_object()) return wrong("counters");
    for (const auto& [name, value] : counters->items()) {
      if (!value.is_number()) return wrong("counters");
      out.counters[name] = value.get<double>();
    }
  }
  if (auto used = json.find("used"); used != json.end()) {
    if (!used->is_array()) return wrong("used");
    for (const Json& one : *used) {
      if (!one.is_string()) return wrong("used");
      out.used.push_back(one.get<std::string>());
    }
  }
  if (!bad.empty()) return wrong(bad);
  if (out.end_ns < out.start_ns)
    return user_error("activity", format("activity '{}' ends before it starts", out.name));
  return out;
}

}  // namespace stitch::runner
