// A program's shared library in this process, by the C ABI.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "stitch/program.h"

namespace stitch::runner {

struct LoadedProgram {
  decltype(&stitch_create) create = nullptr;
  decltype(&stitch_run) run = nullptr;
  decltype(&stitch_destroy) destroy = nullptr;
  decltype(&stitch_manifest) manifest = nullptr;
  decltype(&stitch_last_error) last_error = nullptr;
  decltype(&stitch_run_region) run_region = nullptr;  // may be null
  decltype(&stitch_set) set = nullptr;                // may be null
  std::map<std::string, int64_t> libraries;           // versions of linked libraries

  // From here on, untrusted code has run in this process.
  static Result<LoadedProgram> open(const fs::path& path);
  std::string manifest_text() const;
  std::string error_text() const;
};

// A call's tensor descriptors as a caller has them on its stack: at another address in the next call, and
// overwritten after return. A program that keeps pointers to them reads garbage.
class HandedArguments {
 public:
  StitchTensor* hand(const std::vector<StitchTensor>& tensors) {
    place_ = (place_ + 1) % places_.size();
    places_[place_] = tensors;
    return places_[place_].data();
  }
  void take_back() {
    std::vector<StitchTensor>& now = places_[place_];
    constexpr int nonsense = 0xA5;
    if (!now.empty()) std::memset(now.data(), nonsense, now.size() * sizeof(StitchTensor));
  }

 private:
  std::array<std::vector<StitchTensor>, 3> places_;
  size_t place_ = 0;
};

}  // namespace stitch::runner
