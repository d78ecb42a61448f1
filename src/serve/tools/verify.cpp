// verify: is a program right, how fast is it, and the evidence.
#include "verify/verify.h"

#include <nlohmann/json.hpp>

#include "code/limits.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

Result<verifier::VerifyOptions> verify_options(const Json& arguments, bool quick, Call& call) {
  verifier::VerifyOptions options;
  STITCH_TRY(options.numerics, numerics_of(arguments));
  STITCH_TRY(options.device, device_of(arguments));
  const bool cuda = options.device == runner::Device::cuda;
  options.baselines = texts(arguments, "baselines");
  if (!arguments.contains("baselines") && cuda) options.baselines = {"eager", "eager-graph"};
  options.quick = quick;
  options.timing = flag(arguments, "timing", true);
  options.on_progress = [&call](std::string_view what) { call.progress(what); };
  options.on_warning = options.on_notice = options.on_progress;
  options.should_stop = [&call] { return call.stopped(); };
  return options;
}

Result<verifier::Verdict> judge(const Workshop& workshop, const fs::path& program, const Json& arguments,
                                bool quick, Call& call) {
  STITCH_TRY(const fs::path task, workshop.roots.resolve("model", text(arguments, "model")));
  STITCH_TRY(verifier::VerifyOptions options, verify_options(arguments, quick, call));
  options.program = program;
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  TaskOptions how = task_options_of(workshop, arguments);
  how.limits = code::limits_of(program, gpu);
  return verifier::verify(task, options, how);
}

Tool verify_tool(Shared workshop) {
  return {.name = "verify",
          .title = "Verify a program",
          .description =
              "Judge a program folder, a .cu file or a KernelBench ModelNew (.py) for a model: screened, "
              "built in a sandbox, checked against float64 on secret inputs and other weights, region by "
              "region, and timed beside PyTorch on a GPU. The verdict has a gate-by-gate report; the first "
              "failing gate says why. 'quick' has fewer inputs and gates: for inner loops.",
          .schema = schema_of(
              {{"program", Kind::text, "a program folder, a .cu file, or a .py file with ModelNew", true},
               model_argument(),
               numerics_argument(),
               device_argument(),
               {"quick", Kind::flag, "fewer checks (default: false)"},
               {"timing", Kind::flag, "time it on a GPU (default: true)"},
               {.name = "baselines",
                .kind = Kind::texts,
                .description = "PyTorch baselines to time beside it (default on a GPU: eager, eager-graph)",
                .values = {"eager", "eager-graph", "compile", "compile-graph"}},
               mode_argument(),
               class_argument()}),
          .runs_code = true,
          .output = output_schema(verdict_fields()),
          .run = [workshop](const Json& arguments, Call& call) -> Result<Answer> {
            STITCH_TRY(const fs::path program,
                       workshop->roots.resolve("program", text(arguments, "program")));
            STITCH_TRY(const verifier::Verdict verdict,
                       judge(*workshop, program, arguments, flag(arguments, "quick"), call));
            return answer_of(verdict, call);
          }};
}

}  // namespace stitch::serve
