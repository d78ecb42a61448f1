// One question and its answer: inputs that a program has never seen, what float64 says, and what PyTorch
// says in the numerics class at hand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/safetensors.h"
#include "oracle/tensor.h"
#include "reference/numerics.h"

namespace stitch::verifier {

// Tensors and the owners of their bytes.
struct Tensors {
  std::vector<TensorBytes> tensors;
  std::vector<std::shared_ptr<const void>> owners;

  size_t size() const { return tensors.size(); }
  const TensorBytes& operator[](size_t i) const { return tensors[i]; }
  // Takes over bytes of its own.
  void add(TensorType type, std::vector<std::byte> bytes);
  void add(const TensorBytes& tensor, std::shared_ptr<const void> owner);
  int64_t bytes() const;  // with those that are held elsewhere
};

enum class Weights : uint8_t {
  task,             // as the task draws them
  reparameterised,  // gains, offsets and statistics redrawn, so that inputs and parameters matter
  faint,            // the same, thirty times smaller and with rows of zeros: what layers hand on is faint
  pointed,          // reparameterised, with recurrences that remember and a last class by far (pointed.h)
  bounded,          // reparameterised, with shifts that bring layers to the graph's bounds (boundaries.h)
  tails,            // reparameterised, with layers that give a GELU its tail (pointed.h)
  mixed,  // the task's, but what is one number throughout is others: for a ModelNew with its own names
};
std::string_view name(Weights weights);

// Kinds of inputs that tasks hardly ever draw. They are asked where they matter, and count where PyTorch
// itself is right.
namespace harsh {
inline constexpr std::string_view large = "large";      // |x| in the hundreds: exp overflows
inline constexpr std::string_view offset = "offset";    // a mean a thousand times the deviation
inline constexpr std::string_view ties = "ties";        // few values, many times each
inline constexpr std::string_view zeros = "zero rows";  // whole rows, columns and samples of zeros: epsilons
inline constexpr std::string_view ends = "ends";        // the largest of a row at its ends and in its tail
inline constexpr std::string_view patches = "patches";  // some of these in places, and the task's own draw
inline constexpr std::string_view prefix = "prefix";    // zeros from a secret step on: what was long ago
inline constexpr std::string_view inner_prefix = "inner prefix";  // the same along the second dimension
inline constexpr std::string_view low = "low";        // everything far below zero: maxima that begin there
inline constexpr std::string_view small = "small";    // ten thousandths: what expm1 and log1p are for
inline constexpr std::string_view uneven = "uneven";  // one input far larger than the others
inline constexpr std::string_view masks = "masks";    // uniform masks mixed, positions in another order
inline constexpr std::string_view empty_rows = "empty rows";  // whole rows of masks that keep nothing, or all
inline constexpr std::string_view not_finite = "not finite";
// By the graph's own constants (boundaries.h); with " below zero" behind them where they are.
inline constexpr std::string_view bounds = "bounds";  // at, below and above what is compared with
inline constexpr std::string_view whole_numbers = "whole numbers";  // and halves: rounding, remainders
inline constexpr std::string_view far_angles = "far angles";        // of sines
inline constexpr std::string_view sizes = "sizes";                  // samples about as large as a bound
inline constexpr std::string_view tails = "tails";                  // of a GELU, everywhere
inline constexpr std::string_view wide = "wide integers";           // beyond what FP32 holds, or that wrap
inline constexpr std::string_view not_numbers =
    "not numbers";  // NaN and infinities that the graph asks about
// Behind a kind: within what the task draws, for a model that raises beyond it.
inline constexpr std::string_view in_range = " in range";
bool is_harsh(std::string_view distribution);
// Inputs that are where something jumps, exactly: moved by a rounding, they would be elsewhere.
bool is_exact(std::string_view distribution);
}  // namespace harsh

struct Question {
  Weights weights = Weights::task;
  std::string distribution = "task";
  uint64_t seed = 0;   // secret until the verdict is out
  bool whole = false;  // all tensors here, however large
  bool own = false;    // a held trial keeps PyTorch's own outputs, too
  bool once = false;   // it will not be asked again
  // Random numbers are PyTorch's by the seed, as a ModelNew draws them, and not the graph's.
  bool pytorchs_numbers = false;
  // Then `pytorch` is what float64 makes of parameters that are moved by up to this much, relative: an honest
  // program's rounding of the same weights is the same on all inputs.
  double moved_weights = 0;
  uint64_t moved_by = 0;  // a seed
};

// Whether it counts only where PyTorch itself is right.
bool is_harsh(const Question& question);
// Of GELUs, by inputs or by weights.
bool is_in_tails(const Question& question);
NotFinite not_finite_of(const Question& question);

// A call of a series, and how far its outputs are from what PyTorch itself answers in the class, relative.
struct StrangeCall {
  int slot = 0;
  double distance = 0;
};

// A trial that the reference keeps, since its tensors are too large to be moved about: ask about them there.
struct HeldTrial {
  int number = 0;
};

struct Trial {
  Question question;
  std::shared_ptr<const HeldTrial>
      held;         // then inputs and truth are types without bytes, and pytorch is empty
  Tensors inputs;   // in the signature's order: inputs, states, the seed
  Tensors truth;    // in the signature's order: outputs, updates; floats as f64
  Tensors pytorch;  // the same in the class's precision; empty where PyTorch can't say
  mutable std::vector<std::optional<Distance>> pytorch_distances;  // from the truth, once taken
  // Relative, per output: what a change of the inputs within the class's rounding does to the truth.
  // Only where PyTorch can't say.
  std::vector<double> sensitivity;
  bool in_domain = true;  // the truth is finite, or the task itself draws such inputs
  // By output: the truth is not finite there, or, of harsh inputs, PyTorch is not near it, and nothing is
  // judged. Empty: none.
  std::vector<bool> unsound;

  bool counts(size_t output) const { return output >= unsound.size() || !unsound[output]; }
  // Outputs as float64 gives them a rounding away from discontinuities, made on first use.
  mutable std::shared_ptr<const std::vector<std::vector<oracle::Tensor>>> across_jumps;
};

// How far PyTorch is off, where it can say.
std::optional<Distance> pytorch_distance(const Trial& trial, size_t output);

}  // namespace stitch::verifier
