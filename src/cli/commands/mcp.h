// stitchcuda mcp: the tools for coding agents, over the Model Context Protocol on stdin and stdout.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "serve/mcp.h"
#include "serve/tools/workshop.h"

namespace stitch {

struct McpCommand {
  std::vector<std::string> roots;
  std::string python;
  std::string notes, prompts;  // folders; empty: the built-in ones alone
};

// All tools: those of serve/, and show and doctor, whose work stands here.
Result<serve::McpOptions> mcp_options(const McpCommand& command);

// The MCP server's tools whose work stands in this room.
serve::Tool show_tool(serve::Shared workshop);
serve::Tool profile_tool(serve::Shared workshop);
serve::Tool runs_tool();
serve::Tool doctor_tool();

}  // namespace stitch
