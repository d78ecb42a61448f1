// What all tools share: where they may read and write, and how they understand the arguments that many of
// them take.
#pragma once

#include <memory>
#include <string>

#include "agents/optimize.h"
#include "gpu/gpu_spec.h"
#include "graph/numerics.h"
#include "import/task.h"
#include "notes/note.h"
#include "plan/document/document.h"
#include "prompts/templates.h"
#include "runner/candidate.h"
#include "serve/mcp.h"
#include "serve/roots.h"
#include "serve/schema.h"
#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::serve {

struct Workshop {
  Roots roots;
  std::string python;  // empty: the usual one
  notes::Collection notes;
  std::vector<prompts::Prompt> prompts;
  // Where a run of optimize is written down; null: nowhere.
  std::function<std::optional<agents::Recording>(const agents::OptimizeOptions& options)> recording = nullptr;
};
using Shared = std::shared_ptr<const Workshop>;

// Arguments that several tools have.
Argument model_argument();
Argument numerics_argument();
Argument gpu_argument();
Argument device_argument();
Argument mode_argument();
Argument class_argument();
Argument plan_argument();
Argument overwrite_argument();

// What they mean.
Result<Numerics> numerics_of(const Json& arguments);
Result<GpuSpec> gpu_of(const Json& arguments);  // this machine's unless named, or an H200
Result<runner::Device> device_of(const Json& arguments);
TaskOptions task_options_of(const Workshop& workshop, const Json& arguments);
Result<std::shared_ptr<const Task>> open_model(const Workshop& workshop, const Json& arguments, bool weights,
                                               Call& call);
// The built-in Planner's plan, or the one that was given, checked. `graph` and `gpu` outlive it.
Result<plan::GivenPlan> plan_of(const Workshop& workshop, const Json& arguments, const Graph& graph,
                                const GpuSpec& gpu);
// The document of the argument `plan`, an object or a file; null: there is none.
Result<std::shared_ptr<const Json>> plan_document_of(const Workshop& workshop, const Json& arguments);

// Text of two spaces an indent, broken UTF-8 replaced.
std::string dump(const Json& document);
// "passed", or "failed at build: …": the first words of every answer that judges.
std::string status_text(const verifier::Verdict& verdict);
// A verdict in an answer: status, what the tool `also` says, gates, the failure's evidence, times; the whole
// is kept.
Answer answer_of(const verifier::Verdict& verdict, Call& call, const std::string& also = {});
std::vector<Field> verdict_fields();

// One program before the Verifier, by the arguments that verify and write_region share: model, numerics,
// device, timing, baselines, mode, model_class.

// Of everything but the program. They tell `call`, which outlives them.
Result<verifier::VerifyOptions> verify_options(const Json& arguments, bool quick, Call& call);
Result<verifier::Verdict> judge(const Workshop& workshop, const fs::path& program, const Json& arguments,
                                bool quick, Call& call);

// What the author of a region's source must know.
struct RegionNeeds {
  std::string region;
  std::string function;              // that a source has to define, by name
  std::string signature;             // and whole, with shapes
  std::string places;                // the memory layout of its arguments
  std::string in_pytorch, in_graph;  // what it computes
  std::string rules;                 // what its source may do and declare
  std::string technique;             // that the plan has for it
};

// An error names the regions that there are.
Result<RegionNeeds> needs_of(const plan::GivenPlan& given, const std::string& region);

// The tools; the command line adds its own (cli/commands/mcp.cpp).
Tool import_tool(Shared workshop);
Tool plan_tool(Shared workshop);
Tool code_tool(Shared workshop);
Tool region_tool(Shared workshop);
Tool write_region_tool(Shared workshop);
Tool verify_tool(Shared workshop);
Tool optimize_tool(Shared workshop);
Tool notes_tool(Shared workshop);
Tool prompts_tool(Shared workshop);

// All tools, in the usual order of use.
std::vector<Tool> all_tools(const Shared& workshop);

}  // namespace stitch::serve
