// What the gates found, with their evidence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/terminal/terminal.h"

namespace stitch::verifier {

enum class Outcome : uint8_t { passed, failed, skipped };
std::string_view name(Outcome outcome);

// In the order in which a program meets them.
enum class GateId : uint8_t {
  build,
  screen,
  load,
  correctness,
  sensitivity,
  conduct,
  thread_order,
  regions,
  sanitizer,
  profile,
  coverage,
  timing,
  floor,
};

// What kind of failure a gate saw: decides what is done about it.
enum class Fault : uint8_t {
  none,
  not_built,   // screened, not compiled, not loaded, another task's
  wrong,       // results too far from float64
  crashed,     // crashed, hung, out of memory, refused to run
  misbehaved,  // anything else that no honest program does
};
std::string_view name(Fault fault);
// Of a failure's code, as the gate gave it.
Fault fault_of(GateId gate, std::string_view code);

inline constexpr std::string_view inconclusive_code = "inconclusive";
inline constexpr std::string_view not_reached = "not reached";  // behind a gate that failed

struct GateReport {
  std::string gate;
  GateId id = GateId::build;
  Outcome outcome = Outcome::skipped;
  Fault fault = Fault::none;
  std::string code;     // of a failure, for machines: "wrong", "crashed", "hung"
  std::string summary;  // one line for people: what was seen, why it failed, why it was skipped
  std::shared_ptr<const Json> evidence;
  double seconds = 0;
  double waited = 0;  // of them, for others on this machine
};

struct Verdict {
  std::shared_ptr<const Json> header;  // program, task, device, class, trust, versions, seed
  std::vector<GateReport> gates;
  std::vector<std::string> notes;  // what a reader should know although nothing failed: a weak task
  // Mutants of the graph that the trials tell from the truth (adequacy/told_apart.h); null where it was
  // not measured.
  std::shared_ptr<const Json> adequacy;
  std::shared_ptr<const Json> timing;  // null where nothing was timed
  // Of a program for ranges of sizes: the ranges, and where else it was judged and timed (at_sizes.h); else
  // null.
  std::shared_ptr<const Json> sizes;
  fs::path library;  // that was judged, in the build cache

  bool passed() const;
  // Nothing was wrong, and nothing was proved: what needs no computing would have passed too. Not passed.
  bool inconclusive() const;
  const GateReport* failure() const;  // the gate that said no
  const GateReport* gate(std::string_view name) const;
};
// "passed 10 of 13 gates; not run: sanitizer (not asked for), timing (no GPU)", or "passed all 13 gates".
std::string gates_text(const Verdict& verdict);

Json to_json(const Verdict& verdict);
// A line a gate, then the notes and the times.
std::string table(const Verdict& verdict, const Terminal& terminal);

}  // namespace stitch::verifier
