// A library call as one operation of a stream: its memory is checked when it runs, not when it is asked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operation.h"

namespace stitch_emulated {

// Now, or in the graph that the stream captures.
cudaError_t submit_call(cudaStream_t stream, LibraryOperation call);

// Runs body(0) … body(count - 1), each once, on the threads of the device.
void for_each_part(size_t count, const std::function<void(size_t)>& body);

// A call may write all of its workspace: what a program kept there is gone.
void spoil(void* workspace, size_t bytes);

}  // namespace stitch_emulated
