#include "agents/record/events.h"

namespace stitch::agents {

namespace {

struct Text {
  std::optional<std::string> operator()(const StepStarted& event) const { return std::string(event.step); }
  std::optional<std::string> operator()(const Doing& event) const { return std::string(event.what); }
  std::optional<std::string> operator()(const ReferenceRenewed&) const { return "a new reference"; }
  std::optional<std::string> operator()(const Replanned&) const { return "a new plan"; }
  std::optional<std::string> operator()(const RefusedBefore& event) const {
    return format("not again: {}", event.step);
  }
  std::optional<std::string> operator()(const TuningSkipped& event) const {
    return format("no tuning: {}", event.why);
  }
  template <class Other>
  std::optional<std::string> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::string> progress_text(const Event& event) { return std::visit(Text{}, event); }

}  // namespace stitch::agents
