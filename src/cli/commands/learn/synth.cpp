// stitchcuda synth: new tasks, composed from operators and blocks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/learn/train.h"
#include "graph/folder.h"
#include "learn/synthesis/synthesize.h"

namespace stitch {

namespace {

struct SynthCommand {
  int64_t count = 100;
  std::string out;
  uint64_t seed = 1;
  std::string gpu, python;
  std::string benchmark;            // sketches to stay away from; empty: KernelBench's
  std::vector<std::string> sketch;  // graphs to print the sketches of, instead
  double least = 1e-6, most = 2e-2, similar = 0.5;
  bool torch = true;
  bool force = false;
};

// level3/9_ResNet18/graph.txt is called 3/9, any other by its folder.
std::string sketch_name(const fs::path& file) {
  const fs::path folder = file.filename() == graph_file ? file.parent_path() : file;
  const std::string own = folder.filename().string(), level = folder.parent_path().filename().string();
  const std::string number = own.substr(0, own.find('_'));
  if (level.starts_with("level") && parse_integer(number)) return format("{}/{}", level.substr(5), number);
  std::string out = own;
  std::ranges::replace(out, ' ', '_');
  return out;
}

Result<int> print_sketches(const SynthCommand& command, Console& console) {
  std::vector<std::string> files;
  for (const std::string& path : command.sketch) {
    STITCH_TRY(const std::vector<std::string> more, graph_files(path));
    files.insert(files.end(), more.begin(), more.end());
  }
  Json all = Json::array();
  for (const std::string& file : files) {
    STITCH_TRY(const Graph graph, load_graph(file));
    const learn::NamedSketch one{sketch_name(file), learn::sketch_of(graph)};
    if (console.json)
      all.push_back({{"name", one.name},
                     {"hash", learn::canonical_hash(graph)},
                     {"sketch", learn::sketch_line({"", one.sketch}).substr(1)}});
    else
      console.out << learn::sketch_line(one) << '\n';
  }
  if (console.json) console.out << document_text(Json{{"sketches", all}});
  return 0;
}

std::string synthesis_text(const learn::SynthesisReport& report, const Terminal& terminal) {
  Table table({{.header = "rejected by"},
               {.header = "tasks", .align = Column::Align::right},
               {.header = "which are", .least = 20}});
  for (int i = 0; i < learn::filter_count; ++i) {
    const auto filter = static_cast<learn::Filter>(i);
    const auto found = report.rejected.find(filter);
    table.add_row({std::string(name(filter)),
                   std::to_string(found == report.rejected.end() ? 0 : found->second),
                   std::string(why(filter))});
  }
  std::string out = format("{} tasks of {} composed", report.kept, report.tried);
  for (const auto& [split, count] : report.splits) out += format(", {} {}", count, split);
  out += "\n" + table.render(terminal);
  if (!report.in_pytorch) out += "PyTorch was not used: the last two filters were skipped.\n";
  return out;
}

Result<int> run_synth(const SynthCommand& command, Console& console) {
  if (!command.sketch.empty()) return print_sketches(command, console);
  if (command.out.empty()) return user_error("usage", "-o FOLDER is required", "name a folder for the tasks");
  if (command.least >= command.most) return user_error("usage", "--least-time must be below --most-time");
  learn::SynthesisOptions options{.count = command.count, .seed = command.seed};
  STITCH_TRY(options.filters.gpu, choose_gpu(command.gpu));
  options.filters.least_seconds = command.least;
  options.filters.most_seconds = command.most;
  options.filters.most_similar = command.similar;
  std::vector<learn::NamedSketch> benchmark;
  if (!command.benchmark.empty()) {
    STITCH_TRY(const std::string text, read_file(command.benchmark));
    auto read = learn::read_sketches(text);
    if (!read) return within(command.benchmark, std::move(read).error());
    benchmark = *std::move(read);
    options.filters.benchmark = &benchmark;
  }
  STITCH_TRY(OutputFolder folder, OutputFolder::create(command.out, overwrite_if(command.force)));
  std::optional<Exporter> exporter;
  std::string without;  // why there is no PyTorch
  if (command.torch) {
    auto started = Exporter::start(command.python);
    if (started)
      exporter.emplace(*std::move(started));
    else if (!command.python.empty())
      return std::move(started).error();
    else
      without = started.error().message;
  }
  options.filters.exporter = exporter ? &*exporter : nullptr;
  StopPolitely polite;
  options.should_stop = stop_requested;
  Result<learn::SynthesisReport> report = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "composing tasks", command.count);
    int64_t shown = 0;
    options.on_progress = [&](int64_t kept, int64_t tried) {
      progress.detail(format("{} tried", tried));
      progress.advance(kept - shown);
      shown = kept;
    };
    report = learn::synthesize_into(folder.path(), options);
  }
  if (!report) return std::move(report).error();
  STITCH_TRY(const Published published, folder.publish());
  if (console.json) {
    Json document = to_json(*report);
    add_place(document, "folder", published, command.out);
    document["seed"] = command.seed;
    if (!without.empty()) document["no_pytorch"] = without;
    console.out << document_text(document);
  } else {
    console.out << synthesis_text(*report, console.out_terminal) << said_of(published, command.out)
                << format("{}: tasks/, graphs/, tasks.jsonl, report.json\n",
                          printable(place_of(published, command.out)));
  }
  return report->stopped ? 1 : 0;
}

}  // namespace

Run add_synth(CLI::App& app) {
  const auto synth = std::make_shared<SynthCommand>();
  Flags flags(app, "synth", "Compose new tasks from operators and blocks, for training");
  flags("-n,--count", synth->count, "NUMBER", "how many tasks (default: 100)")
      .between(int64_t{1}, int64_t{1'000'000});
  flags("-o,--out", synth->out, "FOLDER", "the output folder: tasks/, graphs/, tasks.jsonl, report.json");
  flags("--seed", synth->seed, "NUMBER", "random seed (default: 1)");
  flags("!--no-torch", synth->torch, "don't check the tasks in PyTorch; the oracle still does");
  flags("--least-time", synth->least, "SECONDS",
        "minimum floor time of a task, in seconds, without the launch (default: 1e-6)")
      .not_negative();
  flags("--most-time", synth->most, "SECONDS", "maximum floor time of a task, in seconds (default: 0.02)")
      .positive();
  flags("--similar", synth->similar, "SHARE", "maximum similarity to a benchmark task, 0 to 1 (default: 0.5)")
      .between(0.0, 1.0);
  flags("--benchmark", synth->benchmark, "FILE",
        "graph sketches of another benchmark (default: KernelBench)");
  flags("--sketch", synth->sketch, "GRAPHS", "print the sketches of these graphs and exit");
  flags.gpu(synth->gpu, "the GPU that floor times are estimated for");
  flags.python(synth->python, "the Python to use for the tasks");
  flags.force(synth->force);
  flags.json();
  flags.examples(
      "stitchcuda synth -n 1000 -o tasks/\n"
      "stitchcuda synth -n 200 -o tasks/ --seed 7 --no-torch\n"
      "stitchcuda synth --sketch my-benchmark/ > sketches.txt\n"
      "stitchcuda synth -n 100 -o tasks/ --benchmark sketches.txt");
  return [synth](Console& console) { return run_synth(*synth, console); };
}

}  // namespace stitch
