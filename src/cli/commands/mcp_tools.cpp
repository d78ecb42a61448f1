#include "cli/commands/mcp.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands/doctor.h"
#include "cli/commands/profile.h"
#include "cli/commands/runs.h"
#include "cli/pages/report.h"
#include "graph/text.h"

namespace stitch {

namespace {

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
  const TaskOptions how = serve::task_options_of(workshop, arguments);
  command.model_class = how.model_class;
  command.mode = how.mode;
  command.python = how.python;
  call.progress("profiling");
  STITCH_TRY(Json document, document_of(run_profile, command));
  const std::string uri = call.keep("profile", "profile of " + fs::path(command.target).filename().string(),
                                    serve::dump(document));
  std::string text = profile_text(document, Terminal{}) + "With its timelines: " + uri + "\n";
  document = without_timelines(std::move(document));
  document["profile"] = uri;
  return serve::Answer{std::move(text), std::make_shared<const Json>(std::move(document)), {uri}};
}

}  // namespace

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

}  // namespace stitch
