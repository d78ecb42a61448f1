// The interfaces of the loop's three roles. A brain implements each: the built-in engine or a language model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "agents/loop/ledger.h"
#include "import/task.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "program/package.h"
#include "verify/clock/settings_clock.h"
#include "verify/verdict.h"

namespace stitch::agents {

enum class Judging : uint8_t {
  quickly,     // two seeds, one distribution: for a step
  wholly,      // every gate
  as_shipped,  // as the final program, with baselines: not judged again before shipping
  built,       // compiled and screened, not run: for a Coder with tools
};

// A step that the Planner proposes.
struct Proposal {
  std::string step, why;
  plan::Plan plan;                          // of the whole program, after the step
  std::map<std::string, int64_t> settings;  // of the program, where they differ from its defaults
  double predicted_seconds = 0;             // a call
  // Seconds, if the Planner has a better prediction than the difference of two estimates: from a measured
  // program.
  std::optional<double> predicted_gain = std::nullopt;
  Judging judging = Judging::quickly;
  bool by_model = false;    // by or for a language model: charged to the budget of those
  bool needed = false;      // tried even if the budget is spent: otherwise there may be nothing to ship
  double budget_share = 1;  // of the budget, within which it may start
  std::vector<std::string> to_write;       // regions that the LLM Coder writes or implements otherwise
  std::vector<std::string> to_write_next;  // that are likely to be asked for after them
  std::string idea;                        // for those: the Planner's suggestion
  std::vector<plan::Step> left_out;        // predicted to be slower, so not in the plan
  std::vector<plan::Step> not_tried;       // no time left to plan them
};

// A Coder's program for a proposal, and its plan with the sources it wrote.
struct Draft {
  plan::Plan plan;
  PackageContents contents;
  std::string author;  // empty: the built-in techniques
  // Of an LLM that answered with changes of the plan instead of a source: those it made, as it wrote them,
  // and why others could not be made.
  std::string changes = {};
  std::vector<std::string> refused_changes = {};
  std::optional<double> predicted_seconds = std::nullopt;  // else the proposal's
};

// A program that passed, and its time per call.
struct Program {
  plan::Plan plan;
  PackageContents contents;
  verifier::Verdict verdict;
  Judging judging = Judging::quickly;
  double seconds = 0;   // measured, or predicted where nothing is timed
  bool fat = false;     // takes more memory than it may beside PyTorch
  bool slower = false;  // than the best PyTorch
  double predicted_seconds = 0;
};

// The Verifier's explanation of a verdict, for the Coder's next try.
struct Feedback {
  Outcome outcome = Outcome::wrong;
  std::optional<verifier::GateReport> report;  // with the relevant evidence: the failure, or the profile
  std::string suggestion;                      // empty: evidence only
};

// An earlier try at the same step and its outcome. Tries form a tree: each revises another one, or none.
struct Sibling {
  std::shared_ptr<const Draft> draft;  // null: no program was written
  int base = -1;                       // the sibling it revised; -1: written from the proposal
  double seconds = 0;                  // per call, measured or estimated; 0: it failed
  Feedback feedback;
};

// Verifies a draft for a Coder that works with tools. It doesn't count as a try of the step.
class Workbench {
 public:
  virtual ~Workbench() = default;
  virtual Result<verifier::Verdict> try_out(const Draft& draft, Judging judging = Judging::quickly) = 0;
  virtual Result<Feedback> explain(const verifier::Verdict& verdict) = 0;
  // Compiles drafts side by side that are tried out one by one afterwards.
  virtual void build_ahead(std::span<const Draft* const> drafts) = 0;
};

// The input of every request to a brain.
struct Situation {
  const Task& task;
  const plan::Context& context;  // what the task is planned for
  const Ledger& ledger;
  const Program* best = nullptr;           // null: none yet
  const plan::Plan* plan = nullptr;        // the last proposal's; null: none yet
  std::span<const Sibling> siblings = {};  // at this step, in order; the last has the newest feedback
  // For a revision: the sibling to start from, the fastest that passed, else the last. -1: none.
  int base = -1;
  Workbench* bench = nullptr;  // for a Coder; null: not available
  std::function<bool()> should_stop = {};
  double seconds_left = 0;  // of the budget; zero or less when it is spent
  // Only language models have time left: a Planner leaves out steps that need none.
  bool only_models = false;
};

class Planner {
 public:
  virtual ~Planner() = default;
  // The next step; nothing when its list is done. The outcome of the last one is in the ledger.
  virtual Result<std::optional<Proposal>> propose(const Situation& situation) = 0;
  // Makes a new list of steps from the ledger; false: there is nothing else to try.
  virtual Result<bool> replan(const Situation& situation) = 0;
  // The steps it would still have proposed, without further planning.
  virtual std::vector<plan::Step> remaining(const Situation& situation) = 0;
  // Does it ask a language model?
  virtual bool asks_models() const { return false; }
};

class Coder {
 public:
  virtual ~Coder() = default;
  // Writes the program of a checked plan.
  virtual Result<Draft> write(const Situation& situation, const Proposal& step) = 0;
  // Another try from its siblings and their feedback; nothing: it has no other.
  virtual Result<std::optional<Draft>> revise(const Situation& situation, const Proposal& step) = 0;
  // Of what it writes itself; empty: the built-in techniques.
  virtual std::string author() const { return {}; }
};

class Verifier {
 public:
  virtual ~Verifier() = default;
  // Compiles programs side by side that are judged afterwards; whatever fails is met again then.
  virtual void build_ahead(std::span<const fs::path>) {}
  // An Error says nothing about the program: a failure of the machine, or an interruption (code "stopped").
  virtual Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                          const std::function<bool()>& should_stop) = 0;
  // `facts`: of the regions that an LLM Coder worked on, as in its own prompt; empty: none.
  virtual Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict,
                                   const std::string& facts) = 0;
  // Starts a new reference process, after a failure of the current one.
  virtual Result<void> renew() = 0;
  // For a program that passed; valid until the next call, while the Verifier lives.
  virtual Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) = 0;
};

struct Brains {
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Coder> coder;
  std::unique_ptr<Verifier> verifier;
};

}  // namespace stitch::agents
