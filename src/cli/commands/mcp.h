// stitchcuda mcp: the tools for coding agents, over the Model Context Protocol on stdin and stdout.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "serve/mcp.h"

namespace stitch {

struct McpCommand {
  std::vector<std::string> roots;
  std::string python;
  std::string notes, prompts;  // folders; empty: the built-in ones alone
};

// All tools: those of serve/, and show and doctor, whose work stands here.
Result<serve::McpOptions> mcp_options(const McpCommand& command);

}  // namespace stitch
