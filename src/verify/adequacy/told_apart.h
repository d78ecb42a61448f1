// Which of a graph's mutants the trials of a verification tell from the truth: what the Verifier's questions
// are worth for this task.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "oracle/interpreter.h"
#include "reference/trial.h"
#include "verify/adequacy/graph_mutants.h"
#include "verify/session.h"

namespace stitch::verifier {

// Some nodes of a graph with everything that they read and made in float64.
class Recorded {
 public:
  // `nodes`: which, in the graph's order.
  static Result<Recorded> of(const Graph& graph, const oracle::Known& known, std::vector<int32_t> nodes);

  const oracle::Tensor* find(ValueId id) const;
  // What else these nodes make where the mutant stands for the truth; nothing where it makes no difference.
  // An Error: it can't be computed. `first`: leaves as they were once.
  Result<oracle::Known> changed_by(const GraphMutant& mutant, const oracle::Known& first) const;

 private:
  explicit Recorded(const Graph& graph) : graph_(&graph) {}
  Result<void> carry(oracle::Known& changed, int32_t after) const;

  const Graph* graph_;
  std::vector<int32_t> nodes_;
  oracle::Known values_;
};

class Adequacy {
 public:
  // Of the mutants as many as `work` allows, chosen by no one's interest; the others are not asked.
  // Work: operations and elements moved, about a billion in two seconds of one core.
  Adequacy(const Graph& graph, double work);

  // Which of those that are left this trial tells from the truth: by what its numbers allow, or, of several
  // trials, by direction: honest rounding moves outputs hardly at all towards the mutant's. `own`: the
  // program's outputs, which may be nearer to a mutant's; none: no program is asked.
  Result<void> take(const Session& session, const Trial& trial, const Tensors& own, bool directions = true);
  // The same of a region alone, whose results may be off by `judging`.
  Result<void> take_region(const oracle::Known& known, std::vector<int32_t> nodes,
                           std::span<const ValueId> writes, std::span<const oracle::Tensor> expected,
                           std::span<const Judging> judging);
  // Whether so many calm trials more could tell another mutant by direction.
  bool wants_directions(int more) const;
  // What a program could leave out of its work, whatever it makes of the rest: an input that was the same in
  // every trial although outputs depend on it, an op behind a branch that no trial took. Empty: nothing.
  std::string untested() const;
  // Wrong: on several trials the program's outputs were nearer to a mutant's than to the truth. Empty: none.
  std::string nearer_to_a_mutant() const;

  size_t left() const;
  bool is_exhausted() const { return left_work_ < 2 * graph_work_; }
  Json evidence() const;

 private:
  enum class Fate : uint8_t { asked, not_asked, no_mutant, by_budget, by_region, by_direction };
  struct State {
    GraphMutant mutant;
    size_t place = 0;  // the leaf or the node's first result
    double work = 0;   // a run of what depends on it
    Fate fate = Fate::asked;
    bool left_out = false;  // of some trial, for lack of work
    bool differed = false;  // in some trial
    double closest = 0;     // to being told apart: the largest error over its budget
    // Of the trials that could tell it by direction, each in units of what honest rounding is there: sums
    // over their elements of the difference squared, of its products with the honest error and the program's,
    // and of what these products are off by where errors are independent.
    int directions = 0;
    double squares = 0, honest = 0, own = 0, variance = 0;
    bool always_nearer = true;  // the program, than an honest one could be
  };

  bool is_told_by_direction(const State& state) const;
  bool is_left(const State& state) const { return state.fate == Fate::asked; }
  // Of a last resort: whether another mutant of its node made a difference.
  bool is_needless(const State& state) const { return state.mutant.last_resort && seen_[state.place]; }
  Result<void> ask(const Session& session, const Trial& trial, const Recorded& recorded, State& state,
                   const std::vector<std::vector<double>>& honest, const Tensors& own);

  const Graph& graph_;
  double left_work_;
  double graph_work_ = 0;  // of one run of all nodes
  int trials_ = 0;
  size_t begin_ = 0;            // with which mutant the next trial begins
  double seconds_ = 0;          // that were spent on it
  int64_t recorded_bytes_ = 0;  // of all values, in float64
  std::vector<State> states_;
  std::vector<bool> fixed_;  // values that are made of constants alone, the same in every call
  std::vector<bool> seen_;   // by place: whether a mutant made a difference
  oracle::Known first_;
};

// Adequacy::evidence() in one line.
std::string adequacy_text(const Json& evidence);

}  // namespace stitch::verifier
