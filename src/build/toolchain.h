// A sandboxed compiler: source to object, objects to library.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "build/build.h"

namespace stitch::build {

struct Work {
  fs::path scratch;                // writable
  std::vector<fs::path> readable;  // the program's folders, or the files that a single source includes
  std::chrono::steady_clock::time_point deadline;
};

struct Compiled {
  std::string notes;  // compiler output
  FilesRead read;     // by its own account; an empty hash: not known by the compiler
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;
  // Everything besides the source that changes an object: versions, flags, compiler headers.
  virtual std::string identity() const = 0;
  // Additional flags for one source.
  virtual std::string flags_of(const fs::path& /*source*/) const { return {}; }
  virtual Result<Compiled> compile(const fs::path& source, const fs::path& object,
                                   const Work& work) const = 0;
  virtual Result<void> link(const std::vector<fs::path>& objects, const fs::path& library,
                            const Work& work) const = 0;
};

Result<std::unique_ptr<Toolchain>> emulated_toolchain(const BuildRequest& request);
Result<std::unique_ptr<Toolchain>> cuda_toolchain(const BuildRequest& request);

struct CompilerRun {
  int exit_code = 0;
  std::string output;  // its beginning and end
};
// Runs a compiler within `work`. An Error: timeout, or no such program.
Result<CompilerRun> run_compiler(std::vector<std::string> words, const Work& work,
                                 std::vector<fs::path> readable = {});
// The compiler's version text.
Result<std::string> version_of(const fs::path& program);

// Shortens compiler output: each error once, the first one first.
// "file:line: message" with context for the errors of nvcc, g++, clang++, ptxas or ld. Removes the prefix
// `scratch`. Output without a known error is truncated.
std::string shortened_errors(std::string_view output, std::string_view scratch);

// A failed compiler run, as an error of the sources.
Error build_failure(std::string_view output, std::string_view scratch, int exit_code);
Error build_took_too_long(double seconds);

}  // namespace stitch::build
