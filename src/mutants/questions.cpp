#include "mutants/questions.h"

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "code/limits.h"

namespace stitch::mutants {

namespace {

constexpr std::array<const char*, 5> counted_keys = {"mutants", "told_apart", "by_direction", "not_asked",
                                                     "within_budget"};
using Counted = std::array<int64_t, counted_keys.size()>;

// Of every mutant of a graph of some hundred nodes; a verdict allows itself a twentieth.
constexpr double work = 2e10;

Result<Json> ask(const fs::path& task, const BenchOptions& options) {
  verifier::VerifyOptions verify;
  verify.numerics = options.numerics;
  verify.device = options.device;
  verify.seed = options.seed;
  STITCH_TRY(auto opened, verifier::open_task_to_judge(
                              task, {.python = options.python, .limits = code::limits_on(options.gpu)}));
  STITCH_TRY(auto verifier, verifier::Verifier::open(std::move(opened), verify));
  return verifier->adequacy(verify, work);
}

std::string share(int64_t told, int64_t of) {
  return of ? format("{:.1f} %", 100.0 * static_cast<double>(told) / static_cast<double>(of)) : "";
}

}  // namespace

Json questions_about(const fs::path& task, const BenchOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const fs::path named = task.stem() == "task" || task.stem() == "graph" ? task.parent_path() : task;
  Json record = {{"task", named.stem().string()}};
  if (auto evidence = contained([&] { return ask(task, options); }))
    record.update(*evidence);
  else
    record["error"] = evidence.error().message;
  record["whole_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return record;
}

std::string questions_text(const std::vector<Json>& records, const Terminal& terminal) {
  constexpr auto right = Column::Align::right;
  Table table({{"task"},
               {"mutants", right},
               {"told apart", right},
               {"by direction", right},
               {"not asked", right},
               {"within the budget", right},
               {"of asked", right}});
  Counted sums = {};
  auto add_row = [&](const std::string& title, const Counted& counts) {
    std::vector<Cell> cells = {title};
    for (int64_t count : counts) cells.emplace_back(format("{}", count));
    cells.emplace_back(share(counts[1], counts[0] - counts[3]));
    table.add_row(std::move(cells));
  };
  std::string unproven;
  for (const Json& record : records) {
    if (record.contains("error")) {
      unproven += printable(format("{}: {}", word(record, "task"), word(record, "error"))) + '\n';
      continue;
    }
    Counted counts = {};
    for (size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i] = record[counted_keys[i]].get<int64_t>();
    add_row(word(record, "task"), counts);
    for (const Json& one : record["unproven"])
      unproven += printable(format("{}: {} {}: {}", word(record, "task"), word(one, "where"),
                                   word(one, "what"), word(one, "why"))) +
                  '\n';
  }
  table.add_rule();
  add_row(format("{} tasks", records.size()), sums);
  return table.render(terminal) + '\n' + unproven;
}

}  // namespace stitch::mutants
