// Results of earlier tuning, by GPU, library versions and decision: one small file each. They are hints: the
// tuner times them again in the current program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"

namespace stitch::agents {

class TuningCache {
 public:
  // `machine`: what the times apply to. Default folder: cache_folder()/tuning.
  explicit TuningCache(std::string machine, fs::path folder = {});

  std::optional<int64_t> find(const std::string& signature) const;
  // Atomic; a failed write only costs another trial.
  void remember(const std::string& signature, int64_t value, double gain) const;

 private:
  fs::path file_of(const std::string& signature) const;

  std::string machine_;
  fs::path folder_;
};

}  // namespace stitch::agents
