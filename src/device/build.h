// A program's sources become a shared library, for the GPU by nvcc or for the emulated one by the host's
// compiler: behind the sandbox, in parallel, each object once (the cache knows it by what the compiler read).
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::device {

enum class Target : uint8_t { emulated, cuda };
std::string_view name(Target target);

struct BuildRequest {
  std::vector<fs::path> sources;  // .cu and .cpp
  // Those among them that may be compiled together: their names don't meet. They lie in one folder.
  std::vector<fs::path> shareable;
  // Translation units that those make, at least; 0: by the number of cores. Few cost less in all, for
  // builds of many programs at once.
  int units = 0;
  bool alone = false;  // the sources' folders are untrusted: compilers see only what the sources include
  std::vector<fs::path> include_dirs;  // theirs and the runtime header's
  Target target = Target::emulated;
  std::string architecture = "sm_90a";  // cuda; the GPU's that it will run on
  std::string needs;                    // cuda: the minimum architecture, "sm_80"; empty: unknown
  std::vector<std::string> libraries;   // of cublas, cublasLt, cudnn
  bool address_sanitizer = false;       // emulated
  bool count_accesses = false;          // emulated: the launch log has what kernels did to memory
  bool optimise = true;
  bool line_info = true;  // cuda: profiles name source lines; the files' times and sizes are in the code then
  std::chrono::milliseconds time_limit{300'000};
};

// What ptxas said of one kernel.
struct KernelResources {
  std::string kernel;  // demangled
  int registers = 0, spill_bytes = 0, stack_bytes = 0;
  int64_t shared_bytes = 0, constant_bytes = 0;
};

struct Built {
  fs::path library;  // in the cache
  std::string hash;  // SHA-256 of the library
  std::vector<KernelResources> resources;
  std::set<std::string> imports;  // symbols that its objects want and don't offer each other
  std::vector<fs::path> read;     // sources and headers that the compiler read, without the system's
  int compiled = 0, reused = 0;   // sources
  double seconds = 0;
};

// An Error of kind user: the sources are at fault, message first error with file and line, the rest below it.
// The cache is $STITCHCUDA_CACHE, $XDG_CACHE_HOME/stitchcuda or ~/.cache/stitchcuda.
Result<Built> build(const BuildRequest& request,
                    const std::function<void(std::string_view)>& on_progress = {});

// nvcc's path and version, or why there is none.
struct Nvcc {
  fs::path path;
  std::string version;
};
Result<Nvcc> find_nvcc();

}  // namespace stitch::device
