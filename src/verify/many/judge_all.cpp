#include "verify/many/judge_all.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/contained.h"
#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/machine/file_lock.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "graph/folder.h"
#include "reference/torch_lender.h"
#include "verify/gates/gates.h"
#include "verify/many/record.h"
#include "verify/many/results.h"
#include "verify/not_judged.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

using Clock = std::chrono::steady_clock;

// Everything that a verdict depends on besides the two files.
std::string settings_text(const ManyOptions& options) {
  const VerifyOptions& verify = options.verify;
  Json json = {{"tool", options.tool},
               {"class", name(verify.numerics)},
               {"device", verify.device == runner::Device::cuda ? "cuda" : "emulated"},
               {"baselines", verify.baselines},
               {"sanitizer", verify.sanitizer},
               {"address_sanitizer", verify.address_sanitizer},
               {"quick", verify.quick},
               {"timing", verify.timing},
               {"kernelbench", verify.kernelbench_compatible},
               {"time_limit", verify.time_limit.count()},
               {"model_class", options.task.model_class},
               {"mode", stitch::name(options.task.mode)}};
  if (verify.device == runner::Device::cuda)
    if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) json["gpu"] = driver->gpus[0].name;
  return line_text(json);
}

class ManyCandidates {
 public:
  ManyCandidates(const std::vector<ListedCandidate>& candidates, const ManyOptions& options)
      : candidates_(candidates),
        options_(options),
        timed_(options.verify.timing && options.verify.device == runner::Device::cuda),
        keys_(candidates.size()),
        hashes_(candidates.size()),
        records_(candidates.size()) {}

  Result<ManyJudged> run() {
    std::error_code failed;
    fs::create_directories(options_.out / "verdicts", failed);
    if (failed)
      return at(options_.out.string(),
                work_error("file", format("the folder can't be made: {}", failed.message())));
    const std::string lock = "verify-all-" + sha256(fs::absolute(options_.out).lexically_normal().string());
    STITCH_TRY(std::optional<FileLock> alone, FileLock::if_free(lock));
    if (!alone)
      return at(options_.out.string(),
                user_error(error_code::busy, "another verify --all is at work in this folder",
                           "wait for it, or choose another folder with -o"));
    STITCH_TRY(ResultsFile results, ResultsFile::open(options_.out / "results.jsonl"));
    results_ = &results;
    STITCH_CHECK(find_earlier());
    if (out_.earlier > 0 && options_.on_earlier) options_.on_earlier(out_.earlier);
    const std::vector<Chunk> chunks = chunks_of_work();
    std::optional<TorchLender> lender;
    if (worth_lending(chunks)) {
      doing("importing PyTorch, once for all");
      if (auto lent = TorchLender::start(options_.task.python)) lender.emplace(*std::move(lent));
    }
    const std::optional<runner::CandidateLender> to_candidates =
        has_python(chunks) ? lend_to_candidates(options_.task.python) : std::nullopt;
    work_on(chunks);
    copy_records();
    if (trouble_) return *trouble_;
    for (auto& record : records_)
      if (record) out_.records.push_back(*record);
    out_.stopped = stopped_;
    return std::move(out_);
  }

 private:
  using Chunk = std::vector<size_t>;  // candidates of one task

  bool has_python(const std::vector<Chunk>& chunks) const {
    return std::ranges::any_of(chunks, [&](const Chunk& chunk) {
      return std::ranges::any_of(chunk,
                                 [&](size_t index) { return candidates_[index].path.extension() == ".py"; });
    });
  }

  // Keys, and verdicts that still hold. Of equal candidates the first is judged, the others are its copies.
  Result<void> find_earlier() {
    const std::string settings = settings_text(options_);
    std::map<fs::path, std::string> task_hashes;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const ListedCandidate& candidate = candidates_[i];
      STITCH_TRY(hashes_[i], hash_of_candidate(candidate.path));
      std::string& task = task_hashes[candidate.task_file];
      if (task.empty()) {
        std::error_code ec;
        const bool folder = fs::is_directory(candidate.task_file, ec);
        STITCH_TRY(task, sha256_of_file(folder ? candidate.task_file / std::string(graph_file)
                                               : candidate.task_file));
      }
      Sha256 sum;
      for (const std::string& part : {hashes_[i], task, candidate.path.extension().string(), settings})
        sum.add_field(part);
      keys_[i] = sum.hex();
      if (const Json* record = results_->find(candidate, keys_[i])) {
        records_[i] = std::make_shared<const Json>(*record);
        ++out_.earlier;
        first_.emplace(keys_[i], i);
      }
    }
    for (size_t i = 0; i < candidates_.size(); ++i) first_.emplace(keys_[i], i);
    return {};
  }

  // A task's candidates stay together; where there are fewer tasks than workers, one is opened more than
  // once.
  std::vector<Chunk> chunks_of_work() const {
    std::map<fs::path, Chunk> by_task;
    size_t todo = 0;
    for (size_t i = 0; i < candidates_.size(); ++i)
      if (!records_[i] && first_.at(keys_[i]) == i) {
        by_task[candidates_[i].task_file].push_back(i);
        ++todo;
      }
    constexpr size_t least = 4;
    const size_t most = timed_ ? todo + 1 : std::max(least, (todo + workers() - 1) / workers());
    std::vector<Chunk> out;
    for (const auto& [task, all] : by_task)
      for (size_t begin = 0; begin < all.size(); begin += most)
        out.emplace_back(all.begin() + static_cast<ptrdiff_t>(begin),
                         all.begin() + static_cast<ptrdiff_t>(std::min(begin + most, all.size())));
    // The longest first, so that the others do not wait for one at the end.
    std::ranges::stable_sort(out, std::ranges::greater(), &Chunk::size);
    return out;
  }

  // One import of PyTorch is no more than a single verification has.
  bool worth_lending(const std::vector<Chunk>& chunks) const {
    size_t candidates = 0;
    for (const Chunk& chunk : chunks)
      if (Task::is_python(candidates_[chunk[0]].task_file)) candidates += chunk.size();
    return candidates > 1;
  }

  size_t workers() const { return timed_ ? 1 : static_cast<size_t>(std::max(options_.jobs, 1)); }

  void work_on(const std::vector<Chunk>& chunks) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < std::min(workers(), chunks.size()); ++i)
      threads.emplace_back([&] {
        for (size_t at; (at = next++) < chunks.size() && !should_stop();) judge(chunks[at]);
      });
    for (std::thread& thread : threads) thread.join();
  }

  bool should_stop() {
    if (options_.should_stop && options_.should_stop()) stopped_ = true;
    return stopped_;
  }

  // Compilers have the machine to themselves and the task's import: before the first clock starts.
  std::vector<std::thread> start_builds(const Chunk& chunk, std::atomic<size_t>& next) {
    std::vector<std::thread> out;
    if (!timed_) return out;
    std::optional<GpuSpec> gpu;
    if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) gpu = spec_of(driver->gpus[0]);
    const size_t builders = std::min(chunk.size(), static_cast<size_t>(std::max(options_.jobs, 1)));
    for (size_t i = 0; i < builders; ++i)
      out.emplace_back([this, &chunk, &next, gpu] {
        for (size_t at; (at = next++) < chunk.size() && !should_stop();) {
          VerifyOptions options = options_.verify;
          options.program = candidates_[chunk[at]].path;
          try {
            build_ahead(options, gpu);
          } catch (const std::exception&) {  // the gate will meet it again
          }
        }
      });
    return out;
  }

  void judge(const Chunk& chunk) {
    VerifyOptions options = options_.verify;
    options.remember_trials = true;
    options.receipt.clear();
    options.should_stop = [this] { return should_stop(); };
    options.seed = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    options.on_warning = [this](std::string_view text) {
      std::lock_guard hold(lock_);
      if (options_.verify.on_warning) options_.verify.on_warning(text);
    };
    std::atomic<size_t> next = 0;
    std::vector<std::thread> builders = start_builds(chunk, next);
    std::unique_ptr<Verifier> verifier;
    std::optional<Error> closed;  // why the task can't be opened
    for (size_t index : chunk) {
      if (should_stop()) break;
      const ListedCandidate& candidate = candidates_[index];
      options.program = candidate.path;
      options.more_to_come = index != chunk.back();
      options.on_progress = [&](std::string_view text) {
        doing(format("{} for {}: {}", candidate.author, candidate.task, text));
      };
      const auto begin = Clock::now();
      if (!verifier && !closed) {
        auto opened = contained([&] { return open(candidate, options); });
        if (opened)
          verifier = *std::move(opened);
        else
          closed = std::move(opened).error();
      }
      for (std::thread& builder : std::exchange(builders, {})) builder.join();
      Json record = record_for(candidate, keys_[index], hashes_[index]);
      if (closed) {
        add_not_judged(record, *closed);
      } else {
        auto verdict = contained([&] { return verifier->judge(options); });
        if (!verdict && verdict.error().code == error_code::stopped) {
          stopped_ = true;
          break;
        }
        if (verdict) {
          take(options.program, *verdict, *verifier, record);
          if (verdict->timing) options.fresh_baselines = false;  // the cache has them from now on
        } else {
          add_not_judged(record, verdict.error());
          // The reference may be gone.
          if (verdict.error().blame == Error::Blame::work) verifier.reset();
        }
      }
      record["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
      keep(index, std::move(record));
    }
    for (std::thread& builder : builders) builder.join();
  }

  Result<std::unique_ptr<Verifier>> open(const ListedCandidate& candidate, const VerifyOptions& options) {
    STITCH_TRY(OpenedTask task, open_task_to_judge(candidate.task_file, options_.task, options.on_progress));
    return Verifier::open(std::move(task), options);
  }

  void take(const fs::path& program, const Verdict& verdict, const Verifier& verifier, Json& record) {
    add_verdict(record, verdict);
    if (options_.describe) record.update(options_.describe(program, verdict, verifier.task().graph));
    const TaskGraph& task = verifier.task();
    if (task.facts && task.facts->is_object())
      for (const Json& module : task.facts->value("modules", Json::array()))
        if (module.is_string())
          if (auto hash = sha256_of_file(task.source.parent_path() / module.get<std::string>()))
            record["modules"][module.get<std::string>()] = *hash;
    const std::string file = format("verdicts/{}.json", word(record, "key").substr(0, 16));
    // The line says what counts.
    if (write_file(options_.out / file, document_text(to_json(verdict)))) record["verdict"] = file;
  }

  void keep(size_t index, Json record) {
    std::lock_guard hold(lock_);
    if (auto kept = results_->append(record); !kept) {
      if (!trouble_) trouble_ = kept.error();
      stopped_ = true;
      return;
    }
    records_[index] = std::make_shared<const Json>(std::move(record));
    if (options_.on_done) options_.on_done(candidates_[index], *records_[index]);
  }

  void copy_records() {
    for (size_t i = 0; i < candidates_.size() && !trouble_; ++i) {
      const size_t first = first_.at(keys_[i]);
      if (records_[i] || !records_[first]) continue;
      const ListedCandidate& same = candidates_[first];
      Json record = *records_[first];
      record.update(record_for(candidates_[i], keys_[i], hashes_[i]));
      record["same_as"] = format("{}/{}/{}", same.author, same.task, same.sample);
      keep(i, std::move(record));
      ++out_.copies;
    }
  }

  void doing(std::string_view text) {
    std::lock_guard hold(lock_);
    if (options_.on_doing) options_.on_doing(text);
  }

  const std::vector<ListedCandidate>& candidates_;
  const ManyOptions& options_;
  const bool timed_;
  std::vector<std::string> keys_, hashes_;
  std::vector<std::shared_ptr<const Json>> records_;
  std::map<std::string, size_t> first_;  // candidate of each key
  ResultsFile* results_ = nullptr;
  std::mutex lock_;
  std::atomic<bool> stopped_ = false;
  std::optional<Error> trouble_;
  ManyJudged out_;
};

}  // namespace

Result<ManyJudged> judge_all(const std::vector<ListedCandidate>& candidates, const ManyOptions& options) {
  return ManyCandidates(candidates, options).run();
}

}  // namespace stitch::verifier
