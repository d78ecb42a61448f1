#include "learn/coder/collect.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/contained.h"
#include "base/json.h"
#include "base/text.h"
#include "learn/coder/choices.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

namespace {

// Each variant has results of its own, and several programs share the GPU's memory.
size_t affordable(const RegionProblem& problem, const CollectOptions& options) {
  double bytes = 1;
  for (ValueId id : problem.now().writes)
    bytes += static_cast<double>(problem.context().graph.type(id).bytes());
  const double share = 0.5 * problem.context().gpu.memory / options.jobs;
  return std::clamp(static_cast<size_t>(share / bytes), size_t{2}, options.choices);
}

// One of each in turn, for as long as there are any.
std::vector<RegionProblem> in_turn(std::vector<std::vector<RegionProblem>> queues) {
  std::vector<RegionProblem> out;
  for (size_t at = 0, left = 1; left > 0; ++at) {
    left = 0;
    for (std::vector<RegionProblem>& queue : queues)
      if (at < queue.size()) ++left, out.push_back(std::move(queue[at]));
  }
  return out;
}

}  // namespace

std::vector<RegionProblem> in_fair_order(std::vector<RegionProblem> problems) {
  std::ranges::sort(problems, {}, &RegionProblem::key);
  std::map<std::string, std::map<plan::Kind, std::vector<RegionProblem>>> sets;
  for (RegionProblem& problem : problems)
    sets[problem.task->set][plan::kind_of(problem.context().graph, problem.now())].push_back(
        std::move(problem));
  std::vector<std::vector<RegionProblem>> queues;
  for (auto& [set, kinds] : sets) {
    std::vector<std::vector<RegionProblem>> of_kind;
    for (auto& [kind, own] : kinds) of_kind.push_back(std::move(own));
    std::vector<RegionProblem> queue = in_turn(std::move(of_kind));
    if (!set.empty()) {
      queues.push_back(std::move(queue));
      continue;
    }
    std::vector<RegionProblem> halves[2];
    for (size_t i = 0; i < queue.size(); ++i) halves[i % 2].push_back(std::move(queue[i]));
    for (auto& half : halves) queues.push_back(std::move(half));
  }
  return in_turn(std::move(queues));
}

std::vector<RegionProblem> disputed(std::vector<RegionProblem> problems, size_t choices, uint64_t seed) {
  std::erase_if(problems, [&](const RegionProblem& problem) {
    auto seconds = [&](const plan::Region& region) {
      return plan::estimate(problem.context(), problem.plan(), region).seconds();
    };
    const double built_in = seconds(problem.now());
    return std::ranges::none_of(candidate_choices(problem, choices, seed),
                                [&](const plan::Region& each) { return seconds(each) < built_in; });
  });
  return problems;
}

Result<Collected> collect(const std::vector<RegionProblem>& problems, Timings& timings,
                          const CollectOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  auto over = [&] {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
    return (options.seconds > 0 && gone.count() > options.seconds) ||
           (options.should_stop && options.should_stop());
  };
  Collected out;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  std::optional<Error> trouble;
  int done = 0;
  auto work = [&] {
    for (;;) {
      const size_t which = next++;
      if (which >= problems.size()) return;
      const RegionProblem& problem = problems[which];
      {
        const std::lock_guard lock(mutex);
        if (trouble || over()) {
          ++out.not_begun;
          continue;
        }
        if (timings.of(problem.key)) {
          ++out.known;
          continue;
        }
      }
      std::string failed;
      auto rows = contained([&]() -> Result<std::vector<TimingRow>> {
        const std::vector<plan::Region> variants =
            candidate_choices(problem, affordable(problem, options), options.seed);
        STITCH_TRY(Measured measured, measure(problem, variants, {}));
        const std::vector<Timed>& timed = measured.timed;
        failed = std::move(measured.trouble);
        std::vector<TimingRow> made;
        for (size_t i = 0; i < variants.size(); ++i)
          if (timed[i].kind != Timed::Kind::unknown)
            made.push_back({problem.context().gpu.name, problem.task->name, problem.now().name, problem.key,
                            choice_text(variants[i]), timed[i], problem.task->set});
        return made;
      });
      const std::lock_guard lock(mutex);
      ++done;
      if (options.on_progress)
        options.on_progress(problem.task->name + " " + problem.now().name, done,
                            static_cast<int>(problems.size()));
      if (!rows) {
        // Nothing ever worked: neither will the rest.
        if (out.problems == 0 && std::ssize(out.troubles) >= options.jobs) trouble = rows.error();
        out.troubles.push_back(
            format("{} {}: {}", problem.task->name, problem.now().name, rows.error().message));
        continue;
      }
      ++out.problems;
      if (!failed.empty())
        out.troubles.push_back(format("{} {}: {}", problem.task->name, problem.now().name, failed));
      for (const TimingRow& row : *rows) {
        timings.add(row);
        ++(row.timed.kind == Timed::Kind::timed ? out.timed : out.failed);
        out.by_events += row.timed.by_events ? 1 : 0;
      }
      if (auto written = append(options.file, *rows); !written) trouble = written.error();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (trouble) return *trouble;
  return out;
}

namespace {

Json json_of(const TimingRow& row) {
  Json out = {
      {"gpu", row.gpu}, {"task", row.task}, {"region", row.region}, {"key", row.key}, {"choice", row.choice}};
  if (row.timed.kind == Timed::Kind::timed)
    out["seconds"] = row.timed.seconds;
  else
    out["failed"] = true;
  if (row.timed.by_events) out["clock"] = "events";
  if (!row.set.empty()) out["set"] = row.set;
  return out;
}

Result<TimingRow> timing_in(std::string_view line) {
  STITCH_TRY(const Json json, parse_json(line));
  if (!json.is_object()) return user_error("timings", "not a timing");
  TimingRow out{.gpu = word(json, "gpu"),
                .task = word(json, "task"),
                .region = word(json, "region"),
                .key = word(json, "key"),
                .choice = word(json, "choice"),
                .timed = {},
                .set = word(json, "set")};
  if (out.key.empty() || out.choice.empty()) return user_error("timings", "key and choice are missing");
  if (json.contains("seconds")) {
    if (!json["seconds"].is_number() || !(json["seconds"].get<double>() > 0))
      return user_error("timings", "seconds must be a positive number");
    out.timed = {Timed::Kind::timed, json["seconds"].get<double>(), word(json, "clock") == "events"};
  } else {
    out.timed.kind = Timed::Kind::failed;
  }
  return out;
}

}  // namespace

Result<Timings> Timings::read(const fs::path& file) {
  Timings out;
  if (!fs::exists(file)) return out;
  STITCH_TRY(const std::string text, read_file(file));
  const std::vector<std::string> lines = split(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    auto row = timing_in(lines[i]);
    if (row) {
      out.add(*row);
    } else if (i + 1 < lines.size()) {
      return at(format("{}:{}", file.string(), i + 1), std::move(row).error());
    }
  }
  return out;
}

void Timings::add(const TimingRow& row) {
  tasks_.insert(row.task);
  size_ += by_key_[row.key].insert_or_assign(row.choice, row.timed).second;
}

const std::map<std::string, Timed>* Timings::of(const std::string& key) const {
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

Result<void> append(const fs::path& file, const std::vector<TimingRow>& rows) {
  std::string text;
  for (const TimingRow& row : rows) text += line_text(json_of(row)) + "\n";
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text;
  out.close();
  if (!out) return at(file.string(), work_error("file", "cannot write"));
  return {};
}

Timed MeasuredTimes::of(const RegionProblem& problem, const plan::Region& chosen) {
  const auto* all = timings_.of(problem.key);
  if (!all) return {};
  auto found = all->find(choice_text(chosen));
  return found == all->end() ? Timed{} : found->second;
}

const std::vector<std::string>* MeasuredTimes::known(const RegionProblem& problem) {
  auto [place, fresh] = known_.try_emplace(problem.key);
  if (fresh)
    if (const auto* all = timings_.of(problem.key))
      for (const auto& [choice, timed] : *all)
        if (timed.kind == Timed::Kind::timed) place->second.push_back(choice);  // a map: sorted
  return &place->second;
}

}  // namespace stitch::learn
