// What the tuner found before, by GPU, library versions and what was decided about: a small file each.
// Advice: whoever takes it tries it in the program at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"

namespace stitch::agents {

class TuningCache {
 public:
  // `machine`: what times hold for. In cache_folder()/tuning unless told.
  explicit TuningCache(std::string machine, fs::path folder = {});

  std::optional<int64_t> find(const std::string& signature) const;
  // Whole or not at all; without it something is tried again, and nothing worse.
  void remember(const std::string& signature, int64_t value, double gain) const;

 private:
  fs::path file_of(const std::string& signature) const;

  std::string machine_;
  fs::path folder_;
};

}  // namespace stitch::agents
