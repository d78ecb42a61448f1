// written: a region whose CUDA somebody else wrote. The source stands in the plan, so that it is kept, judged
// and shipped like the work of any other technique.
#pragma once

#include "code/program_parts.h"
#include "code/technique.h"

namespace stitch::code {

const Technique& written();

// The function that a source has to define for a region, with shapes beside its parameters: what the region
// reads, its weights, what it writes, scratch memory if there is any, the stream.
std::string required_function(const RegionRequest& request, int64_t workspace_bytes);
// Its name.
std::string required_name(const RegionRequest& request);

// How each parameter lies in memory, a line each: for people and prompts.
std::string describe_places(const RegionRequest& request);

// The plan with a region given to somebody's source; regions of the same structure are given to it too, and
// call the same kernels. An error says why the source can't be one of the region.
Result<plan::Plan> with_source(const plan::Context& context, const plan::Plan& plan,
                               const std::string& region, plan::Source source);

}  // namespace stitch::code
