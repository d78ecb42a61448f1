// Whether kernels may be launched before their predecessors end (runtime/launch.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stitch::code {

// The kernels of a source that don't begin with wait_for_previous_kernel(): their first statements.
struct Waits {
  int kernels = 0;
  std::vector<std::string> without;
};
Waits waits_of(std::string_view source);

// Programmatic launches are made by stitch::launch alone: where a source calls it, all of its kernels must
// wait. Where it can't be read (kernels in macros or behind #if) they are taken not to.
bool launches_wait(std::string_view source);

}  // namespace stitch::code
