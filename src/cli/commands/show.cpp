#include "cli/commands/show.h"

#include "cli/commands/commands.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/pages/page.h"
#include "cli/pages/report.h"
#include "code/limits.h"
#include "graph/text.h"

namespace stitch {

Result<int> run_show(const ShowOptions& options, Console& console) {
  // Before the import, which may take a minute.
  if (!options.html.empty()) STITCH_CHECK(check_output_file(options.html, overwrite_if(options.force)));
  STITCH_TRY(const GpuSpec gpu, choose_gpu(options.gpu));
  TaskOptions how = options.task_options;
  how.limits = code::limits_on(gpu);
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(options.model, how, console));
  return show_graph(task->graph, options.model, options, console, task->facts);
}

Result<int> show_graph(const Graph& graph, const std::string& source, const ShowOptions& options,
                       Console& console, const TaskFacts& task) {
  Warnings warnings(console);
  warnings.say_mode(task);
  if (options.text && options.html.empty() && !console.json) {
    console.out << print_graph(graph);
    return 0;
  }
  STITCH_TRY(GpuSpec gpu, choose_gpu(options.gpu));
  Report report = make_report(graph, source, gpu);
  Json document = report_json(report);
  std::string written;
  if (!options.html.empty()) {
    written = page(View::show, document);
    STITCH_CHECK(write_output_file(options.html, written, overwrite_if(options.force)));
  }
  if (console.json) {
    if (options.text) document["text"] = print_graph(graph);
    if (!options.html.empty()) document["html"] = options.html;
    warnings.add_to(document);
    console.out << document_text(document);
  } else if (!options.html.empty()) {
    console.out << format("{}: {}, {}; open it in any browser\n", options.html,
                          counted(std::ssize(graph.nodes), "node"),
                          bytes_text(static_cast<double>(written.size())));
  } else {
    console.out << report_text(report, console.out_terminal, options.ops);
  }
  return 0;
}

Run add_show(CLI::App& app) {
  const auto show = std::make_shared<ShowOptions>();
  Flags flags(app, "show", "Show a model's graph, its costs and its theoretical limit");
  flags("MODEL", show->model, "a .py file, a graph folder, or a graph.txt").required();
  flags.gpu(show->gpu, "the GPU to estimate for");
  flags("--html", show->html, "FILE", "write an HTML page with the graph");
  flags("--text", show->text, "print the graph itself, in the format of graph.txt");
  flags("--ops", show->ops, "list every node, not only the heaviest");
  flags.task(show->task_options);
  flags.force(show->force);
  flags.json();
  flags.examples(
      "stitchcuda show model.py\n"
      "stitchcuda show graph/ --gpu \"RTX 4090\" --ops\n"
      "stitchcuda show model.py --html model.html");
  return [show](Console& console) { return run_show(*show, console); };
}

}  // namespace stitch
