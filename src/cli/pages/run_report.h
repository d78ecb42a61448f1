// stitchcuda runs diff: two runs beside each other, and how their programs differ.
#pragma once

#include <map>
#include <string>

#include "agents/record/run_history.h"
#include "base/json.h"
#include "base/terminal/line_diff.h"
#include "cli/console.h"
#include "store/run_store.h"

namespace stitch {

// What was said to the language models of a run and what they answered: in a terminal, as JSON, as Markdown.

struct Said {
  std::string role;  // system, user, assistant, tool
  std::string text;
  std::string reasoning = {};
  std::vector<std::pair<std::string, std::string>> calls = {};  // of tools: name, arguments
  bool failed = false;                                          // of a tool: its call failed
};

struct Exchange {
  std::string agent, model;
  std::vector<Said> said;         // what is new since this agent's exchange before; the answer is last
  int64_t input = 0, output = 0;  // tokens
  bool estimated = false;         // the server didn't count them
  double seconds = 0;
  std::string finish;
  std::string error;  // empty: there is an answer
};

// In order. A line that is no exchange (another version's) is an error.
Result<std::vector<Exchange>> conversation_of(const store::RunStore& store, const agents::PastRun& run);

enum class Detail : uint8_t { figures, messages };
// Who was asked, and what it took; with every message if asked for.
Json to_json(const std::vector<Exchange>& all, Detail detail);
std::string conversation_table(const std::vector<Exchange>& all, const Terminal& terminal);
std::string conversation_markdown(const std::vector<Exchange>& all);

Result<int> diff_runs(const store::RunStore& store, const store::Run& a, const store::Run& b,
                      Console& console);

using Sources = std::map<std::string, std::string>;  // texts by path
// Files that differ, each with its lines.
std::map<std::string, std::vector<DiffLine>> diff_sources(const Sources& before, const Sources& after);
// [{"path": …, "lines": ["+added", "-removed", " same", "@7 lines left out"]}]
Json diff_json(const Sources& before, const Sources& after);

}  // namespace stitch
