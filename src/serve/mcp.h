// The Model Context Protocol over lines: https://modelcontextprotocol.io. One client, until its input ends.
//
// The thread that reads answers what takes no time, so that a ping or a cancellation gets through while a
// tool runs; tools that take long run one after the other on a second thread: they are measured, and they
// share the machine. A cancelled call gets no answer, as the protocol requires.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "notes/collection.h"
#include "prompts/templates.h"
#include "serve/tool.h"

namespace stitch::serve {

struct McpOptions {
  std::string version;  // of the program
  std::vector<Tool> tools;
  std::shared_ptr<const Json> plan_schema;  // a resource; null: there is none
  notes::Collection notes;                  // resources, too
  std::vector<prompts::Prompt> prompts;
};

// Newest first.
const std::vector<std::string>& protocol_versions();

inline constexpr size_t most_message_bytes = size_t{8} << 20;
// What one answer may hold; more is kept as a resource.
inline constexpr size_t most_text_bytes = size_t{32} << 10, most_structured_bytes = size_t{96} << 10;

// Returns at the end of `in`, with every tool ended. Nothing but messages is written to `out`.
void serve_mcp(const McpOptions& options, int in, int out);

}  // namespace stitch::serve
