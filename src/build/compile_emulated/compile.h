// Compiles CUDA sources for the emulated GPU into a shared library, with the host's C++ compiler.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::emulated {

struct CompileOptions {
  bool asan = false;        // the loading process needs AddressSanitizer, too
  bool executable = false;  // with main(), not a library
  bool optimise = true;     // kernels; host code runs once, so optimising it doesn't pay
  std::vector<std::string> extra_flags;
  std::vector<fs::path> include_dirs;
  std::vector<fs::path> objects;  // linked too; sources may then be empty
  fs::path read_list;             // output: every file read, "HASH PATH" per line; empty: not written
  std::string compiler;           // empty: g++, else clang++
  std::chrono::milliseconds time_limit{120'000};
};

// Our headers and the runtime library.
struct Installation {
  fs::path headers, runtime;
};
Result<Installation> find_installation();

// Rewrites the sources and their headers (in the same folder or in include_dirs) into a scratch folder and
// compiles them. Errors name the original files and lines. Returns `out`.
Result<fs::path> compile_emulated(const std::vector<fs::path>& sources, const fs::path& out,
                                  const CompileOptions& options = {});

}  // namespace stitch::emulated
