// The compact Coder at work: a plan with its choices, and a Planner that proposes them after another one's
// steps.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agents/roles.h"
#include "base/file.h"
#include "base/result.h"
#include "learn/coder/region_question.h"

namespace stitch::learn {

// A network that scores choices: features of a choice in, one number out. Choices are compared by their
// scores, so nothing about the network changes when there are new ones.

// Widths from the features to the last hidden layer; one score comes out of that.
struct ScorerShape {
  std::vector<int> widths;

  int features() const { return widths.front(); }
  size_t parameters() const;
  bool operator==(const ScorerShape&) const = default;
};

class Scorer {
 public:
  // `parameters`: layer after layer, weights (in, out), then biases (out).
  Scorer(ScorerShape shape, std::vector<double> parameters);

  const ScorerShape& shape() const { return shape_; }
  std::vector<double> score(std::span<const float> rows) const;  // rows: (choices, features)

 private:
  ScorerShape shape_;
  std::vector<double> parameters_;
};

// The weights of a committee on disk, as training writes them: safetensors, FP32, a tensor a layer
// (members.0.layers.0.weight (in, out), members.0.layers.0.bias (out), …) and a JSON text `about`.
struct WeightsFile {
  std::vector<Scorer> members;  // one at least, all of one shape
  std::string about;
};
Result<WeightsFile> read_weights(const fs::path& file);
// The same from bytes, for weights that are part of the program.
Result<WeightsFile> parse_weights(std::span<const std::byte> bytes);

// The compact Coder's choice for a region: an ensemble of small networks predicts the time of each choice,
// and replaces the built-in one only where they agree that another is faster.

// A network's scores are logarithms of speed, times this; training (python/stitchcuda_torch/train_coder.py)
// has the same numbers.
inline constexpr double sharpness = 10;
// A gain under this is not worth a change: about the clock's spread.
inline constexpr double least_gain = 0.02;

struct Committee {
  std::vector<Scorer> members;
  // Spreads of the members' forecasts by which their mean has to be under the least gain.
  double caution = 1;
  // As way_text has them: those that many training regions had. Of others it knows nothing, whatever its
  // members say; empty: of all.
  std::set<std::string> known_ways = {};
};

struct Forecast {
  double mean = 0, spread = 0;  // of log(time / the built-in choice's)
};
// One for each choice of the question.
std::vector<Forecast> forecasts(std::span<const Scorer> members, RegionQuestion& question);

std::string way_text(const plan::Region& region);  // "conv.cudnn half channels_last"
// Its index among the question's choices; 0: the built-in one.
size_t decide(const Committee& committee, RegionQuestion& question);

// Weights that are part of the program: --coder-weights sm_90 (coder/weights/README.md says how they were
// made).
inline constexpr std::string_view shipped_coder = "sm_90";
// Those, by their name; or a file that train wrote, for the features of this version.
Result<Committee> load_coder(const fs::path& place);

struct Proposed {
  plan::Plan plan;
  std::vector<std::string> changed;  // regions, by name
};
// A choice that the plan as a whole can't have is left out.
Result<Proposed> with_learned_choices(const plan::Context& context, plan::Plan plan,
                                      const Committee& committee);

// After the steps of `planner`: one step with the choices on top of the best plan. The Verifier decides.
std::unique_ptr<agents::Planner> learned_planner(std::unique_ptr<agents::Planner> planner,
                                                 Committee committee);

inline constexpr std::string_view learned_step = "learned choices";

}  // namespace stitch::learn
