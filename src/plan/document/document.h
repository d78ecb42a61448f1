// Plans as JSON documents: a person, a tuner or an LLM writes the same format as the built-in Planner.
// read_plan(to_json(plan)) gives the plan back, and to_json of that the same bytes.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/terminal/terminal.h"
#include "graph/graph.h"
#include "plan/technique.h"

namespace stitch::plan {

Json to_json(const Context& context, const Plan& plan);
// The steps with their predicted gains, then the regions with their estimates.
std::string text(const Context& context, const Plan& plan, const Terminal& terminal);

// What the plan was made for: read before the plan, since knobs and offers depend on it.
struct Premises {
  Numerics numerics = Numerics::standard;
  ReferenceFacts torch;
};
// An error if the document is for another graph or another GPU.
Result<Premises> read_premises(const Json& document, const Graph& graph, const GpuSpec& gpu);
// Checked in full (check_whole). Errors name the region and say how to fix it.
Result<Plan> read_plan(const Json& document, const Context& context, const Catalogue& catalogue);

// What a plan document expects of a call: all that is needed to show it, without the graph.
struct PlannedCall {
  struct Region {
    std::string name;
    double start = 0, seconds = 0;
  };
  std::string gpu;
  double seconds = 0;
  std::optional<int64_t>
      folded_elements;  // of a plan for ranges of sizes: what its graphs were imported with
  std::vector<Region> regions;
};
Result<PlannedCall> read_planned_call(const Json& document);

// Checks that every node is covered once, contracts match and the order can run; that techniques accept their
// regions and have the chosen offers; that knobs, their values and storage types are legal.
Result<void> check_whole(const Context& context, const Plan& plan);

// A plan document with its premises; `graph` and `gpu` outlive it. `instances`: of a task for ranges of
// sizes.
struct GivenPlan {
  Context context;
  Plan plan;
};
// `asked`: the class given on the command line. The document's class is used; a different one that isn't the
// default is an error.
Result<GivenPlan> read_given_plan(const Json& document, const Graph& graph, const GpuSpec& gpu,
                                  const Catalogue& catalogue, Numerics asked,
                                  std::shared_ptr<const Instances> instances = {});

// The JSON Schema of the document, made from the catalogue.
Json plan_schema(const Catalogue& catalogue);

// Larger documents are rejected unparsed.
inline constexpr size_t most_plan_bytes = 64 << 20;

// Shared by the writer and the reader of plan documents.
inline constexpr int plan_version = 2;
// A node is named after its first result.
const std::string& node_name(const Graph& graph, int32_t node);
std::string graph_hash(const Graph& graph);

}  // namespace stitch::plan
