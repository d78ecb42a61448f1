#include "mutants/campaign.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/contained.h"
#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/machine/file_lock.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "code/limits.h"

namespace stitch::mutants {

namespace {

using Clock = std::chrono::steady_clock;

// Mutants per opened task: opening takes a few seconds, and chunks are distributed to workers.
constexpr size_t chunk_size = 20;

struct Chunk {
  size_t subject = 0;
  size_t begin = 0, end = 0;  // of the subject's sample
};

Json settings_of(const CampaignOptions& options) {
  return {{"seed", format("{:016x}", options.bench.seed)},
          {"device", options.bench.device == runner::Device::cuda ? "cuda" : "emulated"},
          {"class", name(options.bench.numerics)},
          {"gpu", options.bench.gpu.name},
          {"quick", options.bench.quick}};
}

Json record_of(const Subject& subject, const Site& site, const Judged& judged) {
  Json out = {{"program", subject.name()},  {"mutant", site.id},          {"kind", name(site.mutation.kind)},
              {"file", site.file},          {"line", site.mutation.line}, {"before", site.change.before},
              {"after", site.change.after}, {"fate", name(judged.fate)}};
  if (!judged.gate.empty()) out.update({{"gate", judged.gate}, {"code", judged.code}});
  if (!judged.summary.empty()) out["summary"] = judged.summary;
  out["seconds"] = judged.seconds;
  return out;
}

// A folder for a program while its mutants are judged. Messages in compiled code contain its path: paths of
// equal length keep equal code equal.
class Place {
 public:
  static Result<Place> take() {
    for (int number = 0; number < 10'000; ++number) {
      const std::string name = format("{:04}", number);
      STITCH_TRY(std::optional<FileLock> lock, FileLock::if_free("mutants-place-" + name));
      if (!lock) continue;
      Place out(cache_folder() / "mutants" / name, *std::move(lock));
      std::error_code failed;
      fs::remove_all(out.folder_, failed);
      fs::create_directories(out.folder_.parent_path(), failed);
      if (failed) return at(out.folder_.string(), work_error("file", failed.message()));
      return out;
    }
    return work_error(error_code::busy, "ten thousand programs are at work already");
  }
  Place(Place&& other) noexcept : folder_(std::exchange(other.folder_, {})), lock_(std::move(other.lock_)) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  const fs::path& folder() const { return folder_; }

 private:
  Place(fs::path folder, FileLock lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  fs::path folder_;
  FileLock lock_;
};

class Running {
 public:
  explicit Running(const CampaignOptions& options) : options_(options), begin_(Clock::now()) {}

  Result<Campaign> run() {
    std::error_code failed;
    fs::create_directories(options_.out, failed);
    if (failed)
      return at(options_.out.string(),
                work_error("file", format("the folder can't be made: {}", failed.message())));
    STITCH_TRY(
        std::optional<FileLock> alone,
        FileLock::if_free("mutants-" + sha256(fs::absolute(options_.out).lexically_normal().string())));
    if (!alone)
      return at(options_.out.string(),
                user_error(error_code::busy, "somebody else makes mutants in this folder",
                           "wait, or choose another folder with -o"));
    STITCH_CHECK(read_earlier());
    const std::vector<Chunk> chunks = chunks_of_work();
    std::atomic<size_t> next = 0;
    auto take = [&] {
      for (size_t i; (i = next++) < chunks.size() && !over();) {
        auto done = contained([&] { return work_on(chunks[i]); });
        if (!done) leave_out(chunks[i], done.error());
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs; ++i) threads.emplace_back(take);
    take();
    for (std::thread& thread : threads) thread.join();
    out_.stopped = over();
    if (trouble_) return *trouble_;
    return std::move(out_);
  }

 private:
  bool over() {
    if (options_.should_stop && options_.should_stop()) return true;
    const double passed = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::lock_guard lock(mutex_);
    return (options_.seconds > 0 && passed > options_.seconds) ||
           (options_.most > 0 && begun_ >= options_.most) || trouble_;
  }

  Result<void> read_earlier() {
    const fs::path file = options_.out / "results.jsonl";
    std::error_code ec;
    const std::string settings = line_text(settings_of(options_));
    if (!fs::exists(file, ec)) return append(settings_of(options_));
    STITCH_TRY(std::string text, read_file(file));
    const size_t whole = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
    if (whole < text.size()) fs::resize_file(file, whole, ec);  // a partial line of a killed run
    std::vector<std::string> lines = split(std::string_view(text).substr(0, whole), '\n');
    if (whole == 0) return append(settings_of(options_));
    if (lines[0] != settings)
      return at(file.string(), user_error("settings", format("was begun with other settings: {}", lines[0]),
                                          "ask for the same, or choose another folder with -o"));
    for (size_t i = 1; i < lines.size(); ++i) {
      auto json = parse_json(lines[i]);
      if (!json || !json->is_object() || word(*json, "mutant").empty()) continue;
      if (word(*json, "fate") == name(Fate::not_judged)) continue;
      if (known_.emplace(word(*json, "program"), word(*json, "mutant")).second)
        out_.records.push_back(*std::move(json));
    }
    out_.earlier = out_.records.size();
    return {};
  }

  // First the first chunk of every program, then the second: an interrupted run is a fair sample.
  std::vector<Chunk> chunks_of_work() const {
    std::vector<Chunk> out;
    if (!options_.only.empty()) {
      for (size_t i = 0; i < options_.subjects.size(); ++i)
        if (const size_t count = wanted(options_.subjects[i])) out.push_back({i, 0, count});
      return out;
    }
    for (size_t begin = 0; begin < options_.per_program; begin += chunk_size)
      for (size_t i = 0; i < options_.subjects.size(); ++i)
        out.push_back({i, begin, std::min(begin + chunk_size, options_.per_program)});
    return out;
  }

  size_t wanted(const Subject& subject) const {
    return static_cast<size_t>(
        std::ranges::count_if(options_.only, [&](const auto& each) { return each.first == subject.name(); }));
  }

  std::vector<Site> chosen(const Subject& subject, const Sites& sites) const {
    std::vector<Site> out;
    for (const auto* side : {&sites.own, &sites.shared})
      for (const Site& site : *side)
        if (options_.only.contains({subject.name(), site.id})) out.push_back(site);
    return out;
  }

  Result<void> work_on(const Chunk& chunk) {
    const Subject& subject = options_.subjects[chunk.subject];
    {
      std::lock_guard lock(mutex_);
      if (bad_.contains(chunk.subject)) return {};
      size_t known = 0;
      for (const auto& [program, id] : known_) known += program == subject.name();
      if (known >= chunk.end) return {};
    }
    STITCH_TRY(const Place place, Place::take());
    STITCH_TRY(std::unique_ptr<Workbench> bench, Workbench::open(subject, place.folder(), options_.bench));
    const std::vector<Site> sites = options_.only.empty()
                                        ? sample(bench->sites(), chunk.end, options_.bench.seed)
                                        : chosen(subject, bench->sites());
    for (size_t i = chunk.begin; i < std::min(chunk.end, sites.size()); ++i) {
      if (over()) break;
      {
        std::lock_guard lock(mutex_);
        if (!known_.emplace(subject.name(), sites[i].id).second) continue;
        ++begun_;
      }
      STITCH_CHECK(judge(subject, *bench, sites[i]));
    }
    return {};
  }

  Result<void> judge(const Subject& subject, Workbench& bench, const Site& site) {
    STITCH_TRY(Judged judged, bench.judge(site));
    const bool passed = judged.fate == Fate::survived || judged.fate == Fate::same_results;
    Json record = record_of(subject, site, judged);
    if (passed && options_.sanitize_survivors) {
      STITCH_TRY(Judged again, bench.judge_sanitized(site));
      record["sanitizer"] = again.fate == Fate::killed ? again.gate + ": " + again.code : name(again.fate);
    }
    return note(std::move(record));
  }

  Result<void> note(Json record) {
    std::lock_guard lock(mutex_);
    if (auto written = append(record); !written) {
      trouble_ = written.error();
      return written;
    }
    if (options_.on_judged) options_.on_judged(record);
    out_.records.push_back(std::move(record));
    return {};
  }

  Result<void> append(const Json& record) const {
    std::ofstream file(options_.out / "results.jsonl", std::ios::app | std::ios::binary);
    file << line_text(record) + "\n" << std::flush;
    if (!file) return at((options_.out / "results.jsonl").string(), work_error("file", "cannot be written"));
    return {};
  }

  void leave_out(const Chunk& chunk, const Error& error) {
    std::lock_guard lock(mutex_);
    if (!bad_.insert(chunk.subject).second) return;
    out_.left_out.push_back(options_.subjects[chunk.subject].name() + ": " + error.message);
    if (options_.on_notice) options_.on_notice("left out " + out_.left_out.back());
  }

  const CampaignOptions& options_;
  const Clock::time_point begin_;
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> known_;  // program and mutant
  std::set<size_t> bad_;
  size_t begun_ = 0;
  std::optional<Error> trouble_;
  Campaign out_;
};

}  // namespace

Result<std::set<std::pair<std::string, std::string>>> survivors_in(const fs::path& results) {
  STITCH_TRY(std::string text, read_file(results));
  std::set<std::pair<std::string, std::string>> out;
  for (const std::string& line : split(text, '\n')) {
    auto json = parse_json(line);
    if (!json || !json->is_object()) continue;
    const auto fate = fate_named(word(*json, "fate"));
    if (fate == Fate::survived || fate == Fate::same_results)
      out.emplace(word(*json, "program"), word(*json, "mutant"));
  }
  if (out.empty())
    return at(results.string(), user_error("no_survivors", "nothing in there survived",
                                           "give the results.jsonl of an earlier run"));
  return out;
}

Result<Campaign> run_campaign(const CampaignOptions& options) { return Running(options).run(); }

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
