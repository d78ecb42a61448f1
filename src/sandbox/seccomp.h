// A seccomp filter that refuses system calls no confined program needs. Written by hand: it is a list of
// comparisons.
#pragma once

namespace stitch::sandbox {

enum class Filter {
  dangerous,     // tracing, mounting, kernel modules, sockets: an error
  no_processes,  // also: fork kills
  sealed         // also: exec, sockets and signals to others kill or fail
};

// Which sockets may be opened; all: only in a network namespace.
enum class Sockets { none, local, all };

// For all threads of this process, permanently. False: the kernel has no seccomp.
bool install_filter(Filter filter, Sockets sockets);

}  // namespace stitch::sandbox
