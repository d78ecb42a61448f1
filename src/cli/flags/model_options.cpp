#include "cli/flags/model_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/progress.h"

namespace stitch {

void add_compatible(CLI::App& command, std::string& with) {
  command
      .add_option("--compat", with,
                  "kernelbench: also pass its own evaluator, which needs TF32 exactly where PyTorch uses it")
      ->type_name("NAME");
}

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

void add_mode(CLI::App& command, Mode& mode) {
  auto* eval = command.add_flag_callback(
      "--eval", [&mode] { mode = Mode::eval; },
      "use eval mode: no dropout, batch norm with running statistics (default: as the file leaves the model, "
      "usually in training mode)");
  auto* train = command.add_flag_callback(
      "--train", [&mode] { mode = Mode::train; }, "use training mode, even if the file calls eval()");
  eval->excludes(train);
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
