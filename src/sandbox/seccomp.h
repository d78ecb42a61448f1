// System calls that nobody behind the walls needs, refused by a filter in the kernel. Written by hand: a list
// of comparisons is all there is to it.
#pragma once

namespace stitch::sandbox {

enum class Filter {
  dangerous,     // tracing, mounting, loading code into the kernel, sockets: an error for whoever tries
  no_processes,  // also: starting a process kills
  sealed         // also: becoming another program, opening a socket or signalling others
};

// Which may be opened. All: only in a network of its own.
enum class Sockets { none, local, all };

// For all threads of this process, for good. False: the kernel has no filters.
bool install_filter(Filter filter, Sockets sockets);

}  // namespace stitch::sandbox
