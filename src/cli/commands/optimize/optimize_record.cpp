#include "cli/commands/optimize/optimize.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "learn/coder/propose.h"

namespace stitch {

namespace {

std::string absolute(const std::string& path) {
  std::error_code ec;
  const fs::path whole = fs::absolute(path, ec);
  return path.empty() || ec ? path : whole.lexically_normal().string();
}

// Every member that a run depends on, once: written and read by the same list.
template <class Command, class Visit>
void each_member(Command& command, const Visit& visit) {
  visit("model", command.model);
  visit("out", command.out);
  visit("force", command.force);
  visit("numerics", command.numerics);
  visit("device", command.device);
  visit("gpu", command.gpu);
  visit("plan", command.plan);
  visit("coder_weights", command.coder_weights);
  visit("baselines", command.baselines);
  visit("class", command.model_class);
  visit("dynamic", command.dynamic);
  visit("python", command.python);
  visit("html", command.html);
  visit("weights", command.weights);
  visit("budget", command.budget);
  visit("deadline", command.deadline);
  visit("pytorch_seconds", command.pytorch_seconds);
  visit("ledger", command.ledger);
  visit("no_timing", command.no_timing);
  visit("quick", command.quick);
  visit("compat", command.compatible);
  visit("no_tune", command.no_tune);
  visit("no_recall", command.no_recall);
  visit("memory", command.memory);
  visit("exit_slower", command.exit_slower);
  visit("planner", command.planner);
  visit("coder", command.coder);
  visit("verifier", command.verifier);
  visit("coder_style", command.coder_style);
  visit("llm_regions", command.llm_regions);
  visit("llm_samples", command.llm_samples);
  visit("llm_rounds", command.llm_rounds);
  visit("llm_budget", command.llm_budget);
  visit("whole_program", command.whole_program);
  visit("max_tokens", command.max_tokens);
  visit("max_dollars", command.max_dollars);
  visit("config", command.config);
  visit("replay", command.replay);
  visit("prompts", command.prompts);
  visit("notes", command.notes);
}

}  // namespace

std::string place_of_coder(const std::string& weights) {
  return weights == learn::shipped_coder ? weights : absolute(weights);
}

std::string record_of(const OptimizeCommand& given) {
  OptimizeCommand command = given;
  for (std::string* path : {&command.model, &command.out, &command.plan, &command.html, &command.config,
                            &command.replay, &command.prompts, &command.notes})
    *path = absolute(*path);
  command.coder_weights = place_of_coder(command.coder_weights);
  Json json = {{"mode", name(command.mode)}};
  each_member(command, [&](const char* key, const auto& value) { json[key] = value; });
  return line_text(json);
}

Result<OptimizeCommand> read_command(const std::string& record) {
  STITCH_TRY(Json json, parse_json(record));
  OptimizeCommand out;
  try {
    each_member(out, [&](const char* key, auto& value) {
      if (auto found = json.find(key); found != json.end()) found->get_to(value);
    });
  } catch (const std::exception& error) {
    return work_error("store_damaged", format("the run's settings can't be read: {}", error.what()));
  }
  if (auto mode = parse_mode(word(json, "mode"))) out.mode = *mode;
  if (out.model.empty()) return work_error("store_damaged", "the run has no model recorded");
  return out;
}

}  // namespace stitch
