// Builds the statements that compute a value of the graph at given indices inside one kernel. Everything
// between the region's reads and that value stays in registers. emit_*.cpp have the code of each op.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "code/loops/reduction.h"
#include "code/loops/scopes.h"
#include "code/names.h"
#include "code/region_code.h"

namespace stitch::code::loops {

// Lanes of a vector: the innermost variable, unrolled, whose loads and stores are one instruction.
struct VectorLoop {
  std::string variable = "v";
  int64_t width = 1;
  size_t level = 0;      // of its scope
  bool together = true;  // false: the lanes are apart in memory and moved one by one
};

// Statistics of a kernel's loads.
struct Loads {
  // Whole vectors; single elements of large values, one vector each; and single elements of small values,
  // which are cached but many.
  int64_t vectorised = 0, scattered = 0, repeated = 0;
  // Loads of values that the lanes of many vectors share, such as channel parameters.
  int64_t shared = 0;
  // Elements read by reductions that each thread computes in an inner loop.
  int64_t inlined = 0;
};

class Emitter {
 public:
  explicit Emitter(const RegionRequest& request);
  virtual ~Emitter() = default;

  // An element's value: a name, a number, or a part of a named thing.
  Expression value(ValueId id, const Indices& at);
  // Stores an element of a write's place. Inside a vector, `close_vector` stores it.
  void store(const Place& place, const Indices& at, const Expression& value);

  // Statements go to the innermost open scope.
  Scopes& scopes() { return scopes_; }
  Names& names() { return names_; }
  void add(Statement statement) { scopes_.add(std::move(statement)); }
  // `for (int name = begin; name < end; name += step)`; returns the variable as an index.
  Index open_loop(std::string_view name, const Expression& begin, const Expression& end, int64_t step,
                  int64_t extent, bool unroll = false);
  void guard(const Expression& condition) { scopes_.open({If{condition, {}}}, {}, true); }
  void close() { scopes_.close(); }
  // `const int name = value;`: an index from here on.
  Index declare_index(std::string_view name, const Expression& value, int64_t extent);
  Type index_type() const { return wide_ ? int64_type : int_type; }
  Expression declare(ValueId id, const Expression& value);   // const float name = value;
  Expression variable(ValueId id, const Expression& value);  // the same, mutable

  // Opens an unrolled loop over the lanes of a vector; nothing if width is 1. Returns the lane.
  Index open_vector(int64_t width, bool together = true);
  void close_vector();  // and stores the vectors filled inside
  VectorLoop& vector() { return vector_; }
  // Whether the current scope is directly inside a vector's lanes.
  bool in_lanes() const { return vector_.width > 1 && scopes_.depth() == vector_.level + 1; }
  // Whether code at these indices may be placed before the lanes: not if a lane loaded one of the indices.
  bool in_lanes(const Indices& at) const { return in_lanes() && !scopes_.mentions_own(at, vector_.variable); }
  // The start of a whole vector whose lanes begin at `where`, if the open one is contiguous.
  std::optional<Index> start_of_vector(const Index& where) const;
  // `const auto name = load_vector(pointer + start)`.
  Expression load_vector(const std::string& name, const Expression& address);
  class BeforeLanes;

  const Graph& graph() const { return request_.graph; }
  const RegionRequest& request() const { return request_; }
  const Place* place_of(ValueId id) const;
  int32_t producer_of(ValueId id) const;
  Type type_of(ValueId id) const { return computed_type(graph().type(id).dtype); }
  std::string name_of(ValueId id);
  Indices broadcast_to(ValueId operand, const Indices& at) const;
  // A descending index becomes a variable: its quotients would round the wrong way.
  Index settled(const Index& index, int64_t extent);
  // Whether that many copies of a value's statements still fit the instruction cache.
  bool unrollable(int64_t copies, ValueId id) { return copies * work(id) <= 512; }
  // A stored element in its computed type.
  Expression widened(const Expression& element, DType stored, const Type& computed) const;

  // Statistics of row `kept`; by default computed by each thread in a loop.
  virtual Expressions statistics(const Reduction& reduction, const Indices& kept);
  // Ops without an expression; overridden by kernels that know their results.
  virtual Expression foreign(const Node& node, const Indices& at);

  // Sources of scatters are grouped by target, in memory between kernels (scatter.h).
  bool grouped_sources = false;
  // Threads of a warp that share a list, each with its `list_part`: for few rows with many sources.
  int64_t list_parts = 1;
  // Inside a list of sources an index out of range is noted and traps after the list: a check at once would
  // delay the next loads.
  struct LateChecks {
    std::string variable;  // empty: checked at once
    size_t depth = 0;      // scope depth from which on it is valid
    bool used = false;
  };
  LateChecks late_checks;
  // A loaded index, checked against the range.
  Expression checked(const Expression& found, int64_t size, bool from_end);

  // What the statements use, for the kernel's parameters and launcher.
  std::set<const Place*>& used() { return used_; }
  std::set<const Place*>& vectorised() { return vectorised_; }
  Loads loads;

 protected:
  // Called when a value was loaded; from here on it is known by its key.
  virtual void loaded(ValueId, const Key&, const Indices&) {}

  Expression compute(ValueId id, const Node& node, size_t result, const Indices& at);
  Expression load(ValueId id, const Place& place, const Indices& at);
  // Input elements read per element of `id`, through windows and reductions.
  int64_t work(ValueId id);
  // Loads a short row that is read more than once into registers; and an element of such a row.
  void hold_row(const Reduction& reduction, const Indices& kept);
  std::optional<Expression> held_element(ValueId id, const Indices& at) const;

  const RegionRequest& request_;
  std::vector<int32_t> producers_;
  std::set<int32_t> inside_;
  bool wide_ = false;
  Scopes scopes_;
  Names names_;
  VectorLoop vector_;
  struct VectorStore {
    const Place* place;
    std::string name;
    Index start;
  };
  std::vector<VectorStore> vector_stores_;
  Expression store_condition_;  // the condition for stores; none: always
  std::set<const Place*> used_, vectorised_;
  std::map<ValueId, int64_t> work_;
  std::set<std::string> unrolled_;    // compile-time constants once loops are unrolled
  std::vector<Reduction> held_rows_;  // some of whose rows are in registers
};

// During its lifetime statements go before the lanes of the open vector, for code that they share; its lanes
// may be opened again there.
class Emitter::BeforeLanes {
 public:
  explicit BeforeLanes(Emitter& emitter)
      : emitter_(emitter),
        lanes_(emitter.vector_),
        stores_(std::exchange(emitter.vector_stores_, {})),
        outside_(emitter.scopes_, emitter.vector_.level - 1) {}
  ~BeforeLanes() {
    emitter_.vector_ = lanes_;
    emitter_.vector_stores_ = std::move(stores_);
  }
  BeforeLanes(const BeforeLanes&) = delete;
  BeforeLanes& operator=(const BeforeLanes&) = delete;

 private:
  Emitter& emitter_;
  VectorLoop lanes_;
  std::vector<VectorStore> stores_;
  Scopes::Outside outside_;
};

// Identifiers used by kernels: pointers of these names are renamed.
const std::set<std::string_view>& own_names();
Key statistic_key(const Reduction& reduction, const Indices& kept, size_t which);
// Whether indices need 64 bits.
bool needs_wide_indices(const RegionRequest& request);

// `static_cast<int>(blockIdx.x)`: a launch variable as an index.
Expression launch_index(const Type& type, const char* what);
// The global thread number in an index type, for any block size.
Expression thread_number(const Type& type, const Expression& block);
// pointer + start, or the pointer.
Expression address(const std::string& pointer, const Index& start);

// Code for an element of an op's result, one family per file (emit_*.cpp). Each adds statements to the
// emitter's open scope.

Expression pointwise_element(Emitter& emitter, const Node& node, const Indices& at);
Expression moved_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression joined_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);  // concat
Expression indexed_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression searched_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression scattered_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression pooled_element(Emitter& emitter, ValueId id, const Node& node, size_t result, const Indices& at);
Expression resized_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression created_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression reduced_element(Emitter& emitter, const Node& node, const Reduction& reduction, size_t result,
                           const Indices& at);
// `found`: the channel's statistics, in training.
Expression batch_norm_element(Emitter& emitter, const Node& node, const Indices& at, const Expressions& found,
                              size_t result);

// The checks needed for low <= index < high; none: always true.
struct Range {
  Expression condition;
  bool never = false;
};
Range within(const Index& index, int64_t low, int64_t high);

}  // namespace stitch::code::loops
