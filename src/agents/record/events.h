// The events of a run, for progress displays and the record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agents/loop/ledger.h"
#include "base/file.h"
#include "base/json.h"
#include "plan/context.h"
#include "plan/plan.h"

namespace stitch {
struct PackageContents;
}

namespace stitch::agents {

struct Proposal;
struct Tuned;

// Pointers are valid while the event is handled.
struct StepStarted {
  std::string_view step, why;
  double predicted_gain = 0;           // seconds
  const Proposal* proposal = nullptr;  // null: not proposed by a Planner
  const plan::Plan* base = nullptr;    // of the best program so far; null: none
};
struct AttemptJudged {
  std::string_view step;
  int attempt = 1;  // at this step
  Outcome outcome;
  const verifier::Verdict* verdict = nullptr;  // null: there is none
  fs::path program;                            // empty: it was not written
  const PackageContents* contents = nullptr;   // null: it was not written
};
struct StepEnded {
  const LedgerEntry& entry;
  Action action;                     // commit, roll_back, drop or drop_with_new_reference
  const plan::Plan* kept = nullptr;  // of the program that was committed, with the sources in it; else null
};
struct ReferenceRenewed {};
struct Replanned {};
// A step that is not proposed because earlier runs refused it.
struct RefusedBefore {
  std::string_view step, why;
};
struct TuningEnded {
  const Tuned& tuned;
};
struct TuningSkipped {
  std::string_view why;
};
struct Shipped {
  fs::path program;
  const verifier::Verdict& verdict;
};
// A warning is something to know before using the program; a notice is a line that stays on the screen.
struct Warning {
  std::string_view text;
};
struct Notice {
  std::string_view text;
};
// Current activity: a gate, the compiler, PyTorch.
struct Doing {
  std::string_view what;
};

using Event = std::variant<StepStarted, AttemptJudged, StepEnded, ReferenceRenewed, Replanned, RefusedBefore,
                           TuningEnded, TuningSkipped, Shipped, Warning, Notice, Doing>;

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event) = 0;
};

// The text of the progress line; nothing: unchanged.
std::optional<std::string> progress_text(const Event& event);

// The stored form of an event.
struct EventRecord {
  std::string
      kind;  // step, attempt, ended, renewed, replanned, refused, tuned, not_tuned, shipped, warning, notice
  std::string body;                // JSON; texts in it by their hashes
  std::vector<std::string> blobs;  // the texts
};
// Nothing for `Doing`: progress is not recorded.
std::optional<EventRecord> record_of(const Event& event, const plan::Context& context);

// Identifies an event when a killed run is replayed: without times and durations.
std::string identity_of(const std::string& kind, const std::string& body);

}  // namespace stitch::agents
