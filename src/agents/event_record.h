// An event as it is written down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/events.h"
#include "base/json.h"
#include "plan/context.h"

namespace stitch::agents {

struct EventRecord {
  std::string
      kind;  // step, attempt, ended, renewed, replanned, refused, tuned, not_tuned, shipped, warning, notice
  std::string body;                // JSON; texts in it by their hashes
  std::vector<std::string> blobs;  // the texts
};
// Nothing of what somebody is busy with at the moment.
std::optional<EventRecord> record_of(const Event& event, const plan::Context& context);

// What an event is known by when a run that was killed comes to it again: not when, nor how long it took.
std::string identity_of(const std::string& kind, const std::string& body);

}  // namespace stitch::agents
