#include "cli/commands/mcp.h"

#include "cli/commands/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/machine/descriptor.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/commands/runs.h"
#include "code/catalogue.h"
#include "serve/tools/workshop.h"

namespace stitch {

namespace {

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
    const OptimizeCommand as_command{.model = options.model.string(),
                                     .out = options.out.string(),
                                     .force = options.overwrite == Overwrite::force,
                                     .numerics = std::string(name(options.numerics)),
                                     .device = options.device == runner::Device::cuda ? "cuda" : "emulated",
                                     .gpu = options.gpu.name,
                                     .model_class = options.task.model_class,
                                     .mode = options.task.mode,
                                     .python = options.task.python,
                                     .budget = static_cast<int>(options.budget.count()),
                                     .deadline = static_cast<int>(options.deadline.count()),
                                     .no_timing = !options.timing,
                                     .quick = options.quick,
                                     .no_tune = !options.tune};
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
