// A compiler behind the sandbox: one source into an object, objects into a library.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "device/build.h"

namespace stitch::device {

struct Work {
  fs::path scratch;                // may be written to
  std::vector<fs::path> readable;  // the program's folders, or of a single source the files it includes
  std::chrono::steady_clock::time_point deadline;
};

struct Compiled {
  std::string notes;           // what the compiler said
  std::vector<fs::path> read;  // the files it read, by its own account
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;
  // Everything that changes an object besides its source: versions, flags, the compiler's own headers.
  virtual std::string identity() const = 0;
  // What this one source is compiled with besides.
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
  std::string output;  // its beginning and its end
};
// Runs a compiler as `work` allows. An Error: out of time, or no such program.
Result<CompilerRun> run_compiler(std::vector<std::string> words, const Work& work,
                                 std::vector<fs::path> readable = {});
// A compiler's own words about its version.
Result<std::string> version_of(const fs::path& program);

}  // namespace stitch::device
