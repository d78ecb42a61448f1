// Judges the mutants of one subject, all by the same trials.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "gpu/gpu_spec.h"
#include "graph/numerics.h"
#include "import/task.h"
#include "mutants/mutation.h"
#include "verify/verify.h"

namespace stitch::mutants {

// A correct program to mutate: the built-in Coder's, for one task.

enum class Variant : uint8_t {
  optimised,  // with every step of the Planner that doesn't round
  plain,      // one simple kernel per node, no libraries
};
std::string_view name(Variant variant);

struct Subject {
  fs::path task;
  Variant variant = Variant::optimised;

  std::string name() const;  // "gpt_block", "gpt_block (plain)"
};

// Writes the program into `folder`, which is created. Each region is a separate source, so that a mutant of
// one reuses the objects of all others.
Result<void> write_subject(const Task& task, Variant variant, const GpuSpec& gpu, Numerics numerics,
                           const fs::path& folder);

// A place where a mutation applies.
struct Site {
  std::string file;  // in the program's folder
  Mutation mutation;
  Change change;
  std::string id;  // unique in the program, stable across runs
};
// In the program's sources and in the kernel headers it includes.
struct Sites {
  std::vector<Site> own, shared;
};
Result<Sites> sites_of(const fs::path& folder);

// `count` sites: kinds in rotation, four of the program's own for one of the headers. Deterministic in the
// seed; a larger sample starts with the smaller one.
std::vector<Site> sample(const Sites& sites, size_t count, uint64_t seed);

enum class Fate : uint8_t {
  killed,        // failed a gate
  survived,      // passed every gate, with results different from the original's
  same_results,  // passed every gate, with identical results in all trials
  equivalent,    // compiled to the same machine code
  not_compiled,  // counted separately
  not_judged,    // failure of the machine
};
std::string_view name(Fate fate);
std::optional<Fate> fate_named(std::string_view name);

struct Judged {
  Fate fate = Fate::killed;
  std::string gate, code,
      summary;  // of the gate that killed it; of a survivor, the correctness gate's summary
  double seconds = 0;
};

struct BenchOptions {
  runner::Device device = runner::Device::emulated;
  Numerics numerics = Numerics::standard;
  GpuSpec gpu;  // target of the program
  uint64_t seed = 0;
  bool quick = false;
  std::string python;
};

class Workbench {
 public:
  // Opens the task, writes the program into `folder` and verifies it: an Error if it doesn't pass.
  static Result<std::unique_ptr<Workbench>> open(const Subject& subject, const fs::path& folder,
                                                 const BenchOptions& options);
  const Sites& sites() const { return sites_; }
  Result<Judged> judge(const Site& site);
  // Again with AddressSanitizer (emulated) or compute-sanitizer, to detect out-of-bounds reads.
  Result<Judged> judge_sanitized(const Site& site);

 private:
  Result<verifier::Verdict> verdict_of();

  verifier::VerifyOptions options_;
  std::unique_ptr<verifier::Verifier> verifier_;
  GpuSpec gpu_;
  Sites sites_;
  std::string code_hash_;  // of the original
  std::string evidence_;   // its results, trial by trial
};

// A hash of a library's code and data without debug information.

// Equal for libraries whose loaded sections are equal, except for the name of the program's folder below
// `folders`, which occurs in messages; these names have one length. An Error: not an ELF file.
Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders = {});

}  // namespace stitch::mutants
