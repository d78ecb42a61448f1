#include "agents/record/events.h"

#include <array>
#include <nlohmann/json.hpp>

#include "agents/loop/tune.h"
#include "agents/roles.h"
#include "plan/document/document.h"
#include "store/run_store.h"
#include "verify/verdict_document.h"

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

namespace {

std::string_view name_of(Judging judging) {
  constexpr std::array<std::string_view, 3> names = {"quickly", "wholly", "as shipped"};
  return names[static_cast<size_t>(judging)];
}

// Builds a record; a text goes into the blobs, and its hash into the body.
class Recorder {
 public:
  explicit Recorder(const plan::Context& context) : context_(context) {}

  std::optional<EventRecord> operator()(const StepStarted& event) {
    body_ = {{"step", event.step}, {"why", event.why}, {"predicted_gain_seconds", event.predicted_gain}};
    if (const Proposal* proposal = event.proposal) {
      body_["predicted_seconds"] = proposal->predicted_seconds;
      body_["judging"] = name_of(proposal->judging);
      if (!proposal->settings.empty()) body_["settings"] = proposal->settings;
      body_["plan"] = keep(line_text(plan::to_json(context_, proposal->plan)));
    }
    return made("step");
  }
  std::optional<EventRecord> operator()(const AttemptJudged& event) {
    body_ = {{"step", event.step}, {"attempt", event.attempt}, {"outcome", name(event.outcome)}};
    if (event.contents)
      for (const auto& [path, text] : event.contents->sources) body_["sources"][path] = keep(text);
    if (event.verdict) body_["verdict"] = keep(line_text(verifier::to_document(*event.verdict)));
    return made("attempt");
  }
  std::optional<EventRecord> operator()(const StepEnded& event) {
    body_ = to_json(event.entry);
    body_["action"] = name(event.action);
    return made("ended");
  }
  std::optional<EventRecord> operator()(const ReferenceRenewed&) { return made("renewed"); }
  std::optional<EventRecord> operator()(const Replanned&) { return made("replanned"); }
  std::optional<EventRecord> operator()(const RefusedBefore& event) {
    body_ = {{"step", event.step}, {"why", event.why}};
    return made("refused");
  }
  std::optional<EventRecord> operator()(const TuningEnded& event) {
    body_ = to_json(event.tuned);
    return made("tuned");
  }
  std::optional<EventRecord> operator()(const TuningSkipped& event) {
    body_ = {{"text", event.why}};
    return made("not_tuned");
  }
  std::optional<EventRecord> operator()(const Shipped& event) {
    body_ = {{"program", fs::absolute(event.program).string()},
             {"verdict", keep(line_text(verifier::to_document(event.verdict)))}};
    return made("shipped");
  }
  std::optional<EventRecord> operator()(const Warning& event) {
    body_ = {{"text", event.text}};
    return made("warning");
  }
  std::optional<EventRecord> operator()(const Notice& event) {
    body_ = {{"text", event.text}};
    return made("notice");
  }
  std::optional<EventRecord> operator()(const Doing&) { return std::nullopt; }

 private:
  std::string keep(std::string text) {
    std::string hash = store::blob_hash(text);
    blobs_.push_back(std::move(text));
    return hash;
  }
  std::optional<EventRecord> made(const char* kind) {
    return EventRecord{kind, line_text(body_), std::move(blobs_)};
  }

  const plan::Context& context_;
  Json body_ = Json::object();
  std::vector<std::string> blobs_;
};

}  // namespace

std::optional<EventRecord> record_of(const Event& event, const plan::Context& context) {
  return std::visit(Recorder(context), event);
}

std::string identity_of(const std::string& kind, const std::string& body) {
  auto json = parse_json(body);
  if (!json || !json->is_object()) return kind;
  std::string out = kind;
  for (const char* key : {"step", "attempt", "outcome", "plan", "sources", "text"})
    if (auto found = json->find(key); found != json->end()) out += '\n' + line_text(*found);
  return out;
}

}  // namespace stitch::agents
