#include "cli/arguments.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error_codes.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/folder.h"

namespace stitch {

Result<runner::Device> choose_device(const std::string& name) {
  if (name == "emulated") return runner::Device::emulated;
  auto driver = detect_gpus();
  bool here = driver && !driver->gpus.empty();
  if (name == "auto") return here ? runner::Device::cuda : runner::Device::emulated;
  if (name != "cuda")
    return user_error("device", format("unknown device '{}'", name), "one of: auto, cuda, emulated");
  if (!here)
    return user_error(error_code::no_gpu,
                      "no usable GPU on this machine" + (driver ? "" : ": " + driver.error().message),
                      "use --device emulated");
  return runner::Device::cuda;
}

Result<std::vector<std::string>> baselines_named(const std::string& names) {
  static const std::vector<std::string> all = {"eager", "eager-graph", "compile", "compile-graph"};
  if (names == "none") return std::vector<std::string>();
  if (names == "all") return all;
  std::vector<std::string> list = split(names, ',');
  for (const std::string& one : list)
    if (std::ranges::find(all, one) == all.end())
      return user_error("baselines", format("unknown baseline '{}'", one),
                        "one or more of: " + join(all, ", ") + "; or all, or none");
  return list;
}

Result<std::shared_ptr<const Task>> load_model(const fs::path& path, const TaskOptions& options,
                                               Console& console) {
  std::error_code ec;
  if (!Task::is_python(path) || !fs::exists(path, ec)) {
    // There at once, with weights that are only mapped: whether they fit is worth knowing.
    TaskOptions whole = options;
    whole.weights = true;
    return open_task(path, whole);
  }
  Progress progress(console.err, console.err_terminal, console.json, "importing");
  return open_task(path, options, [&](std::string_view text) { progress.detail(text); });
}

Result<Json> load_plan_file(const std::string& path) {
  std::error_code ec;
  const auto bytes = fs::file_size(path, ec);
  if (!ec && bytes > plan::most_plan_bytes)
    return at(path, user_error("plan", format("file too large for a plan: {} (limit: {})",
                                              bytes_text(static_cast<double>(bytes)),
                                              bytes_text(static_cast<double>(plan::most_plan_bytes)))));
  STITCH_TRY(std::string text, read_file(path));
  auto document = parse_json(text);
  if (!document) return at(path, std::move(document).error());
  return document;
}

Result<plan::GivenPlan> read_plan_file(const std::string& path, const Task& task, const GpuSpec& gpu,
                                       Numerics numerics) {
  STITCH_TRY(Json document, load_plan_file(path));
  auto given =
      plan::read_given_plan(document, task.planned(), gpu, code::catalogue(), numerics, task.instances);
  if (!given) return within(path, std::move(given).error());
  return given;
}

std::string place_of(const Published& published, const std::string& asked) {
  return published.beside.empty() ? asked : published.folder.string();
}

std::string said_of(const Published& published, const std::string& asked) {
  std::string out;
  if (!published.beside.empty())
    out += format("{}: {}\nWritten to {} instead.\n", asked, published.beside, published.folder.string());
  for (const std::string& line : published.saved) out += format("{}: {}\n", asked, line);
  return out;
}

void add_place(Json& json, const char* key, const Published& published, const std::string& asked) {
  json[key] = place_of(published, asked);
  if (!published.beside.empty()) json["beside"] = published.beside;
  if (!published.saved.empty()) json["saved"] = published.saved;
}

std::optional<verifier::TorchLender> lend_for_ranges(const fs::path& task, const std::string& python,
                                                     Progress& progress) {
  progress.detail("importing PyTorch, once for all sizes");
  auto lent = verifier::TorchLender::start(python, {task});
  return lent ? std::optional(*std::move(lent)) : std::nullopt;
}

bool declares_sizes(const fs::path& task) {
  const auto text = read_file(task);
  return text && text->find("get_dynamic_shapes") != std::string::npos;
}

Result<void> check_task_file(const std::string& path) {
  const fs::path file = path;
  std::error_code ec;
  auto not_a_task = [&](std::string what, std::string fix) {
    return at(path, user_error(error_code::no_task, std::move(what), std::move(fix)));
  };
  if (!fs::exists(file, ec))
    return at(path, user_error("no_file", "no such .py task",
                               "name a file with Model, get_inputs() and get_init_inputs()"));
  if (fs::is_directory(file, ec)) {
    if (fs::exists(file / graph_file, ec))
      return not_a_task(
          "is a graph folder: this command needs the .py task it was imported from",
          format(
              "name that file; or use the graph folder with: stitchcuda code {} -o FOLDER, then stitchcuda "
              "verify FOLDER --task {}",
              path, path));
    if (fs::exists(file / "program.cu", ec))
      return not_a_task(
          "is a program folder, not a .py task",
          format("name the .py task; to check the program: stitchcuda verify {} --task TASK.py", path));
    return not_a_task("is a folder, not a .py task",
                      format("name one file in it, or use: stitchcuda bench {} -o FOLDER", path));
  }
  if (file.extension() == ".py") return {};
  if (file.extension() == ".txt")
    return not_a_task("is a text file, not a .py task",
                      format("name the .py task; to see a graph: stitchcuda show {}", path));
  return not_a_task("is not a .py task", "name a file with Model, get_inputs() and get_init_inputs()");
}

Result<void> check_compatible(const std::string& with) {
  if (with.empty() || with == "kernelbench") return {};
  return user_error("compat", format("unknown --compat value '{}'", with), "--compat kernelbench");
}

Result<void> read_judging(const JudgingFlags& flags, runner::Device device, const std::string& beside,
                          verifier::VerifyOptions& out) {
  STITCH_TRY(out.numerics, parse_numerics(flags.numerics));
  STITCH_CHECK(check_compatible(flags.compatible));
  out.device = device;
  out.kernelbench_compatible = !flags.compatible.empty();
  out.quick = flags.quick;
  out.timing = !flags.no_timing;
  const bool timed = out.timing && device == runner::Device::cuda;
  STITCH_TRY(out.baselines, baselines_named(flags.baselines != "auto" ? flags.baselines
                                            : timed                   ? beside
                                                                      : "none"));
  return {};
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
