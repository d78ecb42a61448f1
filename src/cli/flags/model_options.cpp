#include "cli/flags/model_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/progress.h"

namespace stitch {

Result<void> check_compatible(const std::string& with) {
  if (with.empty() || with == "kernelbench") return {};
  return user_error("compat", format("unknown --compat value '{}'", with), "--compat kernelbench");
}

Result<plan::ReferenceFacts> facts_for(const std::string& compatible, Numerics numerics) {
  STITCH_CHECK(check_compatible(compatible));
  if (!compatible.empty() && numerics != Numerics::standard)
    return user_error("compat", "KernelBench's evaluator compares with PyTorch's defaults",
                      "leave --numerics out, or use --numerics default");
  return plan::ReferenceFacts{.as_pytorch = !compatible.empty()};
}

void Warnings::say_mode(const TaskFacts& facts) {
  if (auto warning = mode_warning(facts)) say(*warning);
}

std::function<void(std::string_view)> Warnings::above(Progress& progress) {
  return [this, &progress](std::string_view text) { take(std::string(text), &progress); };
}

void Warnings::take(const std::string& text, Progress* progress) {
  if (std::ranges::find(said_, text) != said_.end()) return;
  said_.push_back(text);
  if (console_.json) return;
  const std::string line =
      std::string(styled("warning:", Style::warning, console_.err_terminal)) + " " + text;
  if (progress)
    progress->say(line);
  else
    console_.err << line << '\n';
}

void Warnings::add_to(Json& document) const {
  if (!said_.empty()) document["warnings"] = said_;
}

}  // namespace stitch
