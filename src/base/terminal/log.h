// A log of everything that is done, with --log FILE. Without it nothing is written.
#pragma once

#include <functional>
#include <string_view>

namespace stitch {

// From now on `take` gets every line, from any thread, one at a time. An empty one ends it.
void set_log(std::function<void(std::string_view)> take);
bool is_logging();
void log_line(std::string_view line);

}  // namespace stitch
