// written: a region with user- or LLM-written CUDA. The source is part of the plan, so it is stored, verified
// and shipped like any other technique's code.
#pragma once

#include "code/program_parts.h"
#include "code/technique.h"
#include "program/package.h"

namespace stitch::code {

const Technique& written();

// The function that a source must define for a region, with shapes next to its parameters: reads, weights,
// what the source declares (written_resources.h), writes, scratch memory if any, stream.
std::string required_function(const RegionRequest& request, const plan::Source& source = {});
// Its name.
std::string required_name(const RegionRequest& request);

// What such a function may do, how it reports a failed launch, and what its source may declare: for messages
// and prompts. What libraries and packed weights need is left out where a region has neither.
std::string contract_of_written(const RegionRequest& request);
// A complete source that declares all of it, and the region that it is written for, as a graph.
std::string_view example_of_written();
std::string_view graph_of_example();

// The memory layout of each parameter, one per line: for messages and prompts.
std::string describe_places(const RegionRequest& request);

// The plan with this source for a region and for all regions of the same structure, which call the same
// kernels. An error says why the source doesn't fit the region.
Result<plan::Plan> with_source(const plan::Context& context, const plan::Plan& plan,
                               const std::string& region, plan::Source source);

// The whole pass of a graph as one region, named like the graph: its plan, the function that a source must
// define, and the program with such a source.
Result<plan::Plan> plan_of_whole(const plan::Context& context);
Result<std::string> function_of_whole(const plan::Context& context);
Result<PackageContents> program_of_whole(const plan::Context& context, std::string source);

}  // namespace stitch::code
