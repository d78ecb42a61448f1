#include "cli/plan.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/choose_gpu.h"
#include "cli/load_model.h"
#include "cli/output_place.h"
#include "cli/page.h"
#include "code/technique.h"
#include "plan/document.h"
#include "plan/steps.h"

namespace stitch {

Result<int> run_plan(const PlanCommand& command, Console& console) {
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  if (!command.html.empty()) STITCH_CHECK(check_output_file(command.html, overwrite_if(command.force)));
  STITCH_TRY(Loaded loaded, load_model(command.model, {command.model_class, false, command.python}, console));
  STITCH_TRY(plan::Plan plan, plan::make_plan(loaded.graph, command.numerics, code::techniques(), gpu));
  if (!command.html.empty()) {
    Report report = make_report(loaded.graph, loaded.source, gpu);
    report.frames.resize(loaded.graph.nodes.size());
    for (const plan::Region& region : plan.regions)
      for (int32_t node : region.nodes)
        report.frames[static_cast<size_t>(node)] = format("{} · {}", region.name, region.technique);
    STITCH_CHECK(write_output_file(command.html, report_page(report), overwrite_if(command.force)));
  }
  if (console.json)
    console.out << plan::to_json(loaded.graph, plan, gpu).dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
  else
    console.out << plan::text(loaded.graph, plan, gpu, console.out_terminal);
  return 0;
}

}  // namespace stitch
