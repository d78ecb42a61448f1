// Text as the words that a search compares: cp.async, wgmma, sm_90 and __launch_bounds__ are words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stitch::notes {

// In lower case and without endings (coalesced and coalescing are one word). Names of CUDA come whole and in
// their parts: "cp.async.bulk" also as cp, async and bulk, "cudaGraphLaunch" as cuda, graph and launch.
std::vector<std::string> words_of(std::string_view text);

}  // namespace stitch::notes
