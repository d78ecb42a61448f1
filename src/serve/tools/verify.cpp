// verify: is a program right, how fast is it, and the evidence.
#include <nlohmann/json.hpp>

#include "agents/optimize.h"
#include "base/text.h"
#include "code/limits.h"
#include "serve/tools/workshop.h"
#include "verify/verify.h"

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

// optimize: the whole loop, with its events as progress.

namespace {

class Telling final : public agents::EventSink {
 public:
  explicit Telling(Call& call) : call_(call) {}
  void on(const agents::Event& event) override {
    if (auto text = progress_text(event)) call_.progress(*text);
    if (auto* warning = std::get_if<agents::Warning>(&event)) warnings.emplace_back(warning->text);
  }
  std::vector<std::string> warnings;

 private:
  Call& call_;
};

Answer optimized_answer(const agents::Optimized& optimized, const GpuSpec& gpu, const Telling& told,
                        Call& call) {
  Answer verdict = answer_of(optimized.verdict, call);
  const std::string folder = optimized.published.folder.string();
  Json structured = {{"program", folder},
                     {"gpu", gpu.name},
                     {"measured", optimized.ledger.measured},
                     {"seconds_a_call", optimized.seconds_a_call},
                     {"floor_seconds", optimized.floor},
                     {"seconds", optimized.seconds},
                     {"stopped", optimized.stopped},
                     {"ledger", to_json(optimized.ledger)},
                     {"verdict", *verdict.structured}};
  if (optimized.regions) structured["regions"] = *optimized.regions;
  if (!told.warnings.empty()) structured["warnings"] = told.warnings;
  std::string text = table(optimized.ledger, Terminal{}) + "\n" + verdict.text;
  if (const plan::PyTorchEstimate& pytorch = optimized.ledger.pytorch; pytorch.known())
    text += format("Times are estimates for {}: {} a call, PyTorch {} in a CUDA graph, {} eager.\n", gpu.name,
                   seconds_text(optimized.seconds_a_call), seconds_text(pytorch.eager_graph),
                   seconds_text(pytorch.eager));
  text += "The program: " + folder + "\n";
  return {std::move(text), std::make_shared<const Json>(std::move(structured)), std::move(verdict.resources)};
}

// Who plans, writes and explains. Profiles and keys are the server's: a client names them, and never brings
// one.
Result<void> choose_brains(agents::OptimizeOptions& options, const Json& arguments) {
  options.brains = {text(arguments, "planner", "builtin"), text(arguments, "coder", "builtin"),
                    text(arguments, "verifier", "builtin")};
  STITCH_TRY(options.llm.style, agents::parse_coder_style(text(arguments, "coder_style", "answer")));
  options.llm.regions = static_cast<int>(integer(arguments, "llm_regions", 3));
  if (const int64_t tokens = integer(arguments, "max_tokens", 0); tokens > 0)
    options.llm.budget.tokens = tokens;
  return {};
}

Result<Answer> run_optimize(const Workshop& workshop, const Json& arguments, Call& call) {
  agents::OptimizeOptions options;
  STITCH_TRY(options.model, workshop.roots.resolve("model", text(arguments, "model")));
  STITCH_TRY(options.out, workshop.roots.resolve("out", text(arguments, "out")));
  options.overwrite = flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse;
  STITCH_CHECK(OutputFolder::check(options.out, options.overwrite));
  options.task = task_options_of(workshop, arguments);
  STITCH_TRY(options.numerics, numerics_of(arguments));
  STITCH_TRY(options.device, device_of(arguments));
  STITCH_TRY(options.gpu, gpu_of(arguments));
  STITCH_TRY(options.plan, plan_document_of(workshop, arguments));
  options.plan_source = text(arguments, "plan_file", "plan");
  options.timing = flag(arguments, "timing", true);
  if (options.device == runner::Device::cuda && options.timing)
    options.baselines = {"eager", "eager-graph", "compile", "compile-graph"};
  options.deadline = std::chrono::seconds(integer(arguments, "deadline_seconds", 0));
  options.budget = std::chrono::seconds(integer(arguments, "budget_seconds", 40));
  options.quick = flag(arguments, "quick");
  options.tune = flag(arguments, "tune", true);
  STITCH_CHECK(choose_brains(options, arguments));
  options.should_stop = [&] { return call.stopped(); };
  if (workshop.recording) options.recording = workshop.recording(options);
  Telling told(call);
  options.events = &told;
  STITCH_TRY(const agents::Optimized optimized, agents::optimize(options));
  return optimized_answer(optimized, options.gpu, told, call);
}

Argument brain_argument(const char* role, const char* about) {
  return {.name = role,
          .description = std::string(about) +
                         ": builtin, or llm:PROFILE[/MODEL], a profile of this server (default: builtin)"};
}

}  // namespace

Tool optimize_tool(Shared workshop) {
  return {
      .name = "optimize",
      .title = "Optimize a model",
      .description =
          "Turn a PyTorch model into a verified, faster CUDA program: the best plan first, then what "
          "may be better, while the budget lasts. Takes a minute; progress is reported."
          " Cancelled, the best so far may still be written.",
      .schema = schema_of(
          {model_argument(),
           {"out", Kind::text, "the program's folder", true},
           numerics_argument(),
           device_argument(),
           gpu_argument(),
           {.name = "budget_seconds",
            .kind = Kind::integer,
            .description = "seconds of planning, building and judging; the first program is always finished "
                           "(default: 40)",
            .least = 1,
            .most = 86400},
           {.name = "deadline_seconds",
            .kind = Kind::integer,
            .description = "wall time after which the best program so far is written (default: none)",
            .least = 1,
            .most = 86400},
           plan_argument(),
           {"plan_file", Kind::text, "a file with a plan document"},
           {"quick", Kind::flag, "fewer checks of the result (default: false)"},
           {"timing", Kind::flag, "time on a GPU (default: true)"},
           {"tune", Kind::flag, "tune settings on a GPU at the end (default: true)"},
           brain_argument("planner", "who plans"),
           brain_argument("coder", "who writes"),
           brain_argument("verifier", "who explains failed gates"),
           {.name = "coder_style",
            .description =
                "for an LLM Coder: one request per try, or with tools over several turns (default: answer)",
            .values = {"answer", "agent"}},
           {.name = "llm_regions",
            .kind = Kind::integer,
            .description = "how many regions an LLM Coder writes (default: 3)",
            .least = 1,
            .most = 1000},
           {.name = "max_tokens",
            .kind = Kind::integer,
            .description = "token limit over all models (default: no limit)",
            .least = 1,
            .most = int64_t{1} << 40},
           mode_argument(),
           class_argument(),
           overwrite_argument()}),
      .writes_files = true,
      .runs_code = true,
      .output = output_schema({{"program", Kind::text, "the folder"},
                               {"gpu", Kind::text, "planned for"},
                               {"measured", Kind::flag, "whether times are measured; else estimates"},
                               {"seconds_a_call", Kind::number, "of the program"},
                               {"floor_seconds", Kind::number, "what no program can beat"},
                               {"seconds", Kind::number, "that the run took"},
                               {"stopped", Kind::flag, "whether it was interrupted"},
                               {"ledger", Kind::object, "each step: predicted and measured gain, outcome"},
                               {"verdict", Kind::object, "as verify answers"},
                               {"regions", Kind::list, "of the program"},
                               {"warnings", Kind::list, "what may not be meant"}}),
      .run = [workshop](const Json& arguments, Call& call) {
        return run_optimize(*workshop, arguments, call);
      }};
}

}  // namespace stitch::serve
