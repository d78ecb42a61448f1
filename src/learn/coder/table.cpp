#include "learn/coder/table.h"

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error_codes.h"
#include "base/machine/interrupt.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "graph/safetensors.h"
#include "import/python.h"
#include "learn/coder/propose.h"
#include "plan/cost/cost_fit.h"

namespace stitch::learn {

namespace {

constexpr std::string_view kind_names[] = {"product",    "convolution", "attention",
                                           "recurrence", "loop",        "any"};

template <class T>
TensorBytes tensor(DType dtype, Shape shape, const std::vector<T>& values) {
  return {{dtype, std::move(shape), {}}, std::as_bytes(std::span(values))};
}

}  // namespace

Result<size_t> write_table(const fs::path& file, const std::vector<NamedProblems>& sets, Times& times,
                           const std::vector<NamedCalibration>& calibrations) {
  std::vector<float> features;
  std::vector<double> seconds;
  std::vector<std::vector<double>> estimates(1 + calibrations.size());
  std::vector<int64_t> way, first = {0};
  std::map<std::string, int64_t> ways;
  Json about = {{"features", feature_version}, {"choices", Json::array()}, {"questions", Json::array()}};
  size_t trained_on = 0;
  for (const auto& [set, problems] : sets) {
    for (const RegionProblem& problem : problems) {
      RegionQuestion question(problem, times);
      if (question.choices().empty()) continue;
      trained_on += set == "train" ? 1 : 0;
      const std::vector<float>& rows = question.features();
      features.insert(features.end(), rows.begin(), rows.end());
      for (size_t i = 0; i < question.choices().size(); ++i) {
        const plan::Region& chosen = question.choices()[i];
        const Timed& timed = question.time_of(i);
        seconds.push_back(timed.kind == Timed::Kind::timed ? timed.seconds
                                                           : std::numeric_limits<double>::quiet_NaN());
        estimates[0].push_back(plan::estimate(problem.context(), problem.plan(), chosen).seconds());
        for (size_t c = 0; c < calibrations.size(); ++c)
          estimates[c + 1].push_back(
              plan::seconds_of(plan::estimate_without_calibration(problem.context(), problem.plan(), chosen),
                               calibrations[c].second.find(plan::way_of(chosen))));
        way.push_back(ways.try_emplace(way_text(chosen), std::ssize(ways)).first->second);
        about["choices"].push_back(choice_text(chosen));
      }
      first.push_back(std::ssize(seconds));
      const auto kind = static_cast<size_t>(plan::kind_of(problem.context().graph, problem.now()));
      about["questions"].push_back({{"set", set},
                                    {"task", problem.task->name},
                                    {"region", problem.now().name},
                                    {"kind", kind_names[kind]},
                                    {"key", problem.key}});
    }
  }
  std::vector<std::string> way_names(ways.size());
  for (const auto& [name, number] : ways) way_names[static_cast<size_t>(number)] = name;
  about["ways"] = way_names;
  about["cost_models"] = {"least estimate"};
  std::vector<double> all_estimates;
  for (const auto& each : estimates) all_estimates.insert(all_estimates.end(), each.begin(), each.end());
  for (const auto& [name, calibration] : calibrations) about["cost_models"].push_back(name);
  const std::string text = line_text(about);
  const int64_t count = std::ssize(seconds);
  STITCH_CHECK(write_safetensors(
      file, {{"features", tensor(DType::f32, {count, feature_count()}, features)},
             {"seconds", tensor(DType::f64, {count}, seconds)},
             {"estimates", tensor(DType::f64, {std::ssize(estimates), count}, all_estimates)},
             {"way", tensor(DType::i64, {count}, way)},
             {"first", tensor(DType::i64, {std::ssize(first)}, first)},
             {"about", tensor(DType::u8, {std::ssize(text)}, std::vector<char>(text.begin(), text.end()))}}));
  return trained_on;
}

Calibration fit_calibration(const std::vector<RegionProblem>& problems, Times& times) {
  std::vector<plan::CostSample> samples;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times);
    for (size_t i = 0; i < question.choices().size(); ++i) {
      const plan::Region& chosen = question.choices()[i];
      const Timed timed = question.time_of(i);
      if (timed.kind != Timed::Kind::timed) continue;
      samples.push_back({problem.task->name, problem.now().name, plan::way_of(chosen),
                         plan::estimate_without_calibration(problem.context(), problem.plan(), chosen),
                         timed.seconds});
    }
  }
  const std::string gpu = problems.empty() ? "" : problems[0].context().gpu.name;
  return plan::fit(samples, gpu, format("{} choices of {} regions", samples.size(), problems.size()));
}

Json to_json(const TrainOptions& options) {
  return {{"members", options.members},
          {"epochs", options.epochs},
          {"rate", options.rate},
          {"seed", options.seed},
          {"cautions", options.cautions}};
}

Result<std::optional<Json>> train_coder(const fs::path& folder, const TrainOptions& options,
                                        const TrainHooks& hooks) {
  STITCH_TRY(const fs::path python, find_python(options.python));
  STITCH_TRY(const Command command, python_command(python, "stitchcuda_torch.train_coder",
                                                   {folder.string(), line_text(to_json(options))}));
  const EndChildrenWhen stop([&] { return hooks.should_stop && hooks.should_stop(); });
  STITCH_TRY(Child child, Child::start(command));
  for (;;) {
    auto line = child.read_line();
    if (!line) {
      if (line.error().code == error_code::stopped) return std::optional<Json>();
      const Finished finished = child.wait();
      return work_error("training",
                        format("{} stopped with exit code {} while training: {}", python.string(),
                               finished.exit_code, split(trim(finished.error_tail), '\n').back()),
                        "check it with: stitchcuda doctor");
    }
    auto json = parse_json(*line);
    if (!json || !json->is_object()) continue;  // what a library prints
    if (json->contains("done")) return std::optional((*json)["done"]);
    if (json->contains("error")) {
      Error error = user_error(word((*json)["error"], "kind"), word((*json)["error"], "message"),
                               word((*json)["error"], "fix"));
      error.where = word((*json)["error"], "where");
      if (error.code == error_code::disk) error.blame = Error::Blame::work;
      return error;
    }
    if (hooks.on_epoch && json->contains("epoch")) hooks.on_epoch(*json);
  }
}

}  // namespace stitch::learn
