// The table that training reads: a question a region, a row a choice of it, with features and times.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
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

}  // namespace stitch::learn
