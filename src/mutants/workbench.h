// Judges the mutants of one subject, all by the same trials.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "mutants/subject.h"
#include "verify/verify.h"

namespace stitch::mutants {

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
