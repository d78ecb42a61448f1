// Compiles a program's sources into a shared library, with nvcc for a GPU or the host compiler for the
// emulated one: sandboxed, in parallel, with a cache of objects by content.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::build {

enum class Target : uint8_t { emulated, cuda };
std::string_view name(Target target);

struct BuildRequest {
  std::vector<fs::path> sources;  // .cu and .cpp
  // Sources that may be compiled together: no name clashes, all in one folder.
  std::vector<fs::path> shareable;
  // Minimum number of translation units for those; 0: by the number of cores. Fewer cost less CPU time, for
  // builds of many programs at once.
  int units = 0;
  bool alone = false;  // the folders are untrusted: compilers see only what the sources include
  std::vector<fs::path> include_dirs;  // the program's and the runtime headers'
  Target target = Target::emulated;
  std::string architecture = "sm_90a";  // cuda: the target GPU's
  std::string needs;                    // cuda: the minimum architecture, "sm_80"; empty: unknown
  std::vector<std::string> libraries;   // of cublas, cublasLt, cudnn
  bool address_sanitizer = false;       // emulated only
  bool count_accesses = false;          // emulated only: count memory accesses for the launch log
  bool optimise = true;
  bool device_only = false;  // cuda: only whether nvcc accepts the kernels; there is no library
  bool line_info = true;     // cuda: source lines for profilers; puts files' times and sizes into the code
  std::chrono::milliseconds time_limit{300'000};
};

// ptxas's report on one kernel.
struct KernelResources {
  std::string kernel;  // demangled
  int registers = 0, spill_bytes = 0, stack_bytes = 0;
  int64_t shared_bytes = 0, constant_bytes = 0;
};

// Sources and headers by path, each with the SHA-256 of what the compiler read in it.
using FilesRead = std::map<fs::path, std::string>;

struct Built {
  fs::path library;  // in the cache
  std::string hash;  // SHA-256 of the library
  std::vector<KernelResources> resources;
  std::set<std::string> imports;  // undefined symbols not resolved among its objects
  FilesRead read;                 // of the program, not the system's
  int compiled = 0, reused = 0;   // sources
  double seconds = 0;
};

// An Error of kind user means a mistake in the sources: the first error with file and line, the rest below
// it. The cache is $STITCHCUDA_CACHE, $XDG_CACHE_HOME/stitchcuda or ~/.cache/stitchcuda.
Result<Built> build(const BuildRequest& request,
                    const std::function<void(std::string_view)>& on_progress = {});

// nvcc's path and version, or why there is none.
struct Nvcc {
  fs::path path;
  std::string version;
};
Result<Nvcc> find_nvcc();

}  // namespace stitch::build
