// For tests: a package compiled for the emulated GPU and loaded, and tensors in that GPU's memory.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "build/compile_emulated/compile.h"
#include "oracle/tensor.h"
#include "program/include/stitch/program.h"
#include "program/package.h"
#include "stitch_emulated.h"

namespace stitch {

// Device memory with a tensor in it, `misaligned` elements behind an aligned address.
class DeviceTensor {
 public:
  explicit DeviceTensor(const TensorType& type, int misaligned = 0) {
    size_t size = static_cast<size_t>(size_of(type.dtype)), offset = size * static_cast<size_t>(misaligned);
    bytes_ = static_cast<size_t>(type.bytes());
    EXPECT_EQ(cudaMalloc(&memory_, bytes_ + offset), cudaSuccess);
    tensor_.data = static_cast<char*>(memory_) + offset;
    tensor_.dtype = static_cast<int32_t>(type.dtype);
    tensor_.rank = static_cast<int32_t>(type.rank());
    std::vector<int64_t> strides = type.strides.empty() ? contiguous_strides(type.shape) : type.strides;
    for (size_t i = 0; i < type.shape.size(); ++i) {
      tensor_.shape[i] = type.shape[i];
      tensor_.strides[i] = strides[i];
    }
  }
  DeviceTensor(DeviceTensor&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_), tensor_(other.tensor_) {}
  ~DeviceTensor() {
    if (memory_) cudaFree(memory_);
  }

  void write(std::span<const std::byte> from) { std::memcpy(tensor_.data, from.data(), bytes_); }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(tensor_.data), bytes_}; }
  const StitchTensor& tensor() const { return tensor_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  StitchTensor tensor_{};
};

inline std::vector<StitchTensor> tensors_of(const std::vector<DeviceTensor>& all) {
  std::vector<StitchTensor> out;
  for (const DeviceTensor& each : all) out.push_back(each.tensor());
  return out;
}

// The functions of the ABI, as the library has them.
struct LoadedProgram {
  Package package;
  void* library = nullptr;
  decltype(&stitch_create) create = nullptr;
  decltype(&stitch_run) run = nullptr;
  decltype(&stitch_destroy) destroy = nullptr;
  decltype(&stitch_manifest) manifest = nullptr;
  decltype(&stitch_last_error) last_error = nullptr;
  decltype(&stitch_run_region) run_region = nullptr;

  // Compiled once a test program.
  static Result<LoadedProgram> load(const fs::path& folder) {
    LoadedProgram program;
    STITCH_TRY(program.package, load_package(folder));
    emulated::CompileOptions options;
    options.include_dirs = program.package.include_dirs;
    options.optimise = false;  // small tensors: compiling would take longer than that saves
    fs::path out = fs::path(STITCH_BINARY_DIR) / ("example_" + folder.filename().string() + ".so");
    STITCH_TRY(fs::path library, emulated::compile_emulated(program.package.sources, out, options));
    program.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!program.library) return work_error("dlopen", dlerror());
    bool complete = true;
    auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(program.library, name));
      complete &= function != nullptr;
    };
    find(program.create, "stitch_create");
    find(program.run, "stitch_run");
    find(program.destroy, "stitch_destroy");
    find(program.manifest, "stitch_manifest");
    find(program.last_error, "stitch_last_error");
    find(program.run_region, "stitch_run_region");
    if (!complete) return work_error("dlopen", "a function of the ABI is missing");
    return program;
  }
};

}  // namespace stitch
