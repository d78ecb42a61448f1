// The stored form of an event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/record/events.h"
#include "base/json.h"
#include "plan/context.h"

namespace stitch::agents {

struct EventRecord {
  std::string
      kind;  // step, attempt, ended, renewed, replanned, refused, tuned, not_tuned, shipped, warning, notice
  std::string body;                // JSON; texts in it by their hashes
  std::vector<std::string> blobs;  // the texts
};
// Nothing for `Doing`: progress is not recorded.
std::optional<EventRecord> record_of(const Event& event, const plan::Context& context);

// Identifies an event when a killed run is replayed: without times and durations.
std::string identity_of(const std::string& kind, const std::string& body);

}  // namespace stitch::agents
