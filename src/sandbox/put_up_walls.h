// Confines the calling process: the launcher, which then executes the program, or a fork of a process that
// has imported PyTorch, which is the program already.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "sandbox/confinement.h"
#include "sandbox/sandbox.h"

namespace stitch::sandbox {

// System paths that every program needs, as far as they exist.

std::vector<fs::path> system_folders();            // read-only: /usr, /lib, the loader's files in /etc
std::vector<fs::path> readable_devices(bool gpu);  // /dev/urandom
std::vector<fs::path> writable_devices(bool gpu);  // /dev/null, the GPU's device files

// A seccomp filter that refuses system calls no confined program needs. Written by hand: it is a list of
// comparisons.

enum class Filter {
  dangerous,     // tracing, mounting, kernel modules, sockets: an error
  no_processes,  // also: fork kills
  sealed         // also: exec, sockets and signals to others kill or fail
};

// Which sockets may be opened; all: only in a network namespace.
enum class Sockets { none, local, all };

// For all threads of this process, permanently. False: the kernel has no seccomp.
bool install_filter(Filter filter, Sockets sockets);

// Landlock: restricts the files that this process and its children can open. Raw system calls, since the C
// library has no wrappers.

// Empty on success, otherwise the reason.
std::string restrict_files(const Policy& policy);

// Puts up all walls but bubblewrap, which the launcher is started in. May fork supervisors; returns only in
// the confined process. Empty on success, otherwise what failed; the caller must then exit.
std::string put_up_walls(const Confinement& confinement);

}  // namespace stitch::sandbox
