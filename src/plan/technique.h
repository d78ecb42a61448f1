// A technique: one way to implement a region. The Planner knows techniques only by this interface; the
// Coder's techniques also generate code (code/technique.h). code/catalogue.cpp is the table of them all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/context.h"
#include "plan/plan.h"

namespace stitch::plan {

// What a region computes: one product, convolution, attention or recurrence; otherwise loops over elements.
enum class Kind : uint8_t {
  product,
  convolution,
  attention,
  recurrence,
  loop,
  any,  // only of techniques: for all of these
};
Kind kind_of(const Graph& graph, const Region& region);

// The step that introduces a technique.
enum class Entry : uint8_t {
  plain,        // the first plan
  fast,         // the step "libraries": the first in the catalogue that accepts the region and suits it
  approximate,  // the step "tensor cores": replaces a technique that gives way, where it suits
  given,        // no step: only if a plan document names it
};

// A parameter with a choice of `values`, made by the cost model, a tuner, a person or an LLM.
struct Knob {
  std::string name;             // "key_tile"
  std::string meaning;          // one line, for documents and prompts
  std::vector<int64_t> values;  // legal for this region on this GPU
  bool recompiles = true;       // else it is set when a program is created
};

// Accumulation on tensor cores, which truncate: the number of terms per sum, and the knob that shortens it.
struct TruncatedSums {
  double length = 0;
  bool balanced = false;  // one operand is a weight, so positive and negative terms balance
  std::string knob;
  bool centred = false;  // means are subtracted from one operand, so the terms are smaller
};

// A knob value that trades time for memory.
struct Leaner {
  std::string knob;
  int64_t value = 0;
  double bytes = 0;
  ValueId weight = ValueId::none;  // regions with the same weight share these bytes
};

// The throughput that a technique reaches, for the cost model (plan/cost/estimate.h).
struct Rate {
  double matrix = 0;     // operations per second of products
  double bandwidth = 0;  // share of the copy bandwidth
  double kernels = 1;
};
// Memory traffic of a region's kernels.
struct Traffic {
  double bytes = 0;
  int kernels = 0;
};

// While layouts are chosen: may this value have another order than row-major?
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
  // The ways it can implement the region; the first is the default.
  virtual std::vector<Offer> offers(const Context&, const Region&) const { return {Offer{}}; }
  // With this offer, is it expected to be faster than the techniques after it in the catalogue?
  virtual bool suits(const Context&, const Region&, const Offer&) const { return true; }
  // May another technique replace it, where that one suits?
  virtual bool gives_way(const Context&, const Region&) const { return false; }
  // Does it have FP32's accuracy with this offer?
  virtual bool is_exact(const Offer& offer) const { return offer.arithmetic == Arithmetic::exact; }
  virtual std::vector<Knob> knobs(const Context&, const Region&) const { return {}; }
  // Does it use the region's own source? Only then may a region have one.
  virtual bool takes_source() const { return false; }
  // Can it implement the region with the plan's storage of values?
  virtual Result<void> accepts_storage(const Context&, const Plan&, const Region&) const { return {}; }
  // Can its code be generated as the plan has it, with the orders of all values? An answer costs as much as
  // generating it.
  virtual Result<void> can_write(const Context&, const Plan&, const Region&) const { return {}; }

  // Fusion: can it apply epilogues other than ReLU without another pass over the result?
  virtual bool has_free_epilogue() const { return true; }
  // Every result element is computed independently.
  virtual bool is_elementwise() const { return false; }

  // Layouts: can it read and write any order of dimensions?
  virtual bool takes_any_order() const { return false; }
  // The reads and writes that should stay row-major, given which values may change their layout.
  // `element_bytes`: of a value that changes.
  virtual std::vector<ValueId> row_major_values(const Context&, const Region&, const Movable&,
                                                int64_t /*element_bytes*/) const {
    return {};
  }
  // Its result may be stored in fp16 around fp16 convolutions, though it is computed in FP32.
  virtual bool may_round_result() const { return false; }

  virtual std::optional<TruncatedSums> truncated_sums(const Context&, const Region&) const {
    return std::nullopt;
  }

  // Further relative error of its product, for uniformly or normally distributed operands.
  virtual double added_error(const Context&, const Region&) const { return 0; }

  // Nothing: it needs no more memory for weights than the model, or has no choice.
  virtual std::optional<Leaner> leaner(const Context&, const Region&) const { return std::nullopt; }

  // Scratch memory of a run.
  virtual double scratch_bytes(const Context&, const Region&) const { return 0; }

  virtual Rate rate(const Context& context, const Region& region) const = 0;
  // Bytes that its main kernel moves; nothing: the region's reads and writes as stored.
  virtual std::optional<double> kernel_bytes(const Context&, const Region&) const { return std::nullopt; }
  // Further bytes, of layout conversions before and after a library's kernel.
  virtual double rearranged_bytes(const Context&, const Plan&, const Region&) const { return 0; }
  // Seconds of serial dependencies, such as the steps of a recurrence.
  virtual double latency(const Context&, const Region&) const { return 0; }
  // Traffic of the kernels it would generate; nothing: the region's reads and writes.
  virtual std::optional<Traffic> traffic(const Context&, const Region&) const { return std::nullopt; }

  // The precision that the product's operands are rounded to.
  virtual Precision operand_precision(const Context&, const Region& region) const {
    return region.offer.rounds_to_half() ? Precision::f16 : Precision::f32;
  }
  // Is the product's own result rounded to fp16 before the rest of the region is computed from it?
  virtual bool rounds_product(const Context&, const Plan&, const Region&) const { return false; }
};

// All techniques, best first within a kind.
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
