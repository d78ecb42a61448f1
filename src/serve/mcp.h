// The Model Context Protocol over lines: https://modelcontextprotocol.io. One client, until its input ends.
//
// The thread that reads answers what takes no time, so that a ping or a cancellation gets through while a
// tool runs; tools that take long run one after the other on a second thread: they are measured, and they
// share the machine. A cancelled call gets no answer, as the protocol requires.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "notes/note.h"
#include "prompts/templates.h"

namespace stitch::serve {

// What a client may ask for: a name, a schema of arguments, what is done. Tools know no protocol.

// What a tool may do while it runs.
class Call {
 public:
  virtual ~Call() = default;
  virtual void progress(std::string_view text) = 0;
  // The client gave it up: return soon, whatever with.
  virtual bool stopped() const = 0;
  // A document too large for an answer, or worth reading again: kept under a URI of this kind.
  virtual std::string keep(std::string_view kind, std::string_view title, std::string text) = 0;
};

struct Answer {
  std::string text;                        // for people and models
  std::shared_ptr<const Json> structured;  // the same for programs: an object
  std::vector<std::string> resources;      // URIs of what was kept
};

struct Tool {
  std::string name, title, description;
  std::shared_ptr<const Json> schema;  // of the arguments: schema.h
  bool quick = false;                  // answers at once, beside whatever runs
  bool writes_files = false;
  bool runs_code = false;              // a model's Python, or a candidate
  std::shared_ptr<const Json> output;  // of the structured answer: schema.h; null: not described
  std::function<Result<Answer>(const Json& arguments, Call& call)> run;
};

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
