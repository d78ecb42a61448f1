#include "cli/plan.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/choose_gpu.h"
#include "cli/load_model.h"
#include "cli/page.h"
#include "code/technique.h"
#include "plan/document.h"
#include "plan/steps.h"

namespace stitch {

Result<int> run_plan(const PlanCommand& command, Console& console) {
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  const TaskOptions options{.model_class = command.model_class, .python = command.python, .weights = false};
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.model, options, console));
  const Graph& graph = task->graph;
  STITCH_TRY(plan::Plan plan, plan::make_plan(graph, command.numerics, code::techniques(), gpu));
  if (!command.html.empty()) {
    Report report = make_report(graph, command.model, gpu);
    report.frames.resize(graph.nodes.size());
    for (const plan::Region& region : plan.regions)
      for (int32_t node : region.nodes)
        report.frames[static_cast<size_t>(node)] = format("{} · {}", region.name, region.technique);
    STITCH_CHECK(write_file(command.html, report_page(report)));
  }
  if (console.json)
    console.out << plan::to_json(graph, plan, gpu).dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
  else
    console.out << plan::text(graph, plan, gpu, console.out_terminal);
  return 0;
}

}  // namespace stitch
