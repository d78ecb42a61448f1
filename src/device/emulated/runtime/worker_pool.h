// OS threads that wait for launches.
#pragma once

#include <functional>

namespace stitch_emulated {

// Runs `work` on the calling thread and on `helpers` others; returns when all have ended.
void run_on_pool(unsigned helpers, const std::function<void()>& work);

}  // namespace stitch_emulated
