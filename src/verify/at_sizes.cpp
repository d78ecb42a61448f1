#include "verify/at_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "base/machine/time_account.h"
#include "base/text.h"
#include "import/import_instances.h"
#include "reference/preflight.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

constexpr int secret_draws = 2;
constexpr size_t most_judged = 6;
constexpr size_t most_timed = 4;
constexpr double most_emulated_seconds = 60;

int64_t least_of(const Dimension& each) {
  return (each.least + each.multiple - 1) / each.multiple * each.multiple;
}
int64_t most_of(const Dimension& each) { return each.most / each.multiple * each.multiple; }

// As many small sizes as large ones: of logarithms.
Sizes drawn(const Dimensions& dimensions, std::mt19937_64& random) {
  Sizes out;
  for (const Dimension& each : dimensions) {
    const double low = std::log(static_cast<double>(least_of(each))),
                 high = std::log(static_cast<double>(most_of(each)) + 1);
    const auto size = static_cast<int64_t>(std::exp(std::uniform_real_distribution(low, high)(random)));
    out[each.name] = std::clamp(size / each.multiple * each.multiple, least_of(each), most_of(each));
  }
  return out;
}

// The smallest sizes, secret ones, the largest, and each alone at its largest.
std::vector<Sizes> sizes_to_judge(const Dimensions& dimensions, std::mt19937_64& random) {
  Sizes least, most;
  for (const Dimension& each : dimensions) least[each.name] = least_of(each), most[each.name] = most_of(each);
  std::vector<Sizes> out = {least};
  for (int i = 0; i < secret_draws; ++i) out.push_back(drawn(dimensions, random));
  out.push_back(most);
  if (dimensions.size() > 1)
    for (const Dimension& each : dimensions) {
      Sizes one = least;
      one[each.name] = most[each.name];
      out.push_back(std::move(one));
    }
  return out;
}

// Just below and just above each border.
std::vector<Sizes> sizes_at_borders(const Dimensions& dimensions, const std::vector<Border>& borders,
                                    std::mt19937_64& random) {
  constexpr int draws = 4000;
  std::vector<Sizes> out;
  for (const Border& border : borders) {
    std::optional<std::pair<int64_t, Sizes>> below, above;
    for (int i = 0; i < draws; ++i) {
      const Sizes sizes = drawn(dimensions, random);
      const auto size = evaluate_size(border.measure, sizes);
      if (!size) break;
      std::optional<std::pair<int64_t, Sizes>>& side = *size <= border.most ? below : above;
      if (!side || std::abs(*size - border.most) < std::abs(side->first - border.most)) side = {*size, sizes};
    }
    for (const auto& side : {below, above})
      if (side) out.push_back(side->second);
  }
  return out;
}

// How much more than at the example's sizes, at most: attention takes a length squared.
double more_work(const Sizes& sizes, const Sizes& example) {
  double out = 1;
  for (const auto& [name, size] : sizes) {
    const double times = static_cast<double>(size) / static_cast<double>(example.at(name));
    out *= times > 1 ? times * times : times;
  }
  return out;
}

struct Ranges {
  Dimensions dimensions;
  std::vector<Border> borders;
};

// A ModelNew takes whatever its task may be called with.
Result<Ranges> ranges_of(const Task& task, const VerifyOptions& options) {
  if (!task.in_python()) return Ranges{};
  if (options.program.extension() == ".py") return Ranges{dimensions_in(task.facts), {}};
  STITCH_TRY(Package package, load_package(options.program));
  return Ranges{std::move(package.manifest.dimensions), std::move(package.manifest.borders)};
}

Json ranges_json(const Dimensions& dimensions) {
  Json out = Json::array();
  for (const Dimension& each : dimensions)
    out.push_back(
        {{"name", each.name}, {"least", each.least}, {"most", each.most}, {"multiple", each.multiple}});
  return out;
}

// What takes PyTorch a minute of compiling at each size is left to tools/time_sizes.py.
bool is_quickly_made(const std::string& baseline) { return !baseline.starts_with("compile"); }

std::string texts(const Json& sizes) {
  std::vector<std::string> out;
  for (const Json& each : sizes) out.push_back(text(each.get<Sizes>()));
  return join(out, "; ");
}

// The gate that failed at other sizes takes the place of the one that passed.
void fail_with(Verdict& verdict, const Sizes& sizes, const GateReport& failure) {
  for (GateReport& gate : verdict.gates) {
    if (gate.id < failure.id) continue;
    if (gate.id == failure.id) {
      gate = failure;
      gate.summary = format("with {}: {}", text(sizes), failure.summary);
    } else {
      gate.outcome = Outcome::skipped;
      gate.summary = not_reached;
    }
  }
}

}  // namespace

Result<void> judge_at_other_sizes(Verdict& verdict, const Task& task, const VerifyOptions& options) {
  if (!verdict.passed()) return {};
  STITCH_TRY(const Ranges ranges, ranges_of(task, options));
  const Dimensions& dimensions = ranges.dimensions;
  if (dimensions.empty()) return {};
  const SpentOn phase("other sizes", TimeAccount::Kind::phase);
  STITCH_TRY(const Sizes example, sizes_of(dimensions, task.graph));
  std::mt19937_64 random(options.seed ? *options.seed : std::random_device{}());
  const bool emulated = options.device == runner::Device::emulated;
  const double seconds = emulated ? needs_of(task.graph).emulated_seconds : 0;
  STITCH_TRY(ScratchFolder folder, ScratchFolder::create_in_memory("stitchcuda-sizes"));
  Json report = {{"ranges", ranges_json(dimensions)},
                 {"right", Json::array()},
                 {"not_judged", Json::array()},
                 {"times", Json::array()}};
  Json &right = report["right"], &not_judged = report["not_judged"], &times = report["times"];
  double spent = 0;
  std::vector<Sizes> all = sizes_to_judge(dimensions, random);
  if (all.size() > most_judged) all.resize(most_judged);
  for (Sizes& sizes : sizes_at_borders(dimensions, ranges.borders, random)) all.push_back(std::move(sizes));
  for (const Sizes& sizes : all) {
    if (sizes == example || std::ranges::count(right, Json(sizes)) > 0) continue;
    const double expected = seconds * more_work(sizes, example);
    if (spent + expected > most_emulated_seconds || (options.should_stop && options.should_stop())) {
      not_judged.push_back(sizes);
      continue;
    }
    spent += expected;
    if (options.on_progress) options.on_progress(format("judging with {}", text(sizes)));
    STITCH_TRY(const fs::path source, write_instance(task.source, dimensions, sizes, folder.path()));
    VerifyOptions how = options;
    how.timing = options.timing && !emulated && times.size() < most_timed;
    std::erase_if(how.baselines, [](const std::string& each) { return !is_quickly_made(each); });
    how.profile = how.baselines_ahead = how.more_to_come = how.remember_trials = how.other_sizes = false;
    how.receipt.clear();
    how.form = &task.graph;
    how.on_warning = how.on_notice = {};
    TaskOptions as = task.options;
    as.dynamic.reset();
    if (task.instances) as.limits = task.instances->limits;
    STITCH_TRY(const Verdict other, verify(source, how, as));
    // Of one element in each row, a softmax proves nothing.
    if (other.inconclusive()) {
      not_judged.push_back(sizes);
      continue;
    }
    if (const GateReport* failure = other.failure()) {
      fail_with(verdict, sizes, *failure);
      return {};
    }
    right.push_back(sizes);
    if (other.timing) times.push_back({{"sizes", sizes}, {"timing", *other.timing}});
  }
  if (!right.empty()) verdict.notes.push_back("right at other sizes too: " + texts(right));
  if (!not_judged.empty()) verdict.notes.push_back("not judged at " + texts(not_judged));
  for (const Json& each : times)
    if (const double speedup = each["timing"].value("speedup", 1.0); speedup < 1)
      verdict.notes.push_back(
          format("slower than PyTorch with {}: {:.2f}x", text(each["sizes"].get<Sizes>()), speedup));
  verdict.sizes = std::make_shared<const Json>(std::move(report));
  return {};
}

}  // namespace stitch::verifier
