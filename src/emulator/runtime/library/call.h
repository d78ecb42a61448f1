// A library call as one stream operation; its memory is checked when it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operation.h"

namespace stitch_emulated {

// Runs it, or adds it to the graph being captured.
cudaError_t submit_call(cudaStream_t stream, LibraryOperation call);

// Runs body(0) … body(count - 1) on the device's threads.
void for_each_part(size_t count, const std::function<void(size_t)>& body);

// Overwrites a workspace, since a real call may write all of it.
void spoil(void* workspace, size_t bytes);

}  // namespace stitch_emulated
