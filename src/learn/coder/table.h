// The table that training reads: a question a region, a row a choice of it, with features and times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "gpu/calibration.h"
#include "learn/coder/region_question.h"

namespace stitch::learn {

// "train", "validation", "held-out", or a set to compare on.
using NamedProblems = std::pair<std::string, std::vector<RegionProblem>>;
// A cost model to compare with, besides the one without a calibration.
using NamedCalibration = std::pair<std::string, Calibration>;

// One safetensors file:
//   features   f32 (rows, feature_count())
//   seconds    f64 (rows)              NaN: refused, wrong or not known
//   estimates  f64 (cost models, rows) the one without a calibration first
//   way        i64 (rows)              of `ways`
//   first      i64 (questions + 1)     where each question's rows begin; the first is the built-in choice
//   about      JSON: version of the features, ways, choices (a text a row), cost models (names), and
//              questions, each with its set, task, region, kind and key
// Regions where nothing can be chosen are left out. Returns how many questions the set "train" has.
Result<size_t> write_table(const fs::path& file, const std::vector<NamedProblems>& sets, Times& times,
                           const std::vector<NamedCalibration>& calibrations);

// The calibration that brings the cost model nearest to what is known of these problems.
Calibration fit_calibration(const std::vector<RegionProblem>& problems, Times& times);

// Training: python/stitchcuda_torch/train_coder.py reads a table and writes the weights, in a process of its
// own.
struct TrainOptions {
  int members = 6;
  int epochs = 60;
  double rate = 3e-3;  // of Adam, at first; falls to zero
  uint64_t seed = 1;
  std::vector<double> cautions;  // to compare with, besides the one that training finds
  std::string python;            // empty: as find_python has it
};
Json to_json(const TrainOptions& options);

struct TrainHooks {
  std::function<void(const Json& point)> on_epoch;  // epoch, loss, validation
  std::function<bool()> should_stop;
};

// Reads folder/table.safetensors; writes folder/coder.safetensors and, after every epoch,
// folder/checkpoint.pt, from which another call with the same options and table continues. Returns what
// training and the comparison found; nothing if it was stopped.
Result<std::optional<Json>> train_coder(const fs::path& folder, const TrainOptions& options,
                                        const TrainHooks& hooks);

}  // namespace stitch::learn
