#include "cli/code.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/package_task.h"
#include "base/json.h"
#include "cli/choose_gpu.h"
#include "cli/load_model.h"
#include "code/technique.h"
#include "code/write_program.h"
#include "plan/steps.h"

namespace stitch {

Result<int> run_code(const CodeCommand& command, Console& console) {
  const TaskOptions options{.model_class = command.model_class, .python = command.python};
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.model, options, console));
  STITCH_TRY(GpuSpec gpu, choose_gpu(""));
  auto wanted = [&](const plan::StepRule& rule) {
    bool may_round = command.numerics == "half" || command.rounding;
    return !command.plain && (may_round || !rule.rounds) &&
           std::ranges::find(command.without, rule.name) == command.without.end();
  };
  STITCH_TRY(plan::Plan plan,
             plan::plan_of_steps(task->graph, command.numerics, code::techniques(), gpu, wanted));
  STITCH_TRY(PackageContents contents, code::write_program(task->graph, plan));
  STITCH_CHECK(agents::add_task(contents, *task));
  STITCH_CHECK(write_package(command.out, contents));
  if (console.json)
    console.out << Json{{"program", command.out}, {"regions", plan.regions.size()}}.dump(2) << '\n';
  else
    console.out << format("{}: {} regions\n", command.out, plan.regions.size());
  return 0;
}

}  // namespace stitch
