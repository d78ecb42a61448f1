// A technique: one way to implement a region. This interface is all that the Planner knows of one; the
// Coder's techniques also write (code/technique.h), and code/catalogue.cpp is the one table of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/context.h"
#include "plan/plan.h"

namespace stitch::plan {

// What a region is about: its one product, convolution, attention or recurrence; else everything that is
// made of loops over elements.
enum class Kind : uint8_t {
  product,
  convolution,
  attention,
  recurrence,
  loop,
  any,  // of a technique alone: it is for all of these
};
Kind kind_of(const Graph& graph, const Region& region);

// Which step of the to-do list brings a technique in.
enum class Entry : uint8_t {
  plain,        // the first plan: always right
  fast,         // the step "libraries": the first in the catalogue that accepts the region and suits it
  approximate,  // the step "tensor cores": in place of another one that gives way, where it suits
  given,        // no step: whoever writes the plan asks for it
};

// A number that may be chosen freely among `values`: by the cost model, a tuner, a person or an LLM.
struct Knob {
  std::string name;             // "key_tile"
  std::string meaning;          // one line, for people and prompts
  std::vector<int64_t> values;  // legal for this region on this GPU
  bool recompiles = true;       // else it is set when a program is created
};

// Sums that tensor cores cut off: how many products long, and the knob that makes them shorter.
struct TruncatedSums {
  double length = 0;
  bool balanced = false;  // a weight is in them: as many negative terms as positive ones
  std::string knob;
  bool centred = false;  // means are taken off one side: what is summed is smaller
};

// Another value of a knob, by which a program takes fewer bytes of memory, and more time.
struct Leaner {
  std::string knob;
  int64_t value = 0;
  double bytes = 0;
  ValueId weight = ValueId::none;  // regions that read the same share these bytes
};

// What a technique reaches of the GPU, for the cost model (plan/estimate.h).
struct Rate {
  double matrix = 0;     // operations per second of products
  double bandwidth = 0;  // share of the copy bandwidth
  double kernels = 1;
};
// What the kernels of a region move, one after the other.
struct Traffic {
  double bytes = 0;
  int kernels = 0;
};

// Asked while layouts are chosen: may this value lie in another order than row-major?
using Movable = std::function<bool(ValueId)>;

class Technique {
 public:
  virtual ~Technique() = default;

  virtual std::string_view name() const = 0;  // "kind.idea"
  virtual std::string_view idea() const = 0;  // one line
  virtual Kind kind() const = 0;
  virtual Entry entry() const { return Entry::fast; }

  // An error says why it can't implement the region on this GPU.
  virtual Result<void> accepts(const Context& context, const Region& region) const = 0;
  // The ways in which it can; the first is what it does by itself.
  virtual std::vector<Offer> offers(const Context&, const Region&) const { return {Offer{}}; }
  // Is it expected to be faster than those behind it in the catalogue, this way?
  virtual bool suits(const Context&, const Region&, const Offer&) const { return true; }
  // May another technique take the region over, where that suits?
  virtual bool gives_way(const Context&, const Region&) const { return false; }
  // Has it FP32's accuracy this way?
  virtual bool is_exact(const Offer& offer) const { return offer.arithmetic == Arithmetic::exact; }
  virtual std::vector<Knob> knobs(const Context&, const Region&) const { return {}; }
  // Is its code the region's own source? Only then a region may have one.
  virtual bool takes_source() const { return false; }
  // Can it, with values stored as the plan has them?
  virtual Result<void> accepts_storage(const Context&, const Plan&, const Region&) const { return {}; }

  // Fusion: has it any epilogue but ReLU without another pass over the result?
  virtual bool has_free_epilogue() const { return true; }
  // Every result element is computed for itself.
  virtual bool is_elementwise() const { return false; }

  // Layouts: can it read and write any order of dimensions?
  virtual bool takes_any_order() const { return false; }
  // Of what the region reads and writes: what should stay row-major all the same, given what may move.
  // `element_bytes`: of a value that moves.
  virtual std::vector<ValueId> row_major_values(const Context&, const Region&, const Movable&,
                                                int64_t /*element_bytes*/) const {
    return {};
  }
  // Its result may be stored in fp16 where convolutions lose bits, though it is computed in FP32.
  virtual bool may_round_result() const { return false; }

  virtual std::optional<TruncatedSums> truncated_sums(const Context&, const Region&) const {
    return std::nullopt;
  }

  // What it adds to the result of its product besides, as a part of it, where numbers are spread evenly or
  // normally.
  virtual double added_error(const Context&, const Region&) const { return 0; }

  // Nothing: it holds weights in no more memory than the model does, or can't do otherwise.
  virtual std::optional<Leaner> leaner(const Context&, const Region&) const { return std::nullopt; }

  // Memory that a run needs besides what the region reads and writes.
  virtual double scratch_bytes(const Context&, const Region&) const { return 0; }

  virtual Rate rate(const Context& context, const Region& region) const = 0;
  // Bytes that its main kernel moves; nothing: what the region reads and writes, as it is stored.
  virtual std::optional<double> kernel_bytes(const Context&, const Region&) const { return std::nullopt; }
  // Bytes moved besides that: passes before and behind a library's kernel.
  virtual double rearranged_bytes(const Context&, const Plan&, const Region&) const { return 0; }
  // Seconds of work that waits for itself, such as the steps of a recurrence.
  virtual double latency(const Context&, const Region&) const { return 0; }
  // Of the kernels it would write; nothing: the region's reads and writes.
  virtual std::optional<Traffic> traffic(const Context&, const Region&) const { return std::nullopt; }

  // What it rounds the operands of the region's product to before it multiplies them.
  virtual Precision operand_precision(const Context&, const Region& region) const {
    return region.offer.rounds_to_half() ? Precision::f16 : Precision::f32;
  }
  // Is the product's own result rounded to fp16 before the rest of the region is computed from it?
  virtual bool rounds_product(const Context&, const Plan&, const Region&) const { return false; }
};

// All techniques there are, best first within a kind.
class Catalogue {
 public:
  explicit Catalogue(std::span<const Technique* const> all) : all_(all) {}

  std::span<const Technique* const> all() const { return all_; }
  const Technique* find(std::string_view name) const;
  // The simplest one that accepts the region as it is; an error says why none does.
  Result<const Technique*> plain(const Context& context, const Region& region) const;

 private:
  std::span<const Technique* const> all_;
};

bool offers(const Technique& technique, const Context& context, const Region& region, const Offer& offer);

}  // namespace stitch::plan
