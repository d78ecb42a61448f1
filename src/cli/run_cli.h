// The command line: flags in, a command run, an exit code out.
//   0  fine
//   1  the work failed
//   2  the user's mistake: an unknown flag, a missing file, a bad input
//   3  our bug
#pragma once

#include <ostream>

namespace stitch {

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace stitch
