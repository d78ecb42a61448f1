#include "cli/commands/mcp.h"

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/machine/descriptor.h"
#include "cli/commands/commands.h"
#include "cli/commands/doctor.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/commands/profile.h"
#include "cli/commands/runs.h"
#include "cli/pages/report.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "serve/tools/workshop.h"

namespace stitch {

namespace {

// Tools whose work stands in this room.

// A command's JSON document, as --json would print it.
template <class Run, class Command>
Result<Json> document_of(Run run, const Command& command) {
  std::ostringstream out, err;
  Console console{out, err, {}, {}, true};
  STITCH_CHECK(run(command, console));
  return parse_json(out.str());
}

// Timelines are for a page; what they come to is enough here.
Json without_timelines(Json document) {
  constexpr size_t most_bytes = 12 << 10;
  for (Json& side : document["sides"]) {
    std::vector<std::string> long_ones;
    for (const auto& [key, value] : side.items())
      if (key != "regions" && key != "diagnosis" && line_text(value).size() > most_bytes)
        long_ones.push_back(key);
    for (const std::string& key : long_ones) side.erase(key);
  }
  return document;
}

Result<serve::Answer> run_profile_tool(const serve::Workshop& workshop, const Json& arguments,
                                       serve::Call& call) {
  ProfileCommand command;
  auto resolved = [&](const char* name) -> Result<std::string> {
    const std::string path = serve::text(arguments, name);
    if (path.empty()) return path;
    STITCH_TRY(const fs::path whole, workshop.roots.resolve(name, path));
    return whole.string();
  };
  STITCH_TRY(command.target, resolved("program"));
  STITCH_TRY(command.task, resolved("model"));
  if (command.target.empty()) command.target = std::exchange(command.task, {});
  if (command.target.empty()) return user_error("arguments", "neither 'program' nor 'model' is given");
  command.device = serve::text(arguments, "device", "auto");
  command.gpu = serve::text(arguments, "gpu");
  command.baseline = serve::text(arguments, "baseline", "eager");
  command.numerics = serve::text(arguments, "numerics", "default");
  command.counters = serve::flag(arguments, "counters");
  command.task_options = serve::task_options_of(workshop, arguments);
  call.progress("profiling");
  STITCH_TRY(Json document, document_of(run_profile, command));
  const std::string uri = call.keep("profile", "profile of " + fs::path(command.target).filename().string(),
                                    serve::dump(document));
  std::string text = profile_text(document, Terminal{}) + "With its timelines: " + uri + "\n";
  document = without_timelines(std::move(document));
  document["profile"] = uri;
  return serve::Answer{std::move(text), std::make_shared<const Json>(std::move(document)), {uri}};
}

serve::Tool show_tool(serve::Shared workshop) {
  return {.name = "show",
          .title = "Analyse a model",
          .description =
              "A model's graph, FLOPs, bytes and peak memory, its heaviest ops, and the theoretical limit on"
              " a GPU: what no program can beat.",
          .schema = serve::schema_of({serve::model_argument(), serve::gpu_argument(), serve::mode_argument(),
                                      serve::class_argument()}),
          .runs_code = true,
          .output = serve::output_schema(
              {{"name", serve::Kind::text, "of the graph"},
               {"source", serve::Kind::text, "as given"},
               {"inputs", serve::Kind::list, "name and type of each"},
               {"outputs", serve::Kind::list, "name and type of each"},
               {"updates", serve::Kind::integer, "buffers that a pass changes"},
               {"totals", serve::Kind::object, "nodes, parameters, FLOPs, bytes, peak memory"},
               {"gpu", serve::Kind::object, "its name and rates"},
               {"floor", serve::Kind::object, "seconds that no program can beat, and why"},
               {"ops", serve::Kind::list, "by kind"},
               {"nodes", serve::Kind::list, "each with its cost"},
               {"graph", serve::Kind::text, "URI of the graph as text"}}),
          .run = [workshop](const Json& arguments, serve::Call& call) -> Result<serve::Answer> {
            STITCH_TRY(const GpuSpec gpu, serve::gpu_of(arguments));
            STITCH_TRY(const auto task, serve::open_model(*workshop, arguments, false, call));
            const Report report = make_report(task->graph, serve::text(arguments, "model"), gpu);
            const std::string uri = call.keep("graph", task->graph.name, print_graph(task->graph));
            Json structured = report_json(report);
            structured["graph"] = uri;
            return serve::Answer{report_text(report, Terminal{}, false) + "\nThe graph: " + uri + "\n",
                                 std::make_shared<const Json>(std::move(structured)),
                                 {uri}};
          }};
}

serve::Tool doctor_tool() {
  return {.name = "doctor",
          .title = "Examine this machine",
          .description =
              "GPU, driver, CUDA toolkit, libraries, Python and PyTorch, compilers, sandbox: what is there, "
              "what is missing and what that costs.",
          .schema = serve::schema_of({}),
          .output = serve::output_schema(
              {{"ready", serve::Kind::flag, "whether nothing that is needed is missing"},
               {"device", serve::Kind::text, "cuda or emulated"},
               {"checks", serve::Kind::list,
                "group, name, state, what was found, what its absence costs, how to fix it"}}),
          .run = [](const Json&, serve::Call& call) -> Result<serve::Answer> {
            call.progress("examining the machine");
            const std::vector<Check> checks = examine_machine();
            return serve::Answer{
                doctor_text(checks, Terminal{}), std::make_shared<const Json>(doctor_json(checks)), {}};
          }};
}

serve::Tool profile_tool(serve::Shared workshop) {
  return {
      .name = "profile",
      .title = "Profile a program or a model",
      .description =
          "One call of a program, of PyTorch's model, or of both: kernels, copies, launches and gaps, each "
          "region's share, and the one bottleneck with a suggestion. On the emulated GPU: counted accesses "
          "and estimates.",
      .schema = serve::schema_of(
          {{"program", serve::Kind::text, "a program folder or a .cu file (default: only PyTorch's model)"},
           {"model", serve::Kind::text,
            "a .py file, graph folder or graph.txt; beside 'program': its model, for PyTorch's side "
            "and the regions' work"},
           {.name = "baseline",
            .description = "PyTorch's side (default: eager)",
            .values = {"none", "eager", "eager-graph", "compile", "compile-graph"}},
           {.name = "counters",
            .kind = serve::Kind::flag,
            .description = "hardware counters of the hottest kernels (default: false)"},
           serve::device_argument(),
           serve::gpu_argument(),
           serve::numerics_argument(),
           serve::mode_argument(),
           serve::class_argument()}),
      .runs_code = true,
      .output =
          serve::output_schema({{"model", serve::Kind::text, "as given"},
                                {"program", serve::Kind::text, "as given"},
                                {"device", serve::Kind::text, "cuda or emulated"},
                                {"gpu", serve::Kind::text, "its name"},
                                {"sides", serve::Kind::list,
                                 "the program's call and PyTorch's: seconds, kernels, regions, diagnosis"},
                                {"notes", serve::Kind::list, "remarks"},
                                {"profile", serve::Kind::text, "URI of the whole, with timelines"}}),
      .run = [workshop](const Json& arguments, serve::Call& call) {
        return run_profile_tool(*workshop, arguments, call);
      }};
}

serve::Tool runs_tool() {
  return {.name = "runs",
          .title = "Earlier runs",
          .description =
              "What earlier runs of optimize did on this machine: all of them, the attempts of one, or how "
              "two differ.",
          .schema = serve::schema_of({{.name = "action",
                                       .description = "list, show or diff (default: list)",
                                       .values = {"list", "show", "diff"}},
                                      {.name = "runs",
                                       .kind = serve::Kind::texts,
                                       .description = "the run to show, or the two to compare, by their ids"},
                                      {.name = "most",
                                       .kind = serve::Kind::integer,
                                       .description = "how many runs to list (default: 30)",
                                       .least = 1,
                                       .most = 1000}}),
          .output = serve::output_schema(
              {{"store", serve::Kind::text, "of list: the database"},
               {"count", serve::Kind::integer, "of list: all runs"},
               {"runs", serve::Kind::list, "of list: each with task, state, attempts, seconds a call"},
               {"run", serve::Kind::text, "of show: its id"},
               {"steps", serve::Kind::list, "of show: attempts and ledger of each"}}),
          .run = [](const Json& arguments, serve::Call&) -> Result<serve::Answer> {
            const RunsCommand command{.action = serve::text(arguments, "action", "list"),
                                      .runs = serve::texts(arguments, "runs"),
                                      .most = static_cast<int>(serve::integer(arguments, "most", 30))};
            STITCH_TRY(const Json document, document_of(run_runs, command));
            return serve::Answer{serve::dump(document), std::make_shared<const Json>(document), {}};
          }};
}

// What was stdin and stdout, for the protocol alone: children and stray prints get /dev/null and stderr
// instead.
struct Channel {
  Descriptor in, out;
};
Result<Channel> take_stdio() {
  Channel channel{Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
                  Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3))};
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (channel.in.get() < 0 || channel.out.get() < 0 || nothing.get() < 0 ||
      ::dup2(nothing.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return work_error("stdio", "stdin and stdout can't be used for the protocol",
                      "start it from an MCP client");
  return channel;
}

Result<int> run_mcp(const McpCommand& command, Console& console) {
  STITCH_TRY(const serve::McpOptions options, mcp_options(command));
  if (::isatty(STDIN_FILENO))
    console.err << "stitchcuda speaks the Model Context Protocol here: one JSON message per line. A coding "
                   "agent should start it (docs/mcp.md). Ctrl-D ends it.\n";
  console.out.flush();
  STITCH_TRY(const Channel channel, take_stdio());
  serve::serve_mcp(options, channel.in.get(), channel.out.get());
  return 0;
}

}  // namespace

Result<serve::McpOptions> mcp_options(const McpCommand& command) {
  STITCH_TRY(serve::Roots roots, serve::Roots::create(command.roots));
  notes::Collection notes = notes::built_in();
  if (!command.notes.empty()) {
    STITCH_TRY(notes, notes::with_folder(command.notes));
  }
  std::vector<prompts::Prompt> prompts = prompts::built_in();
  if (!command.prompts.empty()) {
    STITCH_TRY(prompts, prompts::with_folder(command.prompts));
  }
  // As `optimize` of the command line would be recorded, so that `runs` shows and resumes it.
  auto recording = [](const agents::OptimizeOptions& options) -> std::optional<agents::Recording> {
    const fs::path store = store_file({});
    if (store.empty() || options.plan) return std::nullopt;
    OptimizeCommand as_command{.model = options.model.string(),
                               .out = options.out.string(),
                               .force = options.overwrite == Overwrite::force,
                               .gpu = options.gpu.name,
                               .task_options = options.task,
                               .budget = static_cast<int>(options.budget.count()),
                               .deadline = static_cast<int>(options.deadline.count()),
                               .no_tune = !options.tune};
    as_command.numerics = name(options.numerics);
    as_command.device = options.device == runner::Device::cuda ? "cuda" : "emulated";
    as_command.no_timing = !options.timing;
    as_command.quick = options.quick;
    return agents::Recording{.store = store, .options = record_of(as_command), .version = STITCH_VERSION};
  };
  const auto workshop = std::make_shared<const serve::Workshop>(
      serve::Workshop{std::move(roots), command.python, notes, prompts, recording});
  std::vector<serve::Tool> tools = serve::all_tools(workshop);
  tools.insert(tools.begin() + 1, show_tool(workshop));
  for (const serve::Tool& tool : {profile_tool(workshop), runs_tool(), doctor_tool()}) tools.push_back(tool);
  return serve::McpOptions{.version = STITCH_VERSION,
                           .tools = std::move(tools),
                           .plan_schema = std::make_shared<const Json>(plan::plan_schema(code::catalogue())),
                           .notes = std::move(notes),
                           .prompts = std::move(prompts)};
}

Run add_mcp(CLI::App& app) {
  const auto mcp = std::make_shared<McpCommand>();
  Flags flags(app, "mcp", "Serve StitchCUDA's tools to coding agents: the Model Context Protocol on stdio");
  flags("--root", mcp->roots, "FOLDER",
        "a folder that tools may read and write, besides the working directory; can be repeated");
  flags.python(mcp->python, "the Python to use for tasks");
  flags("--notes", mcp->notes, "FOLDER", "a folder of additional notes");
  flags("--prompts", mcp->prompts, "FOLDER", "a folder of prompts that replace the built-in ones");
  flags.examples(
      "stitchcuda mcp\n"
      "stitchcuda mcp --root ~/kernels\n"
      "(docs/mcp.md: how to configure a coding agent)");
  return [mcp](Console& console) { return run_mcp(*mcp, console); };
}

}  // namespace stitch
