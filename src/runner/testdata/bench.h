// For tests: builds and starts the candidates of this folder and asks for y = 3x.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "build/build.h"
#include "runner/candidate.h"

namespace stitch::runner {

inline fs::path candidate_library(const std::string& name, Device device = Device::emulated,
                                  const std::vector<std::string>& libraries = {},
                                  bool address_sanitizer = false) {
  ::setenv("STITCHCUDA_CACHE", STITCH_BINARY_DIR "/cache", 1);
  build::BuildRequest request;
  request.sources = {fs::path(STITCH_SOURCE_DIR) / "src/runner/testdata" / (name + ".cu")};
  request.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
  request.libraries = libraries;
  request.address_sanitizer = address_sanitizer;
  if (device == Device::cuda) request.target = build::Target::cuda;
  auto built = build::build(request);
  EXPECT_TRUE(built) << built.error().text();
  return built->library;
}

struct Bench {
  static constexpr int64_t count = 1000;
  const TensorType vector{DType::f32, {count}, {}};
  Arena arena;
  TensorAt scale, x;
  int64_t y;

  static Bench create() {
    auto arena = Arena::create(0);
    EXPECT_TRUE(arena);
    return Bench(*std::move(arena));
  }

  explicit Bench(Arena&& from) : arena(std::move(from)) {
    scale = {{DType::f32, {1}, {}}, *arena.allocate(4)};
    x = {vector, *arena.allocate(vector.bytes())};
    y = *arena.allocate(vector.bytes());
    *floats(scale.offset) = 3;
    for (int64_t i = 0; i < count; ++i) floats(x.offset)[i] = static_cast<float>(i);
  }
  float* floats(int64_t offset) { return reinterpret_cast<float*>(arena.bytes(offset, 4).data()); }

  Candidate start(Options options = {}) {
    options.device = device;
    options.address_sanitizer = address_sanitizer;
    auto candidate = Candidate::start(options, arena);
    EXPECT_TRUE(candidate) << candidate.error().text();
    return *std::move(candidate);
  }

  // Loads, creates, places and calls; returns the first failure.
  std::optional<Failure> use(Candidate& candidate, const std::string& name, const CallOptions& options = {}) {
    if (auto loaded = candidate.load(candidate_library(name, device, libraries, address_sanitizer));
        !loaded.ok())
      return loaded.failure;
    if (auto created = candidate.create({&scale, 1}); !created.ok()) return created.failure;
    auto set = candidate.place({&x, 1});
    if (!set.ok()) return set.failure;
    auto answer = candidate.call(set.value, {&vector, 1}, options);
    called = answer.value;
    return answer.failure;
  }
  // Whether the last call's output is right.
  bool right(Candidate& candidate) {
    std::memset(arena.bytes(y, vector.bytes()).data(), 0, static_cast<size_t>(vector.bytes()));
    const Range all{0, vector.bytes()};
    if (!candidate.fetch_output(0, {&all, 1}, y).ok()) return false;
    for (int64_t i = 0; i < count; ++i)
      if (floats(y)[i] != 3 * static_cast<float>(i)) return false;
    return true;
  }

  Called called;
  Device device = Device::emulated;
  std::vector<std::string> libraries;
  bool address_sanitizer = false;
};

}  // namespace stitch::runner
