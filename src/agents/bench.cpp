#include "agents/bench.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/machine/parallel.h"
#include "base/text.h"

namespace stitch::agents {

namespace {

constexpr size_t most_kernels = 8;
// One write per line: a killed process leaves whole lines, or an incomplete one that readers ignore.
Result<void> append_line(const fs::path& file, const Json& record) {
  const std::string line = line_text(record) + '\n';
  int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  bool written =
      descriptor >= 0 && ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  int failure = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written)
    return at(file.string(), work_error("write", format("cannot write: {}", std::strerror(failure))));
  return {};
}

Json heaviest_kernels(const Json& answer) {
  Json kernels = Json::array();
  for (const Json& gate : answer.at("verdict").value("gates", Json::array()))
    if (word(gate, "gate") == "profile" && gate.contains("evidence"))
      kernels = gate["evidence"].value("kernels", Json::array());
  std::stable_sort(kernels.begin(), kernels.end(), [](const Json& a, const Json& b) {
    return a.value("nanoseconds", int64_t{0}) > b.value("nanoseconds", int64_t{0});
  });
  while (kernels.size() > most_kernels) kernels.erase(kernels.size() - 1);
  return kernels;
}

// What each model's tries at regions came to, by author: steps, those that were kept, how often each outcome,
// and how much faster the program was for it.
Json by_models(const Json& steps) {
  Json out = Json::object();
  for (const Json& step : steps) {
    std::string author;
    for (const Json& each : step.value("tree", Json::array())) {
      if (!word(each, "author").starts_with("llm:")) continue;
      author = word(each, "author");
      Json& count = out[author]["outcomes"][word(each, "outcome")];
      count = (count.is_null() ? 0 : count.get<int>()) + 1;
    }
    if (author.empty()) continue;
    Json& model = out[author];
    const bool kept = step.value("kept", false);
    const double before = step.value("before_seconds", 0.0), after = step.value("after_seconds", 0.0);
    model["steps"] = model.value("steps", 0) + 1;
    model["kept"] = model.value("kept", 0) + (kept ? 1 : 0);
    model["gain"] = model.value("gain", 1.0) * (kept && before > 0 && after > 0 ? before / after : 1.0);
  }
  return out;
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options), file_(options.out / "tasks.jsonl") {}

  Result<BenchRun> run() {
    std::error_code failed;
    fs::create_directories(options_.out / "programs", failed);
    if (failed)
      return at(options_.out.string(),
                work_error("write", format("cannot create the folder: {}", failed.message())));
    find_earlier();
    if (options_.before_all && !todo_.empty()) {
      std::vector<BenchTask> todo;
      for (size_t index : todo_) todo.push_back(options_.tasks[index]);
      options_.before_all(todo);
    }
    work_on(todo_, options_.jobs);
    // Alone, with all cores.
    if (!stopped_ && !put_off_.empty()) work_on(std::exchange(put_off_, {}), 1);
    if (trouble_) return *trouble_;
    run_.stopped = stopped_;
    return std::move(run_);
  }

 private:
  void work_on(const std::vector<size_t>& todo, int jobs) {
    jobs_ = std::clamp(jobs, 1, static_cast<int>(std::max<size_t>(todo.size(), 1)));
    std::atomic<size_t> next = 0;
    std::atomic<int> finished = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < jobs_; ++i)
      threads.emplace_back([&] {
        for (size_t at; (at = next++) < todo.size() && !stopped_;) work(todo[at]);
        ++finished;
      });
    while (finished < jobs_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (!stopped_ && options_.should_stop && options_.should_stop()) stop();
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::string key_of(const BenchTask& task) const {
    Sha256 sum;
    auto source = read_file(task.path);
    sum.add_field(source ? *source : "");
    sum.add_field(task.name);
    sum.add_field(options_.identity);
    for (const std::string& flag : options_.flags) sum.add_field(flag);
    return sum.hex();
  }

  void find_earlier() {
    BenchRecords earlier = read_records(file_);
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      keys_.push_back(key_of(options_.tasks[i]));
      auto found = earlier.find(keys_.back());
      run_.records.push_back(found == earlier.end() ? nullptr : found->second);
      if (found == earlier.end())
        todo_.push_back(i);
      else
        ++run_.earlier;
    }
  }

  void work(size_t index) {
    const BenchTask& task = options_.tasks[index];
    if (options_.on_start) {
      std::lock_guard hold(lock_);
      options_.on_start(task);
    }
    Json record = options_.optimise ? options_.optimise(task) : optimise(task);
    std::lock_guard hold(lock_);
    if (options_.on_end) options_.on_end(task);
    if (record.is_null()) stopped_ = true;
    if (stopped_) return;
    if (jobs_ > 1 && may_do_better_alone(record)) {
      put_off_.push_back(index);
      return;
    }
    record["key"] = keys_[index];
    if (auto written = append_line(file_, record); !written && !trouble_) trouble_ = written.error();
    run_.records[index] = std::make_shared<const Json>(record);
    if (options_.on_done) options_.on_done(task, record);
  }

  Json optimise(const BenchTask& task) {
    const fs::path program = options_.out / "programs" / task.name;
    std::error_code ignored;
    fs::create_directories(program.parent_path(), ignored);
    const Command command =
        optimize_command(task.path, program, flags_of(task, options_), options_.seconds_a_task, jobs_);
    auto child = Child::start(command);
    if (!child) return record_of(task, to_json(child.error()));
    child->close_input();
    {
      std::lock_guard hold(lock_);
      running_.insert(&*child);
      if (stopped_) child->stop();
    }
    std::string text;
    while (auto line = child->read_line()) text += *line + '\n';
    {
      std::lock_guard hold(lock_);
      running_.erase(&*child);
    }
    Finished finished = child->wait();
    (void)write_file(program.string() + ".json", text);
    return record_of(task, {std::move(text), finished.exit_code, finished.timed_out, finished.error_tail},
                     options_.seconds_a_task);
  }

  void stop() {
    std::lock_guard hold(lock_);
    stopped_ = true;
    for (const Child* child : running_) child->stop();
  }

  const BenchOptions& options_;
  const fs::path file_;
  std::vector<std::string> keys_;
  std::vector<size_t> todo_, put_off_;
  int jobs_ = 1;  // at a time, now
  std::atomic<bool> stopped_ = false;
  std::mutex lock_;
  std::set<const Child*> running_;
  std::optional<Error> trouble_;
  BenchRun run_;
};

}  // namespace

Json record_of(const BenchTask& task, const Json& answer) {
  Json record = {{"task", task.name}, {"group", task.group}, {"passed", false}};
  if (answer.contains("error")) {
    record.update(
        Json{{"code", word(answer["error"], "code")}, {"reason", word(answer["error"], "message")}});
    return record;
  }
  const Json& verdict = answer.at("verdict");
  record["passed"] = word(verdict, "verdict") == "passed";
  if (!record["passed"].get<bool>())
    record.update(Json{{"code", word(verdict, "gate") + ": " + word(verdict, "code")},
                       {"reason", word(verdict, "reason")}});
  record["numerics"] = word(verdict, "class");
  record["device"] = word(verdict, "device");
  if (answer.contains("warnings")) record["warnings"] = answer["warnings"];
  for (const char* key : {"honesty", "honesty_why"})
    if (answer.contains(key)) record[key] = answer[key];
  record["reference"] = verdict.value("reference", Json::object());
  record["times"] = word(answer.at("ledger"), "times");
  for (const char* key : {"seconds_a_call", "floor_seconds", "seconds", "first_seconds", "own_seconds"})
    record[key] = answer.value(key, 0.0);
  record["baselines"] = Json::object();
  if (verdict.contains("timing")) {
    const Json& timing = verdict["timing"];
    const double by_events = timing.value("program", Json::object()).value("event_seconds", 0.0);
    if (by_events > 0) record["event_seconds_a_call"] = by_events;
    for (const Json& side : timing.value("baselines", Json::array()))
      if (side.contains("seconds")) record["baselines"][word(side, "side")] = side["seconds"];
  }
  Json steps = Json::array();
  for (const Json& step : answer["ledger"].value("steps", Json::array())) {
    steps.push_back({{"step", word(step, "step")}, {"kept", step.value("kept", false)}});
    if (step.contains("reason") && !step.value("kept", false)) steps.back()["reason"] = step["reason"];
  }
  record["steps"] = std::move(steps);
  if (Json models = by_models(answer["ledger"].value("steps", Json::array())); !models.empty())
    record["models"] = std::move(models);
  if (answer.contains("llm")) record["llm"] = answer["llm"].value("total", Json::object());
  record["kernels"] = heaviest_kernels(answer);
  if (answer.contains("cost")) record["cost"] = answer["cost"];
  if (answer.contains("time")) record["time"] = answer["time"];
  record["predicted_seconds"] = answer.value("predicted_seconds", 0.0);
  record["gates"] = Json::object();  // seconds
  for (const Json& gate : verdict.value("gates", Json::array())) {
    record["gates"][word(gate, "gate")] = gate.value("seconds", 0.0);
    const Json evidence = gate.value("evidence", Json::object());
    if (evidence.is_object() && evidence.contains("memory")) record["memory"] = evidence["memory"];
  }
  return record;
}

std::vector<std::string> flags_of(const BenchTask& task, const BenchOptions& options) {
  std::vector<std::string> out = options.flags;
  if (task.pytorch_seconds > 0)
    out.insert(out.end(), {"--pytorch-seconds", format("{:.4g}", task.pytorch_seconds)});
  return out;
}

Json record_of(const BenchTask& task, const OptimizeEnd& end, int seconds_a_task) {
  auto answer = parse_json(end.output);
  if (answer && answer->is_object()) return record_of(task, *answer);
  const std::string why = end.timed_out ? format("still running after {} s", seconds_a_task)
                                        : format("it ended with exit code {}", end.exit_code);
  const std::string last = split(trim(end.error_tail), '\n').back();
  return record_of(task, to_json(work_error(end.timed_out ? error_code::hung : error_code::crashed,
                                            last.empty() ? why : why + ": " + last)));
}

Command optimize_command(const fs::path& task, const fs::path& program, const std::vector<std::string>& flags,
                         int seconds, int jobs) {
  // Cores for each: twice its share, since a task needs none for half of its time.
  const int cores = std::max(1, 2 * core_count() / std::max(jobs, 1));
  const std::string threads = std::to_string(cores);
  // A pool of compilers for torch.compile imports PyTorch again: not for two.
  const std::string compilers = cores > 2 ? threads : "1";
  Command out{{(executable_folder() / "stitchcuda").string(), "optimize", task.string(), "-o",
               program.string(), "--json", "--force"},
              // Every flag that counts is on its command line, and in the record's key.
              {{"STITCHCUDA_THREADS", threads},
               {"OMP_NUM_THREADS", threads},
               {"OPENBLAS_NUM_THREADS", threads},
               {"TORCHINDUCTOR_COMPILE_THREADS", compilers},
               {"STITCHCUDA_NO_SETTINGS", "1"}},
              std::chrono::seconds(seconds)};
  out.words.insert(out.words.end(), flags.begin(), flags.end());
  return out;
}

bool may_do_better_alone(const Json& record) {
  const std::string code = word(record, "code"), reason = word(record, "reason");
  auto says = [&](const char* what) { return reason.find(what) != std::string::npos; };
  return code == error_code::hung || code == error_code::crashed || says("out of memory") ||
         says("too busy to time");
}

BenchRecords read_records(const fs::path& file) {
  BenchRecords out;
  auto text = read_file(file);
  if (!text) return out;
  for (const std::string& line : split(*text, '\n')) {
    auto json = parse_json(line);
    if (!json || !json->is_object()) continue;
    const std::string key = word(*json, "key");
    if (!key.empty()) out[key] = std::make_shared<const Json>(*std::move(json));
  }
  return out;
}

std::vector<std::shared_ptr<const Json>> records_of_others(const fs::path& file,
                                                           const std::vector<BenchTask>& tasks) {
  std::vector<std::shared_ptr<const Json>> out;
  std::map<std::string, size_t> place;  // in `out`, by the task's name
  auto text = read_file(file);
  if (!text) return out;
  for (const std::string& line : split(*text, '\n')) {
    auto json = parse_json(line);
    if (!json || !json->is_object() || word(*json, "key").empty() || !json->contains("passed")) continue;
    const std::string name = word(*json, "task");
    if (name.empty() || std::ranges::find(tasks, name, &BenchTask::name) != tasks.end()) continue;
    auto record = std::make_shared<const Json>(*std::move(json));
    if (auto [at, fresh] = place.emplace(name, out.size()); !fresh)
      out[at->second] = std::move(record);
    else
      out.push_back(std::move(record));
  }
  return out;
}

Result<BenchRun> run_bench(const BenchOptions& options) { return Bench(options).run(); }

}  // namespace stitch::agents
