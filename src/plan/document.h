// The plan as a document, both ways: a person, a tuner or an LLM writes the same one as the built-in Planner.
// read_plan(to_json(plan)) is the plan, and to_json of that the same bytes.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "plan/technique.h"

namespace stitch::plan {

Json to_json(const Context& context, const Plan& plan);
// The steps with what they are predicted to gain, then the regions with their estimates.
std::string text(const Context& context, const Plan& plan, const Terminal& terminal);

// What was decided under: read before the plan, since knobs and offers depend on it.
struct Premises {
  Numerics numerics = Numerics::standard;
  ReferenceFacts torch;
};
// Refused, if the document is for another graph or another GPU.
Result<Premises> read_premises(const Json& document, const Graph& graph, const GpuSpec& gpu);
// Checked in full (check_whole). Errors name the region and say how to mend it.
Result<Plan> read_plan(const Json& document, const Context& context, const Catalogue& catalogue);

// Nodes covered once, contracts meet, an order that runs; techniques accept their regions, offer what they
// are asked for, knobs and their values are legal, types can be stored.
Result<void> check_whole(const Context& context, const Plan& plan);

// A document with what it was decided under; `graph` and `gpu` outlive it.
struct GivenPlan {
  Context context;
  Plan plan;
};
// `asked`: the class that the user names. The document's counts; another one than the default is refused.
Result<GivenPlan> read_given_plan(const Json& document, const Graph& graph, const GpuSpec& gpu,
                                  const Catalogue& catalogue, Numerics asked);

// The JSON Schema of the document, made from the catalogue.
Json plan_schema(const Catalogue& catalogue);

// A document of more bytes isn't parsed.
inline constexpr size_t most_plan_bytes = 64 << 20;

}  // namespace stitch::plan
