// The three roles of the loop. Behind each stands a brain: the built-in engine, or whatever implements these.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "agents/ledger.h"
#include "import/task.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "program/package.h"
#include "verify/settings_clock.h"
#include "verify/verdict.h"

namespace stitch::agents {

enum class Judging : uint8_t {
  quickly,     // one seed, one distribution: for a step
  wholly,      // every gate
  as_shipped,  // as what ships is judged, beside the baselines: nobody judges it again
};

// A step that the Planner would like to see tried.
struct Proposal {
  std::string step, why;
  plan::Plan plan;                          // of the whole program, after the step
  std::map<std::string, int64_t> settings;  // of the program, where they are not its own
  double predicted_seconds = 0;             // a call
  // Seconds, where the Planner knows more than the difference of two estimates: from a program that was
  // measured.
  std::optional<double> predicted_gain = std::nullopt;
  Judging judging = Judging::quickly;
  bool needed = false;      // tried to the end although the budget is spent: there may be nothing to ship
  double budget_share = 1;  // of the budget, in which it may begin
  std::vector<std::string> to_write;  // regions whose code the Coder is asked to write itself
  std::string idea;                   // for those: how, where the Planner has one
  std::vector<plan::Step> left_out;   // predicted to lose, so that the plan does without them
  std::vector<plan::Step> not_tried;  // there was no time for a plan with them
};

// What a Coder made of a proposal: the program, and its plan with the sources of regions that it wrote
// itself.
struct Draft {
  plan::Plan plan;
  PackageContents contents;
  std::string author;  // empty: the built-in techniques
};

// A program that was found right, and what a call of it takes.
struct Program {
  plan::Plan plan;
  PackageContents contents;
  verifier::Verdict verdict;
  Judging judging = Judging::quickly;
  double seconds = 0;  // measured, or predicted where nothing is timed
  double predicted_seconds = 0;
};

// What the Verifier makes of a verdict, for the Coder's next try.
struct Feedback {
  Outcome outcome = Outcome::wrong;
  std::optional<verifier::GateReport> report;  // with the evidence that matters: the failure, or the profile
  std::string suggestion;                      // empty: the evidence has to speak for itself
};

// An earlier try at the same step and what came of it. Tries are a tree: each revises another one, or none.
struct Sibling {
  std::shared_ptr<const Draft> draft;  // null: nothing was written
  int base = -1;                       // the sibling that it revised; -1: written from the proposal
  double seconds = 0;                  // a call, measured or estimated; 0: it was not right
  Feedback feedback;
};

// Tries a draft on the side, as a Coder that works with tools does. It counts for no step.
class Workbench {
 public:
  virtual ~Workbench() = default;
  virtual Result<verifier::Verdict> try_out(const Draft& draft) = 0;
  virtual Result<Feedback> explain(const verifier::Verdict& verdict) = 0;
};

// What a brain knows when it is asked.
struct Situation {
  const Task& task;
  const plan::Context& context;  // what the task is planned for
  const Ledger& ledger;
  const Program* best = nullptr;           // null: none yet
  const plan::Plan* plan = nullptr;        // proposed last; null: none yet
  std::span<const Sibling> siblings = {};  // at this step, in order; the last one's feedback is the newest
  // Of a revision: the sibling to start from, the fastest that was right, else the last. -1: there is none.
  int base = -1;
  Workbench* bench = nullptr;  // of a Coder; null: there is none
  std::function<bool()> should_stop = {};
  double seconds_left = 0;  // of the budget; at most zero when it is spent
};

class Planner {
 public:
  virtual ~Planner() = default;
  // The next step; nothing when its list is done. What became of the last one stands in the ledger.
  virtual Result<std::optional<Proposal>> propose(const Situation& situation) = 0;
  // Makes a new list from the ledger; false: it knows nothing else to try.
  virtual Result<bool> replan(const Situation& situation) = 0;
  // What it would have proposed had there been time, without thinking about it any further.
  virtual std::vector<plan::Step> remaining(const Situation& situation) = 0;
};

class Coder {
 public:
  virtual ~Coder() = default;
  // The program of a plan that was checked.
  virtual Result<Draft> write(const Situation& situation, const Proposal& step) = 0;
  // Another try, by its siblings and the feedback to them; nothing: it knows no better.
  virtual Result<std::optional<Draft>> revise(const Situation& situation, const Proposal& step) = 0;
};

class Verifier {
 public:
  virtual ~Verifier() = default;
  // An Error is no opinion of the program: trouble of our own, or an interruption (code "stopped").
  virtual Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                          const std::function<bool()>& should_stop) = 0;
  virtual Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict) = 0;
  // A new reference, after trouble with the one that is there.
  virtual Result<void> renew() = 0;
  // Of a program that passed; it outlives neither this nor the next call.
  virtual Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) = 0;
};

struct Brains {
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Coder> coder;
  std::unique_ptr<Verifier> verifier;
};

}  // namespace stitch::agents
