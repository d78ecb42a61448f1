// Statements of a kernel whose threads share rows: where a thread's row is, loops over a row's elements, and
// passes that find something out about it together.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "code/loops/loop.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

class RowEmitter : public LoopEmitter {
 public:
  RowEmitter(const RegionRequest& request, RowPlan plan) : LoopEmitter(request), plan_(std::move(plan)) {}

  // Which row this thread works on: the indices of the reduction's kept dimensions.
  Indices open_row();
  // The same of a lane of this thread's vector of rows.
  Indices kept_at(const Index& lane) const;
  // Results of this block's rows that lie side by side: into shared memory, then across rows to their place.
  void keep_transposed(const Index& element, const Expression& value);
  void store_transposed(const Place& write);
  // A loop over this thread's share of `reduction`'s row; returns the reduced indices of an element.
  Indices open_elements(const Reduction& reduction);
  void close_elements();
  // The same in two loops: over pieces of so many elements, and over a piece's elements, all of them, of
  // which `within` says whether they are there.
  void open_pieces(int64_t elements);
  Indices open_piece(const Reduction& reduction, int64_t elements);
  // The accumulators of all threads of a row become one, which each of them gets.
  Expression joined(const Pass& pass, const Expression& accumulator);
  // Statistics that reductions of the kernel are asked for are worked out by all threads of the row together.
  bool collective = false;
  bool failed = false;  // a long reduction that can't be
  // Of what loops come by, a team holds only this; everything until it is known.
  std::optional<std::set<Key>> keep;
  // What loops could hold, by key: the array.
  struct Held {
    std::string array;
    Type type;
  };
  const std::map<Key, Held>& held() const { return held_; }
  // Memory of a team: a value a block and pass, in the workspace.
  struct TeamParts {
    Type type;
    std::string name;
  };
  std::vector<TeamParts> team_parts;
  int64_t shared_bytes() const;  // of what a team's block holds
  // What was asked for, in the order in which it was found out.
  std::vector<std::pair<Reduction, Indices>> asked;

  // What is read of memory, of each element or of the row, where all loops find it; in order.
  struct Load {
    ValueId id;
    Indices at;
    bool of_element;
    bool late;  // behind a statistic
  };
  std::vector<Load> row_loads;

  Expressions statistics(const Reduction& reduction, const Indices& kept) override;
  const RowPlan& plan() const { return plan_; }

 protected:
  void loaded(ValueId id, const Key& key, const Indices& at) override;

 private:
  bool same_rows(const Reduction& reduction) const;
  void hold(const Key& key, ValueId id);
  Expression element_of_held(const std::string& array) const;
  void declare_vector(const Expression& number, int64_t reach, int64_t vectors);

  RowPlan plan_;
  std::map<Key, Held> held_;   // what a value at an element is called: the array that keeps it
  size_t elements_depth_ = 0;  // of the scope in which the loop's elements are
  int reductions_ = 0;         // of a cluster, so far
  bool holding_ = false;       // the loop that is open is over the plan's own rows, unrolled
};

}  // namespace stitch::code::loops
