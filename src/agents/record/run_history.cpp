#include "agents/record/run_history.h"

#include <nlohmann/json.hpp>

namespace stitch::agents {

namespace {

PastAttempt attempt_of(const Json& body, double elapsed) {
  PastAttempt out{.number = body.value("attempt", 1),
                  .outcome = word(body, "outcome"),
                  .sources = {},
                  .verdict = word(body, "verdict"),
                  .elapsed = elapsed};
  const Json sources = body.value("sources", Json::object());
  for (const auto& [path, hash] : sources.items())
    if (hash.is_string()) out.sources[path] = hash.get<std::string>();
  return out;
}

void take(PastRun& run, const std::string& kind, const Json& body, double elapsed) {
  const bool open = !run.steps.empty() && !run.steps.back().entry;
  if (kind == "begin") {
    run.graph = word(body, "graph");
  } else if (kind == "step") {
    run.steps.push_back({.name = word(body, "step"),
                         .why = word(body, "why"),
                         .plan = word(body, "plan"),
                         .predicted_gain = body.value("predicted_gain_seconds", 0.0),
                         .attempts = {},
                         .entry = nullptr,
                         .base = best_step(run)});
  } else if (kind == "attempt" && open) {
    run.steps.back().attempts.push_back(attempt_of(body, elapsed));
  } else if (kind == "ended") {
    if (!open || run.steps.back().name != word(body, "step"))
      run.steps.push_back({.name = word(body, "step"),
                           .why = word(body, "why"),
                           .plan = {},
                           .attempts = {},
                           .entry = nullptr,
                           .base = best_step(run)});
    run.steps.back().entry = std::make_shared<const Json>(body);
    run.steps.back().kept = word(body, "action") == "commit";
    // What failed as it was shipped is the best no more.
    if (word(body, "step") == "ship" && run.steps.back().base >= 0)
      run.steps[static_cast<size_t>(run.steps.back().base)].kept = false;
  } else if (kind == "refused") {
    run.refused.emplace_back(word(body, "step"), word(body, "why"));
  } else if (kind == "warning") {
    run.warnings.push_back(word(body, "text"));
  } else if (kind == "conversation") {
    run.conversation.push_back(word(body, "line"));
  } else if (kind == "tuned") {
    run.tuning = std::make_shared<const Json>(body);
  } else if (kind == "not_tuned") {
    run.tuning = std::make_shared<const Json>(Json{{"skipped", word(body, "text")}});
  } else if (kind == "shipped") {
    run.program = word(body, "program");
    run.verdict = word(body, "verdict");
  }
}

}  // namespace

int best_step(const PastRun& run) {
  for (size_t i = run.steps.size(); i-- > 0;)
    if (run.steps[i].kept) return static_cast<int>(i);
  return -1;
}

Result<PastRun> read_history(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(std::vector<store::StoredEvent> events, store.events(run));
  PastRun out;
  for (const store::StoredEvent& event : events) {
    auto body = parse_json(event.body);
    if (!body || !body->is_object())
      return at(store.file().string(), work_error("store_damaged", format("event {} of the run {} is damaged",
                                                                          event.sequence, run.id)));
    take(out, event.kind, *body, event.elapsed);
  }
  return out;
}

Result<std::map<std::string, std::string>> sources_of(const store::RunStore& store,
                                                      const PastAttempt& attempt) {
  std::map<std::string, std::string> out;
  for (const auto& [path, hash] : attempt.sources) {
    STITCH_TRY(out[path], store.blob(hash));
  }
  return out;
}

Json to_json(const PastRun& run) {
  Json json = {{"steps", Json::array()}, {"refused_before", Json::array()}, {"warnings", run.warnings}};
  for (const PastStep& step : run.steps) {
    Json one = {{"step", step.name}, {"why", step.why}, {"base", nullptr}, {"kept", step.kept}};
    if (step.base >= 0) one["base"] = step.base;
    one["attempts"] = Json::array();
    for (const PastAttempt& attempt : step.attempts)
      one["attempts"].push_back({{"attempt", attempt.number},
                                 {"outcome", attempt.outcome},
                                 {"elapsed_seconds", attempt.elapsed},
                                 {"sources", attempt.sources}});
    if (step.entry) one["ledger"] = *step.entry;
    json["steps"].push_back(std::move(one));
  }
  for (const auto& [step, why] : run.refused)
    json["refused_before"].push_back({{"step", step}, {"why", why}});
  if (run.tuning) json["tuning"] = *run.tuning;
  if (!run.program.empty()) json["program"] = run.program;
  return json;
}

}  // namespace stitch::agents
