#include "cli/commands/learn/train_problems.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/machine/parallel.h"
#include "base/text.h"
#include "graph/folder.h"
#include "learn/draw.h"
#include "learn/synthesis/compose.h"

namespace stitch {

namespace {

using learn::RegionProblem, learn::Split;

struct NamedTask {
  std::string name;
  fs::path file;  // empty: composed
  int64_t number = 0;
  std::string set;  // of evaluation
  Split split = Split::train;
};

Result<void> add_graphs(std::vector<NamedTask>& out, const std::string& path, const std::string& set) {
  STITCH_TRY(const std::vector<std::string> files, graph_files(path));
  for (const fs::path file : files) {
    const std::string name = (file.filename() == graph_file ? file.parent_path() : file).stem().string();
    out.push_back({set.empty() ? name : set + "/" + name, file, 0, set});
  }
  return {};
}

Result<std::vector<NamedTask>> named_tasks(const TrainCommand& command) {
  std::vector<NamedTask> out;
  for (const std::string& path : command.tasks) STITCH_CHECK(add_graphs(out, path, {}));
  for (int i = 0; i < command.synthetic; ++i)
    out.push_back({format("composed {} {}", command.synthetic_seed, i), {}, i, {}});
  if (out.empty()) return user_error("empty", "no tasks", "name folders of graphs, or add --synthetic 200");
  for (NamedTask& each : out)
    each.split = command.fold < 0 ? learn::split_of(each.name) : learn::split_of(each.name, command.fold);
  for (const std::string& each : command.evaluate) {
    const size_t sign = each.find('=');
    if (sign == 0 || sign == each.npos || sign + 1 == each.size())
      return user_error("evaluate", format("'{}' is not of the form NAME=FOLDER", printable(each)),
                        "--evaluate NAME=FOLDER, such as level3=graphs/level3");
    STITCH_CHECK(add_graphs(out, each.substr(sign + 1), each.substr(0, sign)));
  }
  return out;
}

Result<std::shared_ptr<const learn::PlannedTask>> planned(const NamedTask& task, const TrainCommand& command,
                                                          const GpuSpec& gpu, Numerics numerics) {
  Graph graph;
  if (task.file.empty()) {
    STITCH_TRY(learn::Composed composed,
               learn::compose(command.synthetic_seed, task.number, learn::Scale::full));
    graph = std::move(composed.graph);
  } else {
    STITCH_TRY(graph, load_graph(task.file));
  }
  return learn::plan_task(task.name, std::move(graph), gpu, numerics, task.set);
}

}  // namespace

std::vector<RegionProblem> TrainProblems::all() const {
  std::vector<RegionProblem> out;
  auto add = [&](const std::vector<RegionProblem>& some) { out.insert(out.end(), some.begin(), some.end()); };
  for (const auto* some : {&train, &validation, &test}) add(*some);
  for (const auto& [set, some] : evaluation) add(some);
  return out;
}

Result<TrainProblems> read_train_problems(const TrainCommand& command, const GpuSpec& gpu, Numerics numerics,
                                          const learn::Timings* known,
                                          const std::function<void(const std::string&)>& on_task) {
  STITCH_TRY(std::vector<NamedTask> tasks, named_tasks(command));
  if (known) std::erase_if(tasks, [&](const NamedTask& each) { return !known->has_task(each.name); });
  std::vector<std::optional<Result<std::vector<RegionProblem>>>> found(tasks.size());
  std::mutex mutex;
  parallel_for(std::ssize(tasks), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      auto task = planned(tasks[at], command, gpu, numerics);
      found[at] = task ? Result(learn::problems_of(*task)) : std::move(task).error();
      const std::lock_guard lock(mutex);
      if (on_task) on_task(tasks[at].name);
    }
  });
  TrainProblems out;
  std::set<std::string> keys;
  auto add = [&](size_t i, std::vector<RegionProblem>& into) {
    if (!*found[i]) {
      out.left_out.push_back(format("{}: {}", tasks[i].name, found[i]->error().message));
      return;
    }
    ++out.tasks;
    for (RegionProblem& problem : **found[i])
      if (keys.insert(problem.key).second) into.push_back(std::move(problem));
  };
  // A region that is in a training task is in no other split: the same region is the same question.
  for (const auto& [split, into] :
       {std::pair{Split::train, &out.train}, {Split::validation, &out.validation}, {Split::test, &out.test}})
    for (size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].set.empty() && tasks[i].split == split) add(i, *into);
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].set.empty()) add(i, out.evaluation[tasks[i].set]);
  return out;
}

Result<std::vector<std::string>> graph_files(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector{path};
  if (fs::exists(fs::path(path) / graph_file, error))
    return std::vector{(fs::path(path) / graph_file).string()};
  if (!fs::is_directory(path, error))
    return user_error("not_found", format("no such file or folder: {}", printable(path)),
                      "name a graph folder, a graph.txt, or a folder of graph folders");
  std::vector<std::string> out;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error))
    if (it->path().filename() == graph_file) out.push_back(it->path().string());
  std::ranges::sort(out);
  if (out.empty())
    return user_error("not_found", format("no {} in {}", graph_file, printable(path)),
                      "stitchcuda synth and stitchcuda import write them");
  return out;
}

}  // namespace stitch
