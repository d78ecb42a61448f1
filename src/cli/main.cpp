#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "base/machine/interrupt.h"
#include "cli/run_cli.h"

namespace {

// A reader that left (`stitchcuda show … | head`) is no failure of ours.
bool reader_left(int descriptor) {
  pollfd entry{descriptor, POLLOUT, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLERR);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  stitch::clean_up_on_interrupts();
  std::ios::sync_with_stdio(false);
  int code = stitch::run_cli(argc, argv, std::cout, std::cerr);
  std::cout.flush();
  if (!std::cout && !reader_left(STDOUT_FILENO)) {
    std::cerr << "error: cannot write the output\nfix: is the disk full?\n";
    return code ? code : 1;
  }
  return code;
}
