// stitchcuda skills: rows for reinforcement learning, from synthetic tasks and from runs.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/learn/train.h"
#include "cli/commands/runs.h"
#include "graph/folder.h"
#include "learn/skills/regions.h"
#include "learn/skills/rows.h"
#include "serve/reward/scorer.h"

namespace stitch {

namespace {

struct SkillsCommand {
  std::string action;             // build, stats, check
  std::vector<std::string> what;  // build: folders of synth; the others: the file of rows
  std::string out;                // build
  std::string store;              // of runs; "none": none
  std::string gpu;
  std::vector<std::string> benchmark;  // check: graphs, sketches or rows; empty: KernelBench
  double similar = 0.5;
  bool runs = false;    // build: rows of the run store, too
  std::string prompts;  // regions: a folder of other prompts
  double most_flops = 1e7;
  bool force = false;
};

Result<int> build_rows(const SkillsCommand& command, Console& console) {
  if (command.out.empty())
    return user_error("usage", "-o FILE is required", "name the file of rows to write");
  STITCH_TRY(const GpuSpec gpu, choose_gpu(command.gpu));
  STITCH_CHECK(check_output_file(command.out, overwrite_if(command.force)));
  std::vector<learn::SkillRow> rows;
  for (const std::string& folder : command.what) {
    if (!fs::exists(fs::path(folder) / "tasks.jsonl"))
      return user_error("not_found", format("no tasks.jsonl in {}", printable(folder)),
                        "name a folder that stitchcuda synth wrote");
    STITCH_TRY(const auto more, learn::rows_of_tasks(folder, gpu));
    rows.insert(rows.end(), more.begin(), more.end());
  }
  if (command.runs) {
    const fs::path store = store_file(command.store);
    if (store.empty() || !fs::exists(store))
      return user_error("not_found", "no database of runs",
                        "run stitchcuda optimize, or name one with --store");
    STITCH_TRY(const store::RunStore opened, store::RunStore::open(store, store::RunStore::Access::read));
    STITCH_TRY(const auto more, learn::rows_of_runs(opened));
    rows.insert(rows.end(), more.begin(), more.end());
  }
  if (rows.empty())
    return user_error("empty", "no input for rows",
                      "name folders that stitchcuda synth wrote, or add --runs");
  std::string text;
  std::map<std::string, int> skills;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += line_text(to_json(rows[i], static_cast<int64_t>(i))) + "\n";
    ++skills[std::string(name(rows[i].skill))];
  }
  STITCH_CHECK(write_output_file(command.out, text, overwrite_if(command.force)));
  if (console.json) {
    console.out << document_text(Json{{"file", command.out}, {"rows", rows.size()}, {"skills", skills}});
    return 0;
  }
  console.out << format("{}: {} rows", printable(command.out), rows.size());
  for (const auto& [skill, count] : skills) console.out << format(", {} {}", count, skill);
  console.out << '\n';
  return 0;
}

// Judged as `stitchcuda serve --device emulated --quick --no-timing` does.
Result<int> make_region_rows(const SkillsCommand& command, Console& console) {
  if (command.out.empty())
    return user_error("usage", "-o FOLDER is required", "name the folder for rows.jsonl and tasks/");
  learn::RegionRowsOptions options{.out = command.out, .most_flops = command.most_flops};
  STITCH_TRY(options.gpu, choose_gpu(command.gpu));
  options.prompts = prompts::built_in();
  if (!command.prompts.empty()) {
    STITCH_TRY(options.prompts, prompts::with_folder(command.prompts));
  }
  std::vector<fs::path> graphs;
  for (const std::string& folder : command.what) {
    STITCH_TRY(const std::vector<std::string> more, graph_files(folder));
    graphs.insert(graphs.end(), more.begin(), more.end());
  }
  std::error_code ec;
  fs::create_directories(options.out / "tasks", ec);
  if (ec) return at(command.out, user_error("file", ec.message()));
  STITCH_CHECK(learn::write_missing_weights(options.out / "tasks"));
  serve::ScorerOptions scoring{.gpu = options.gpu};
  scoring.judging.device = runner::Device::emulated;
  scoring.judging.baselines.clear();
  scoring.judging.quick = true;
  scoring.judging.timing = false;
  scoring.judging.time_limit = std::chrono::seconds(15);  // what takes longer has lost its way
  serve::VerifyingScorer scorer(scoring);
  options.judge = [&](const fs::path& task, const std::string& name, const std::string& source) {
    return scorer.score({task, name, name}, {.task = name, .code = {.text = source}});
  };
  StopPolitely polite;
  options.should_stop = [] { return stop_requested(); };
  Progress progress(console.err, console.err_terminal, console.json, "regions");
  options.on_region = [&](const std::string& region, int64_t rows) {
    progress.detail(format("{} rows; {}", rows, printable(region)));
  };
  STITCH_TRY(const learn::RegionRowsReport report, learn::rows_of_regions(graphs, options));
  const Json told = {{"rows", report.rows},
                     {"regions", report.regions},
                     {"known", report.known},
                     {"left_out", report.left_out},
                     {"without_an_answer", report.without_answer},
                     {"judged", report.judged},
                     {"judged_right", report.judged_right},
                     {"last_refused", report.last_refused}};
  if (console.json)
    console.out << document_text(told);
  else
    for (const auto& [what, count] : told.items())
      console.out << format("{} {}\n", count.is_string() ? count.get<std::string>() : count.dump(), what);
  return 0;
}

Result<int> show_stats(const SkillsCommand& command, Console& console) {
  STITCH_TRY(const std::vector<Json> rows, learn::read_rows(command.what[0]));
  struct Sum {
    int rows = 0, answered = 0;
    double reward = 0, prompt = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const Json& row : rows) {
    const Json& extra = row["extra_info"];
    Sum& sum = sums[{word(extra, "skill"), word(extra, "split")}];
    ++sum.rows;
    sum.answered += !word(row, "completion").empty();
    sum.reward += extra["reward"].get<double>();
    sum.prompt += static_cast<double>(word(row["prompt"][0], "content").size());
  }
  Json all = Json::array();
  Table table({{.header = "skill"},
               {.header = "split"},
               {.header = "rows", .align = Column::Align::right},
               {.header = "with an answer", .align = Column::Align::right},
               {.header = "mean reward", .align = Column::Align::right},
               {.header = "prompt", .align = Column::Align::right}});
  for (const auto& [key, sum] : sums) {
    const double mean = sum.reward / sum.rows, prompt = sum.prompt / sum.rows;
    all.push_back({{"skill", key.first},
                   {"split", key.second},
                   {"rows", sum.rows},
                   {"answered", sum.answered},
                   {"mean_reward", mean},
                   {"mean_prompt_characters", prompt}});
    table.add_row({printable(key.first), printable(key.second), std::to_string(sum.rows),
                   std::to_string(sum.answered), format("{:.3f}", mean),
                   format("{:.0f} characters", prompt)});
  }
  if (console.json)
    console.out << document_text(Json{{"rows", rows.size()}, {"parts", all}});
  else
    console.out << table.render(console.out_terminal);
  return 0;
}

Result<learn::KnownGraph> known_of(std::string name, std::string hash, const std::string& sketch) {
  learn::KnownGraph out{std::move(name), std::move(hash), {}};
  STITCH_TRY(const auto read, learn::read_sketches("x " + sketch));
  if (!read.empty()) out.sketch = read[0].sketch;
  return out;
}

// Rows of skills, sketches, or graphs.
Result<std::vector<learn::KnownGraph>> graphs_in(const std::string& path) {
  std::vector<learn::KnownGraph> out;
  if (fs::path(path).extension() == ".jsonl") {
    STITCH_TRY(const std::vector<Json> rows, learn::read_rows(path));
    for (const Json& row : rows) {
      const Json& extra = row["extra_info"];
      STITCH_TRY(auto known,
                 known_of(word(extra, "task_id"), word(extra, "graph_hash"), word(extra, "sketch")));
      out.push_back(std::move(known));
    }
    return out;
  }
  std::error_code ignored;
  if (fs::path(path).extension() == ".txt" && fs::path(path).filename() != graph_file &&
      fs::is_regular_file(path, ignored)) {
    STITCH_TRY(const std::string text, read_file(path));
    auto read = learn::read_sketches(text);
    if (!read) return within(path, std::move(read).error());
    for (learn::NamedSketch& one : *read) out.push_back({one.name, {}, std::move(one.sketch)});
    return out;
  }
  STITCH_TRY(const std::vector<std::string> files, graph_files(path));
  for (const std::string& file : files) {
    STITCH_TRY(const Graph graph, load_graph(file));
    out.push_back({graph.name, learn::canonical_hash(graph), learn::sketch_of(graph)});
  }
  return out;
}

Result<int> check_leakage(const SkillsCommand& command, Console& console) {
  STITCH_TRY(const auto training, graphs_in(command.what[0]));
  std::vector<learn::KnownGraph> benchmark;
  for (const std::string& path : command.benchmark) {
    STITCH_TRY(auto more, graphs_in(path));
    benchmark.insert(benchmark.end(), more.begin(), more.end());
  }
  if (command.benchmark.empty())
    for (const learn::NamedSketch& one : learn::kernelbench_sketches())
      benchmark.push_back({"KernelBench " + one.name, {}, one.sketch});
  const std::vector<learn::Leak> found = learn::leaks(training, benchmark, command.similar);
  const auto unknown =
      std::ranges::count_if(training, [](const auto& one) { return one.sketch.empty() && one.hash.empty(); });
  if (console.json) {
    Json leaks = Json::array();
    for (const learn::Leak& leak : found)
      leaks.push_back(
          {{"training", leak.training}, {"benchmark", leak.benchmark}, {"similarity", leak.similarity}});
    console.out << document_text(Json{{"training", training.size()},
                                      {"benchmark", benchmark.size()},
                                      {"without_a_graph", unknown},
                                      {"leaks", leaks}});
    return found.empty() ? 0 : 1;
  }
  for (const learn::Leak& leak : found)
    console.out << format("{} is {:.2f} like {}\n", printable(leak.training), leak.similarity,
                          printable(leak.benchmark));
  console.out << format("{} of {} training graphs compared with {} benchmark graphs: {} leak{}\n",
                        training.size() - static_cast<size_t>(unknown), training.size(), benchmark.size(),
                        found.size(), found.size() == 1 ? "" : "s");
  return found.empty() ? 0 : 1;
}

Result<int> run_skills(const SkillsCommand& command, Console& console) {
  if (command.action == "build") return build_rows(command, console);
  if (command.action == "regions") return make_region_rows(command, console);
  if (command.action != "stats" && command.action != "check")
    return user_error("usage", format("unknown action '{}'", printable(command.action)),
                      "one of: build, regions, stats, check");
  if (command.what.size() != 1)
    return user_error("usage", format("skills {} takes one file of rows", command.action),
                      "name a file that skills build wrote");
  return command.action == "stats" ? show_stats(command, console) : check_leakage(command, console);
}

}  // namespace

Run add_skills(CLI::App& app) {
  const auto skills = std::make_shared<SkillsCommand>();
  Flags flags(app, "skills", "Build, count or check rows for reinforcement learning (TRL, verl and others)");
  flags("ACTION", skills->action, "build, regions, stats or check").required();
  flags("WHAT", skills->what,
        "build: folders that synth wrote; regions: graphs; stats and check: a file of rows");
  flags("-o,--out", skills->out, "PATH",
        "build: the JSONL file to write; regions: the folder for rows.jsonl and tasks/");
  flags("--runs", skills->runs, "build: also rows from recorded runs (skill from feedback)");
  flags("--benchmark", skills->benchmark, "PATH",
        "check: the benchmark that must not leak: graphs, sketches (.txt) or rows (.jsonl) (default: "
        "KernelBench)");
  flags("--similar", skills->similar, "SHARE",
        "check: maximum similarity to a benchmark task, 0 to 1 (default: 0.5)")
      .between(0.0, 1.0);
  flags("--prompts", skills->prompts, "FOLDER", "regions: a folder of your own prompts");
  flags("--most-flops", skills->most_flops, "NUMBER",
        "regions: leave out larger ones, which the emulated GPU takes long for (default: 1e7)");
  flags.gpu(skills->gpu, "the GPU that prompts describe");
  flags.store(skills->store);
  flags.force(skills->force);
  flags.json();
  flags.examples(
      "stitchcuda skills build tasks/ --runs -o skills.jsonl\n"
      "stitchcuda skills regions tasks/graphs --prompts prompts/compact -o rows/\n"
      "stitchcuda skills stats skills.jsonl\n"
      "stitchcuda skills check skills.jsonl\n"
      "stitchcuda skills check skills.jsonl --benchmark my-benchmark/");
  return [skills](Console& console) { return run_skills(*skills, console); };
}

}  // namespace stitch
