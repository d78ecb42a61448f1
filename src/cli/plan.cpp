#include "cli/plan.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/choose_gpu.h"
#include "cli/load_model.h"
#include "cli/model_options.h"
#include "cli/output_place.h"
#include "cli/page.h"
#include "code/catalogue.h"
#include "plan/document.h"
#include "plan/steps.h"

namespace stitch {

Result<int> run_plan(const PlanCommand& command, Console& console) {
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  if (!command.html.empty()) STITCH_CHECK(check_output_file(command.html, overwrite_if(command.force)));
  STITCH_TRY(Loaded loaded,
             load_model(command.model, {command.model_class, command.mode, command.python}, console));
  Warnings warnings(console);
  warnings.say_mode(loaded.task);
  const plan::Context context{loaded.graph, gpu, numerics};
  STITCH_TRY(plan::Plan plan, plan::make_plan(context, code::catalogue()));
  if (!command.html.empty()) {
    Report report = make_report(loaded.graph, loaded.source, gpu);
    report.frames.resize(loaded.graph.nodes.size());
    for (const plan::Region& region : plan.regions)
      for (int32_t node : region.nodes)
        report.frames[static_cast<size_t>(node)] = format("{} · {}", region.name, region.technique->name());
    STITCH_CHECK(write_output_file(command.html, report_page(report), overwrite_if(command.force)));
  }
  if (console.json) {
    Json document = plan::to_json(context, plan);
    warnings.add_to(document);
    console.out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    console.out << plan::text(context, plan, console.out_terminal);
  }
  return 0;
}

}  // namespace stitch
