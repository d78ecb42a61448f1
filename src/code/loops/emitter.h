// Writes the statements that compute a value of the graph at given indices, inside one kernel. Everything
// between the region's reads and that value is computed in registers.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "code/loops/numbers.h"
#include "code/loops/reduction.h"
#include "code/loops/scopes.h"
#include "code/region_code.h"

namespace stitch::code::loops {

// Lanes of a pack: the innermost variable, unrolled, whose loads and stores are one instruction.
struct PackLoop {
  std::string variable = "v";
  int64_t width = 1;
  size_t level = 0;      // of its scope
  bool together = true;  // or the lanes lie apart in memory, and each is moved by itself
};

class Emitter {
 public:
  explicit Emitter(const RegionRequest& request);
  virtual ~Emitter() = default;

  // A C expression of the value's computed type, short enough to be repeated.
  std::string value(ValueId id, const Indices& at);
  // Statements that write an element of a write's place. Inside a pack, `stores` gets what comes after it.
  void store(const Place& place, const Indices& at, const std::string& text);

  // Scopes of loops and guards, as statements need them.
  Scopes& scopes() { return scopes_; }
  Names& names() { return names_; }
  void line(std::string text) { scopes_.line(std::move(text)); }
  // `for (int name = begin; name < end; name += step) {`, and the variable as an index.
  Index open_loop(std::string_view name, const std::string& begin, const std::string& end, int64_t step,
                  int64_t extent, bool unroll = false);
  // #pragma unroll over the lanes of a pack; nothing where width is 1. Returns the lane.
  Index open_pack(int64_t width, bool together = true);
  void close_pack();  // and writes the packs that were filled inside
  void guard(const std::string& condition) { scopes_.open("if (" + condition + ")", {}, true); }
  void close() { scopes_.close(); }
  // `const int name = text;`: an index from here on.
  Index declare_index(std::string_view name, const std::string& text, int64_t extent);
  const char* index_type() const { return wide_ ? "int64_t" : "int"; }

  const Graph& graph() const { return request_.graph; }
  const RegionRequest& request() const { return request_; }
  const Place* place_of(ValueId id) const;
  int32_t producer_of(ValueId id) const;

  // What the statements use, for the kernel's parameters and for its launcher.
  const std::set<const Place*>& used() const { return used_; }
  const std::set<const Place*>& packed() const { return packed_; }
  // Loads that fill whole packs, and loads of large values that fetch one element of a pack at a time.
  // And loads of small ones, which are near but many.
  int64_t packed_loads = 0, scattered_loads = 0, repeated_loads = 0;
  // Loads of what a pack's lanes have in common with the same lanes of many other packs, as channels have.
  int64_t shared_loads = 0;
  // Reductions that were computed inside loops, each thread for itself: elements looked at.
  int64_t inlined_elements = 0;

 protected:
  // What is known of the row `kept`; by default found out on the spot, by each thread for itself.
  virtual std::vector<std::string> findings(const Reduction& reduction, const Indices& kept);
  // A value was read from memory, and is known by its key from here on.
  virtual void loaded(ValueId, const std::string&, const Indices&) {}

  // One family a file.
  std::string compute(ValueId id, const Node& node, size_t result, const Indices& at);
  std::string pointwise(const Node& node, const Indices& at);
  std::string cast(const std::string& text, DType from, DType to);
  std::string moved(ValueId id, const Node& node, const Indices& at);
  bool one_part_a_pack(const Node& node, size_t dim, const Indices& at) const;
  std::string joined_packs(ValueId id, const Node& node, size_t dim, const Indices& at);
  std::optional<std::string> chosen_pack(ValueId id, std::span<const ValueId> operands, size_t dim,
                                         int64_t start, const Indices& at, const Index& first, bool write);
  std::optional<std::string> chosen_part(ValueId id, const Node& node, size_t dim, const Indices& at);
  std::string indexed(ValueId id, const Node& node, const Indices& at);
  std::string search(ValueId id, const Node& node, const Indices& at);
  std::string window(ValueId id, const Node& node, size_t result, const Indices& at);
  std::string resized(ValueId id, const Node& node, const Indices& at);
  std::string created(ValueId id, const Node& node, const Indices& at);
  std::string reduced(const Node& node, const Reduction& reduction, size_t result, const Indices& at);
  std::string batch_norm(const Node& node, const Indices& at, const std::vector<std::string>& found,
                         size_t result);
  std::string scattered(ValueId id, const Node& node, const Indices& at);
  std::string load(ValueId id, const Place& place, const Indices& at);
  // Where a whole pack begins, if the lanes of the one that is open are one from `where` on.
  std::optional<Index> start_of_pack(const Index& where) const;
  // Elements that are looked at for one of a value, through windows and reductions on the way.
  int64_t work(ValueId id);
  // So many copies of the statements that make a value: still a body that the instruction cache holds?
  bool unrollable(int64_t copies, ValueId id) { return copies * work(id) <= 512; }
  // A short row whose elements are looked at again, into registers; and an element of one that is there.
  void hold_row(const Reduction& reduction, const Indices& kept);
  std::optional<std::string> held_element(ValueId id, const Indices& at) const;
  // Ops that no expression computes; a kernel that knows their results says so.
  virtual std::string foreign(const Node& node, const Indices& at);

  std::string name_of(ValueId id);
  std::string declare(ValueId id, const std::string& text);   // const float name = text;
  std::string variable(ValueId id, const std::string& text);  // the same, to be assigned to later
  std::string type_of(ValueId id) const { return computed_type(graph().type(id).dtype); }
  Indices broadcast_to(ValueId operand, const Indices& at) const;
  std::optional<double> constant_of(ValueId id) const;
  // Terms with negative factors become a variable: quotients of theirs would round the wrong way.
  Index settled(const Index& index, int64_t extent);

  const RegionRequest& request_;
  std::vector<int32_t> producers_;
  std::set<int32_t> inside_;
  bool wide_ = false;
  Scopes scopes_;
  Names names_;
  PackLoop pack_;
  struct PackStore {
    const Place* place;
    std::string name, position;
  };
  std::vector<PackStore> pack_stores_;
  std::string store_condition_;  // under which elements are written; empty: always
  std::string if_stored() const { return store_condition_.empty() ? "" : "if (" + store_condition_ + ") "; }
  // Directly inside a pack's lanes, not in a loop or guard further in?
  bool in_lanes() const { return pack_.width > 1 && scopes_.depth() == pack_.level + 1; }
  // While one lives, statements stand in front of the lanes of the pack that is open, for what they share;
  // its lanes may be opened again there.
  class BeforeLanes {
   public:
    explicit BeforeLanes(Emitter& emitter)
        : emitter_(emitter),
          lanes_(emitter.pack_),
          stores_(std::exchange(emitter.pack_stores_, {})),
          outside_(emitter.scopes_, emitter.pack_.level - 1) {}
    ~BeforeLanes() {
      emitter_.pack_ = lanes_;
      emitter_.pack_stores_ = std::move(stores_);
    }
    BeforeLanes(const BeforeLanes&) = delete;
    BeforeLanes& operator=(const BeforeLanes&) = delete;

   private:
    Emitter& emitter_;
    PackLoop lanes_;
    std::vector<PackStore> stores_;
    Scopes::Outside outside_;
  };
  std::set<const Place*> used_, packed_;
  std::map<ValueId, int64_t> work_;
  std::set<std::string> unrolled_;    // variables that are numbers once the loops are unrolled
  std::vector<Reduction> held_rows_;  // some of whose rows are in registers
};

std::string call_of(const char* function, DType dtype);  // expf for float, exp for double
std::string key_of(ValueId id, const Indices& at);
// Can indices of this region be int?
bool needs_wide_indices(const RegionRequest& request);

// The number of a thread in the whole grid, in an index type, however many a block has.
std::string thread_number(std::string_view type, std::string_view block);

}  // namespace stitch::code::loops
