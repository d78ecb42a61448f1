// A subject before the Verifier: its mutants are judged one after the other, all by the same trials.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "mutants/subject.h"
#include "verify/verify.h"

namespace stitch::mutants {

enum class Fate : uint8_t {
  killed,        // a gate said no
  survived,      // every gate passed, and the results differ from the original's
  same_results,  // every gate passed, and no trial's results differ in anything
  equivalent,    // the compiler made the same machine code of it
  not_compiled,  // it is no program: counted apart
  not_judged,    // the machine's fault
};
std::string_view name(Fate fate);
std::optional<Fate> fate_named(std::string_view name);

struct Judged {
  Fate fate = Fate::killed;
  std::string gate, code, summary;  // of who killed it; of a survivor, the correctness gate's summary
  double seconds = 0;
};

struct BenchOptions {
  runner::Device device = runner::Device::emulated;
  Numerics numerics = Numerics::standard;
  GpuSpec gpu;  // that the program is made for
  uint64_t seed = 0;
  bool quick = false;
  std::string python;
};

class Workbench {
 public:
  // Opens the task, writes the program into `folder` and has it judged: an Error if it doesn't pass.
  static Result<std::unique_ptr<Workbench>> open(const Subject& subject, const fs::path& folder,
                                                 const BenchOptions& options);
  const Sites& sites() const { return sites_; }
  Result<Judged> judge(const Site& site);
  // Once more with AddressSanitizer (emulated) or compute-sanitizer: reads beyond tensors have no other sign.
  Result<Judged> judge_sanitized(const Site& site);

 private:
  Result<verifier::Verdict> verdict_of();

  verifier::VerifyOptions options_;
  std::unique_ptr<verifier::Verifier> verifier_;
  GpuSpec gpu_;
  Sites sites_;
  std::string code_hash_;  // of the original
  std::string evidence_;   // what its results were, trial by trial
};

}  // namespace stitch::mutants
