// Statements of a kernel whose threads share rows: a thread's row, loops over its elements, and cooperative
// reductions.
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

  // This thread's row: the indices of the reduction's kept dimensions.
  Indices open_row();
  // The same for a lane of this thread's vector of rows.
  Indices kept_at(const Index& lane) const;
  // Results of this block's rows into shared memory, to be written across rows.
  void keep_transposed(const Index& element, const Expression& value);
  void store_transposed(const Place& write);
  // A loop over this thread's part of the row; returns an element's reduced indices.
  Indices open_elements(const Reduction& reduction);
  void close_elements();
  // The same as two loops: over chunks of so many elements, and over all elements of a chunk, of which
  // `within` says whether they exist.
  void open_pieces(int64_t elements);
  Indices open_piece(const Reduction& reduction, int64_t elements);
  // Combines the accumulators of a row's threads; each gets the result.
  Expression joined(const Pass& pass, const Expression& accumulator);
  // Statistics are computed by all threads of the row together.
  bool collective = false;
  bool failed = false;  // a long reduction that can't be computed
  // What a team holds of the loaded values; everything until this is known.
  std::optional<std::set<Key>> keep;
  // What loops could hold, by key: the array.
  struct Held {
    std::string array;
    Type type;
  };
  const std::map<Key, Held>& held() const { return held_; }
  // A team's exchange memory: one value per block and pass, in the workspace.
  struct TeamParts {
    Type type;
    std::string name;
  };
  std::vector<TeamParts> team_parts;
  int64_t shared_bytes() const;  // held by a team's block
  // The statistics requested, in order of computation.
  std::vector<std::pair<Reduction, Indices>> asked;

  // Loads of each element or of the row, where all loops find them, in order.
  struct Load {
    ValueId id;
    Indices at;
    bool of_element;
    bool late;  // after a statistic
  };
  std::vector<Load> row_loads;

  Expressions statistics(const Reduction& reduction, const Indices& kept) override;
  const RowPlan& plan() const { return plan_; }

 protected:
  void loaded(ValueId id, const Key& key, const Indices& at) override;

 private:
  bool same_rows(const Reduction& reduction) const;
  void hold(const Key& key, ValueId id, const char* suffix = "_held");
  Expression element_of_held(const std::string& array) const;
  void declare_vector(const Expression& number, int64_t reach, int64_t vectors);

  RowPlan plan_;
  std::map<Key, Held> held_;                     // arrays that hold values of elements
  size_t elements_depth_ = 0;                    // depth of the scope of the loop's elements
  std::map<ValueId, std::string> masked_names_;  // constants in the loops over a row
  int reductions_ = 0;                           // of a cluster, so far
  bool holding_ = false;                         // the open loop is unrolled over the plan's own rows
};

}  // namespace stitch::code::loops
