#include "cli/mcp.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "cli/doctor.h"
#include "cli/report.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "serve/tools/tools.h"

namespace stitch {

namespace {

serve::Tool show_tool(serve::Shared workshop) {
  return {.name = "show",
          .title = "What a model costs",
          .description =
              "A model's graph, FLOPs, bytes and peak memory, its heaviest ops, and the theoretical limit on "
              "a GPU: what "
              "no program can beat.",
          .schema = serve::schema_of({serve::model_argument(), serve::gpu_argument(), serve::mode_argument(),
                                      serve::class_argument()}),
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
          .title = "What this machine has",
          .description =
              "GPU, driver, CUDA toolkit, libraries, Python and PyTorch, compilers, sandbox: what is there, "
              "what is "
              "missing and what that costs.",
          .schema = serve::schema_of({}),
          .run = [](const Json&, serve::Call& call) -> Result<serve::Answer> {
            call.progress("looking at the machine");
            const std::vector<Check> checks = examine_machine();
            return serve::Answer{
                doctor_text(checks, Terminal{}), std::make_shared<const Json>(doctor_json(checks)), {}};
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
  const auto workshop = std::make_shared<const serve::Workshop>(
      serve::Workshop{std::move(roots), command.python, notes, prompts});
  std::vector<serve::Tool> tools = serve::all_tools(workshop);
  tools.insert(tools.begin() + 1, show_tool(workshop));
  tools.push_back(doctor_tool());
  return serve::McpOptions{.version = STITCH_VERSION,
                           .tools = std::move(tools),
                           .plan_schema = std::make_shared<const Json>(plan::plan_schema(code::catalogue())),
                           .notes = std::move(notes),
                           .prompts = std::move(prompts)};
}

Result<int> run_mcp(const McpCommand& command, Console& console) {
  STITCH_TRY(const serve::McpOptions options, mcp_options(command));
  if (::isatty(STDIN_FILENO))
    console.err
        << "stitchcuda speaks the Model Context Protocol here: one JSON message a line. It is meant to be "
           "started by a coding agent (docs/mcp.md). Ctrl-D ends it.\n";
  console.out.flush();
  STITCH_TRY(const Channel channel, take_stdio());
  serve::serve_mcp(options, channel.in.get(), channel.out.get());
  return 0;
}

}  // namespace stitch
