// Where a command speaks: its output, its complaints, and how each is shown.
#pragma once

#include <ostream>

#include "base/terminal.h"

namespace stitch {

struct Console {
  std::ostream& out;  // what was asked for
  std::ostream& err;  // complaints and progress
  Terminal out_terminal;
  Terminal err_terminal;
  bool json = false;  // one JSON document on `out`, and nothing else
};

}  // namespace stitch
