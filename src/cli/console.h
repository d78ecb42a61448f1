// A command's output streams, and how each is displayed.
#pragma once

#include <ostream>

#include "base/terminal/terminal.h"

namespace stitch {

struct Console {
  std::ostream& out;  // what was asked for
  std::ostream& err;  // complaints and progress
  Terminal out_terminal;
  Terminal err_terminal;
  bool json = false;  // one JSON document on `out`, and nothing else
};

}  // namespace stitch
