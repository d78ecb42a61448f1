// What the gates found, with their evidence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/terminal.h"

namespace stitch::verifier {

enum class Outcome : uint8_t { passed, failed, skipped };
std::string_view name(Outcome outcome);

inline constexpr std::string_view not_reached = "not reached";  // behind a gate that failed

struct GateReport {
  std::string gate;
  Outcome outcome = Outcome::skipped;
  std::string code;     // of a failure, for machines: "wrong", "crashed", "hung"
  std::string summary;  // one line for people: what was seen, why it failed, why it was skipped
  std::shared_ptr<const Json> evidence;
  double seconds = 0;
};

struct Verdict {
  std::shared_ptr<const Json> header;  // program, task, device, class, trust, versions, seed
  std::vector<GateReport> gates;
  std::vector<std::string> notes;      // what a reader should know although nothing failed: a weak task
  std::shared_ptr<const Json> timing;  // null where nothing was timed
  fs::path library;                    // that was judged, in the build cache

  bool passed() const;
  const GateReport* failure() const;  // the gate that said no
  const GateReport* gate(std::string_view name) const;
};

Json to_json(const Verdict& verdict);
// A line a gate, then the notes and the times.
std::string table(const Verdict& verdict, const Terminal& terminal);

}  // namespace stitch::verifier
