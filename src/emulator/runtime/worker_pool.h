// OS threads that run launches.
#pragma once

#include <functional>

namespace stitch_emulated {

// Runs `work` on the calling thread and on `helpers` others; returns when all are done.
void run_on_pool(unsigned helpers, const std::function<void()>& work);

}  // namespace stitch_emulated
