// What running a candidate showed, in the words that rewards are given by.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace stitch::rubric {

enum class Outcome : uint8_t {
  not_run,       // not verified
  not_judged,    // the machine or our own side failed
  inconclusive,  // nothing failed, and it proves little
  not_built,
  wrong,
  crashed,
  misbehaved,  // a mistake other than a wrong result
  hack,        // what no honest author writes
  passed,
};
std::string_view name(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view name);

struct KernelRun {
  std::string name;  // demangled, as the profiler saw it
  int count = 1;
  double seconds = 0;
  double threads = 0;                            // of all launches: the work, where times mean nothing
  std::optional<std::vector<std::string>> used;  // that launches came by (emulator/README.md), where known
};

struct KernelResources {
  std::string kernel;
  int registers = 0, spill_bytes = 0;
  int64_t shared_bytes = 0;
};

struct RegionTime {
  std::string name;
  double seconds = 0;
  int launches = 0;
};

struct Execution {
  Outcome outcome = Outcome::not_run;
  std::string gate, code, reason;       // of what failed
  bool native = false;                  // compiled, no Python: nothing of PyTorch is within its reach
  bool other_on_gpu = false;            // judged on the emulated GPU, and nvcc compiles other text
  double right_share = 0;               // wrong: of the results, over all kinds of inputs
  std::vector<std::string> notes;       // a weak task
  std::optional<double> seconds;        // of a call
  std::optional<double> speedup;        // over the best baseline of its numerics class
  std::optional<double> over_eager;     // over eager PyTorch
  std::optional<double> over_compiled;  // over the best of torch.compile's
  std::optional<double> floor_seconds;  // what the GPU's memory and arithmetic need at least
  std::vector<KernelRun> kernels;       // of one call; empty: not profiled
  std::vector<KernelRun> pytorch;       // of one call of eager PyTorch, on the same GPU; empty: not profiled
  std::vector<KernelResources> resources;
  std::vector<RegionTime> regions;
  std::string bottleneck;  // the profile's word for the whole: "memory"
};

// Of what the device did in one call, how much was this kernel's: by time, else by threads. Empty: nothing
// was profiled, or the profile knows none of the program's kernels by its name.
// Whether some launch of the kernel did what its text shows; true where nothing is known of that.
bool came_by(const Execution& run, std::string_view kernel, std::initializer_list<std::string_view> one_of);
std::optional<double> share_of(const Execution& run, std::string_view kernel);

// Of a verdict, as `stitchcuda verify --json` prints it. Fields that are missing or of another kind say
// nothing; only what is no verdict at all is an error.
Result<Execution> execution_of(const Json& verdict);

}  // namespace stitch::rubric
