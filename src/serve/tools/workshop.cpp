#include "serve/tools/workshop.h"

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "gpu/gpu_detect.h"
#include "plan/steps.h"

namespace stitch::serve {

Argument model_argument() {
  return {"model", Kind::text,
          "a .py file with Model, get_inputs() and get_init_inputs(), a graph folder or a graph.txt", true};
}
Argument numerics_argument() {
  return {
      .name = "numerics",
      .description =
          "numerics class: how far from float64 results may be (default: default, PyTorch's own settings)",
      .values = {"strict", "default", "tf32", "half"}};
}
Argument gpu_argument() {
  return {"gpu", Kind::text, "the GPU to plan for, such as H200 (default: this machine's, else H200)"};
}
Argument device_argument() {
  return {.name = "device",
          .description = "where programs run (default: auto, cuda if there is a GPU)",
          .values = {"auto", "cuda", "emulated"}};
}
Argument mode_argument() {
  return {.name = "mode",
          .description = "train or eval, instead of the mode in which the constructor leaves the model",
          .values = {"as-written", "train", "eval"}};
}
Argument class_argument() {
  return {"model_class", Kind::text, "the class in the .py file (default: Model)"};
}
Argument plan_argument() {
  return {"plan", Kind::object, "a plan document (schema: stitchcuda://schema/plan)"};
}
Argument overwrite_argument() {
  return {"overwrite", Kind::flag,
          "overwrite existing output; files that stitchcuda did not write are kept (default: false)"};
}

Result<Numerics> numerics_of(const Json& arguments) {
  return parse_numerics(text(arguments, "numerics", "default"));
}

Result<GpuSpec> gpu_of(const Json& arguments) { return choose_gpu(text(arguments, "gpu")); }

Result<runner::Device> device_of(const Json& arguments) {
  const std::string name = text(arguments, "device", "auto");
  if (name == "emulated") return runner::Device::emulated;
  auto driver = detect_gpus();
  if (driver && !driver->gpus.empty()) return runner::Device::cuda;
  if (name == "auto") return runner::Device::emulated;
  return user_error(error_code::no_gpu, "no usable GPU on this machine", "set 'device' to emulated");
}

TaskOptions task_options_of(const Workshop& workshop, const Json& arguments) {
  return {.model_class = text(arguments, "model_class"),
          .mode = parse_mode(text(arguments, "mode", "as-written")).value_or(Mode::as_written),
          .python = workshop.python};
}

Result<std::shared_ptr<const Task>> open_model(const Workshop& workshop, const Json& arguments, bool weights,
                                               Call& call) {
  STITCH_TRY(const fs::path model, workshop.roots.resolve("model", text(arguments, "model")));
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  TaskOptions options = task_options_of(workshop, arguments);
  options.limits = code::limits_on(gpu);
  options.weights = weights || !Task::is_python(model);
  call.progress("importing");
  return open_task(model, options, [&](std::string_view what) { call.progress(what); });
}

Result<std::shared_ptr<const Json>> plan_document_of(const Workshop& workshop, const Json& arguments) {
  if (arguments.contains("plan")) return std::make_shared<const Json>(arguments["plan"]);
  const std::string file = text(arguments, "plan_file");
  if (file.empty()) return std::shared_ptr<const Json>();
  STITCH_TRY(const fs::path path, workshop.roots.resolve("plan_file", file));
  std::error_code ec;
  if (fs::file_size(path, ec) > plan::most_plan_bytes && !ec)
    return at(file, user_error("plan", "too large for a plan"));
  STITCH_TRY(const std::string content, read_file(path));
  auto document = parse_json(content);
  if (!document) return at(file, std::move(document).error());
  return std::make_shared<const Json>(*std::move(document));
}

Result<plan::GivenPlan> plan_of(const Workshop& workshop, const Json& arguments, const Graph& graph,
                                const GpuSpec& gpu) {
  STITCH_TRY(const Numerics numerics, numerics_of(arguments));
  STITCH_TRY(const auto document, plan_document_of(workshop, arguments));
  if (document) return plan::read_given_plan(*document, graph, gpu, code::catalogue(), numerics);
  plan::Context context(graph, gpu, numerics);
  STITCH_TRY(plan::Plan plan, plan::make_plan(context, code::catalogue()));
  return plan::GivenPlan{std::move(context), std::move(plan)};
}

std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string status_text(const verifier::Verdict& verdict) {
  const verifier::GateReport* failure = verdict.failure();
  return failure ? format("failed at {}: {}", failure->gate, failure->summary) : "passed";
}

std::vector<Field> verdict_fields() {
  return {{"status", Kind::text, "passed, or failed at which gate and why"},
          {"passed", Kind::flag, "whether no gate failed"},
          {"verdict", Kind::text, "URI of the whole verdict, with all evidence"},
          {"gates", Kind::list, "each gate's outcome (passed, failed, skipped), summary and seconds"},
          {"notes", Kind::list, "remarks on the verdict"},
          {"device", Kind::text, "cuda or emulated"},
          {"class", Kind::text, "the numerics class"},
          {"trust", Kind::text, "how the candidate was isolated"},
          {"failure", Kind::object, "of a failed one: gate, code, summary, evidence"},
          {"timing", Kind::object, "on a GPU: seconds of the program and of the baselines"}};
}

Answer answer_of(const verifier::Verdict& verdict, Call& call, const std::string& also) {
  const Json whole = to_json(verdict);
  const std::string uri =
      call.keep("verdict", verdict.passed() ? "verdict: passed" : "verdict: failed", dump(whole));
  Json gates = Json::array();
  for (const verifier::GateReport& gate : verdict.gates)
    gates.push_back({{"gate", gate.gate},
                     {"outcome", name(gate.outcome)},
                     {"summary", gate.summary},
                     {"seconds", gate.seconds}});
  const std::string status = status_text(verdict);
  Json structured = {{"status", status},
                     {"passed", verdict.passed()},
                     {"verdict", uri},
                     {"gates", std::move(gates)},
                     {"notes", verdict.notes}};
  if (verdict.header)
    for (const char* key : {"device", "class", "trust"})
      if (verdict.header->contains(key)) structured[key] = (*verdict.header)[key];
  if (const verifier::GateReport* failure = verdict.failure()) {
    constexpr size_t most_evidence = 16 << 10;
    Json said = {{"gate", failure->gate}, {"code", failure->code}, {"summary", failure->summary}};
    if (failure->evidence && dump(*failure->evidence).size() <= most_evidence)
      said["evidence"] = *failure->evidence;
    structured["failure"] = std::move(said);
  }
  if (verdict.timing) structured["timing"] = *verdict.timing;
  std::string text = status + "\n" + also + "\n" + table(verdict, Terminal{});
  if (const verifier::GateReport* failure = verdict.failure(); failure && failure->evidence) {
    const std::string details = word(*failure->evidence, "details");
    if (!details.empty()) text += "\n" + details + "\n";
  }
  text += "All evidence: " + uri + "\n";
  return {std::move(text), std::make_shared<const Json>(std::move(structured)), {uri}};
}

std::vector<Tool> all_tools(const Shared& workshop) {
  return {import_tool(workshop),   plan_tool(workshop),         code_tool(workshop),
          region_tool(workshop),   write_region_tool(workshop), verify_tool(workshop),
          optimize_tool(workshop), notes_tool(workshop),        prompts_tool(workshop)};
}

}  // namespace stitch::serve
