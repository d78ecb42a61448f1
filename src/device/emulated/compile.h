// A program for the emulated GPU: CUDA sources into a shared library, with the host's C++ compiler.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::emulated {

struct CompileOptions {
  bool asan = false;        // AddressSanitizer: the process that loads the library must have it too
  bool executable = false;  // a program with a main() instead of a library
  bool optimise = true;     // kernels; host code is called once, and compiled more often than that
  std::vector<std::string> extra_flags;
  std::vector<fs::path> include_dirs;
  std::vector<fs::path> objects;  // linked too; with some, there may be no sources
  fs::path read_list;             // written: every file that was read, a path a line; empty: not wanted
  std::string compiler;           // empty: g++, else clang++
  std::chrono::milliseconds time_limit{120'000};
};

// Where our headers and the runtime library are.
struct Installation {
  fs::path headers, runtime;
};
Result<Installation> find_installation();

// Rewrites the sources, and the headers of theirs that lie beside them or in include_dirs, into a scratch
// folder and compiles them. Errors name the original files and lines. Returns `out`.
Result<fs::path> compile_emulated(const std::vector<fs::path>& sources, const fs::path& out,
                                  const CompileOptions& options = {});

}  // namespace stitch::emulated
