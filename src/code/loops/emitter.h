// Builds the statements that compute a value of the graph at given indices, inside one kernel. Everything
// between the region's reads and that value is computed in registers. What each op is made of stands in
// ops.h.
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
  bool together = true;  // or the lanes lie apart in memory, and each is moved by itself
};

// What a kernel's loads are like.
struct Loads {
  // Loads that fill whole vectors, and loads of large values that fetch one element of a vector at a time.
  // And loads of small ones, which are near but many.
  int64_t vectorised = 0, scattered = 0, repeated = 0;
  // Loads of what a vector's lanes have in common with the same lanes of many other vectors, as channels
  // have.
  int64_t shared = 0;
  // Reductions that are computed inside loops, each thread for itself: elements looked at.
  int64_t inlined = 0;
};

class Emitter {
 public:
  explicit Emitter(const RegionRequest& request);
  virtual ~Emitter() = default;

  // The value of an element: a name, a number, or a part of a named thing.
  Expression value(ValueId id, const Indices& at);
  // Statements that write an element of a write's place. Inside a vector, `close_vector` writes it.
  void store(const Place& place, const Indices& at, const Expression& value);

  // Statements, in the scope that is open.
  Scopes& scopes() { return scopes_; }
  Names& names() { return names_; }
  void add(Statement statement) { scopes_.add(std::move(statement)); }
  // `for (int name = begin; name < end; name += step)`, and the variable as an index.
  Index open_loop(std::string_view name, const Expression& begin, const Expression& end, int64_t step,
                  int64_t extent, bool unroll = false);
  void guard(const Expression& condition) { scopes_.open({If{condition, {}}}, {}, true); }
  void close() { scopes_.close(); }
  // `const int name = value;`: an index from here on.
  Index declare_index(std::string_view name, const Expression& value, int64_t extent);
  Type index_type() const { return wide_ ? int64_type : int_type; }
  Expression declare(ValueId id, const Expression& value);   // const float name = value;
  Expression variable(ValueId id, const Expression& value);  // the same, to be assigned to later

  // #pragma unroll over the lanes of a vector; nothing where width is 1. Returns the lane.
  Index open_vector(int64_t width, bool together = true);
  void close_vector();  // and writes the vectors that were filled inside
  VectorLoop& vector() { return vector_; }
  // Directly inside a vector's lanes, not in a loop or guard further in?
  bool in_lanes() const { return vector_.width > 1 && scopes_.depth() == vector_.level + 1; }
  // And may what is at these indices be made in front of the lanes? Not where a lane gathered an index
  // itself.
  bool in_lanes(const Indices& at) const { return in_lanes() && !scopes_.mentions_own(at, vector_.variable); }
  // Where a whole vector begins, if the lanes of the one that is open are one from `where` on.
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
  // A descending index becomes a variable: quotients of it would round the wrong way.
  Index settled(const Index& index, int64_t extent);
  // So many copies of the statements that make a value: still a body that the instruction cache holds?
  bool unrollable(int64_t copies, ValueId id) { return copies * work(id) <= 512; }
  // An element of memory as it is computed with.
  Expression widened(const Expression& element, DType stored, const Type& computed) const;

  // What is known of the row `kept`; by default found out on the spot, by each thread for itself.
  virtual Expressions statistics(const Reduction& reduction, const Indices& kept);
  // Ops that no expression computes; a kernel that knows their results says so.
  virtual Expression foreign(const Node& node, const Indices& at);

  // Sources of scatters are grouped by what they name, in memory between kernels (scatter.h).
  bool grouped_sources = false;
  // Threads of a warp that go through a list together, each with its own `list_part` of it: for few rows that
  // many sources name.
  int64_t list_parts = 1;
  // Inside a list of sources, an index out of range is noted and ends the kernel behind the list: a check
  // that may end it at once would keep the loads of the next sources waiting.
  struct LateChecks {
    std::string variable;  // none: checked on the spot
    size_t depth = 0;      // of scopes from which on it is known
    bool used = false;
  };
  LateChecks late_checks;
  // An index read from memory, in range.
  Expression checked(const Expression& found, int64_t size, bool from_end);

  // What the statements use, for the kernel's parameters and for its launcher.
  std::set<const Place*>& used() { return used_; }
  std::set<const Place*>& vectorised() { return vectorised_; }
  Loads loads;

 protected:
  // A value was read from memory, and is known by its key from here on.
  virtual void loaded(ValueId, const Key&, const Indices&) {}

  Expression compute(ValueId id, const Node& node, size_t result, const Indices& at);
  Expression load(ValueId id, const Place& place, const Indices& at);
  // Elements that are looked at for one of a value, through windows and reductions on the way.
  int64_t work(ValueId id);
  // A short row whose elements are looked at again, into registers; and an element of one that is there.
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
  Expression store_condition_;  // under which elements are written; none: always
  std::set<const Place*> used_, vectorised_;
  std::map<ValueId, int64_t> work_;
  std::set<std::string> unrolled_;    // variables that are numbers once the loops are unrolled
  std::vector<Reduction> held_rows_;  // some of whose rows are in registers
};

// While one lives, statements stand in front of the lanes of the vector that is open, for what they share;
// its lanes may be opened again there.
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

// Words that kernels use themselves: a pointer of such a name gets another one inside the region.
const std::set<std::string_view>& own_names();
Key statistic_key(const Reduction& reduction, const Indices& kept, size_t which);
// Can indices of this region be int?
bool needs_wide_indices(const RegionRequest& request);

// `static_cast<int>(blockIdx.x)`: a number of the launch as an index.
Expression launch_index(const Type& type, const char* what);
// The number of a thread in the whole grid, in an index type, however many a block has.
Expression thread_number(const Type& type, const Expression& block);
// pointer + start, or the pointer.
Expression address(const std::string& pointer, const Index& start);

}  // namespace stitch::code::loops
