// Runs the program on made-up inputs: prints each output's checksum, and the time of a pass. Weights come from
// weights.safetensors and constants.safetensors in the folder that is named (the current one, if none is); tensors
// that are in neither are made up too.
#include <cuda_runtime.h>
#include <stitch/program.h>
#include <stitch/weights.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

struct Described {
  const char *name, *key;  // the key in the model's weights; empty: none
  int32_t dtype, rank;
  int64_t shape[STITCH_MAX_RANK], strides[STITCH_MAX_RANK];
};

@tables@
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}
void check(int status) {
  if (status == STITCH_OK) return;
  std::fprintf(stderr, "%s\n", stitch_last_error());
  std::exit(1);
}

size_t elements_in_memory(const Described& described) {
  int64_t last = 0;
  for (int i = 0; i < described.rank; ++i) {
    if (described.shape[i] == 0) return 0;
    last += (described.shape[i] - 1) * described.strides[i];
  }
  return static_cast<size_t>(last) + 1;
}

size_t element_size(int32_t dtype) {
  static constexpr size_t sizes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
  return sizes[dtype];
}

// Uniform numbers in [0, 1) for float and double; everything else starts as zero.
StitchTensor make(const Described& described, bool filled) {
  StitchTensor tensor{};
  tensor.dtype = described.dtype;
  tensor.rank = described.rank;
  std::memcpy(tensor.shape, described.shape, sizeof tensor.shape);
  std::memcpy(tensor.strides, described.strides, sizeof tensor.strides);
  size_t count = elements_in_memory(described), bytes = count * element_size(described.dtype);
  check(cudaMalloc(&tensor.data, bytes > 0 ? bytes : 1));
  check(cudaMemset(tensor.data, 0, bytes));
  static std::mt19937 generator(42);
  std::uniform_real_distribution<float> uniform;
  if (filled && described.dtype == STITCH_F32) {
    std::vector<float> values(count);
    for (float& value : values) value = uniform(generator);
    check(cudaMemcpy(tensor.data, values.data(), bytes, cudaMemcpyHostToDevice));
  } else if (filled && described.dtype == STITCH_F64) {
    std::vector<double> values(count);
    for (double& value : values) value = uniform(generator);
    check(cudaMemcpy(tensor.data, values.data(), bytes, cudaMemcpyHostToDevice));
  }
  return tensor;
}

// The sum of the elements, or of the bytes where they are no float or double.
double checksum(const Described& described, const StitchTensor& tensor) {
  size_t count = elements_in_memory(described), bytes = count * element_size(described.dtype);
  std::vector<unsigned char> memory(bytes);
  check(cudaMemcpy(memory.data(), tensor.data, bytes, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    float single = 0;
    double value = 0;
    if (described.dtype == STITCH_F32) {
      std::memcpy(&single, &memory[i * 4], 4);
      value = single;
    } else if (described.dtype == STITCH_F64) {
      std::memcpy(&value, &memory[i * 8], 8);
    } else {
      for (size_t b = 0; b < element_size(described.dtype); ++b)
        value += memory[i * element_size(described.dtype) + b];
    }
    sum += value;
  }
  return sum;
}

using Files = std::vector<std::unique_ptr<stitch::WeightsFile>>;

Files open_weights(const std::string& folder) {
  Files out;
  for (const char* name : {"weights.safetensors", "constants.safetensors"})
    if (std::ifstream(folder + "/" + name)) out.push_back(std::make_unique<stitch::WeightsFile>(folder + "/" + name));
  return out;
}

std::vector<StitchTensor> make_all(const std::vector<Described>& all, bool filled, const Files& files = {}) {
  std::vector<StitchTensor> out;
  for (const Described& each : all) {
    const stitch::WeightsFile* holder = nullptr;
    for (const auto& file : files)
      if (*each.key && file->has(each.key)) holder = file.get();
    if (!holder && *each.key) std::fprintf(stderr, "%s is made up: no file holds '%s'\n", each.name, each.key);
    out.push_back(holder ? holder->upload(each.key) : make(each, filled));
  }
  return out;
}

}  // namespace

int main(int count, char** words) try {
  const Files files = open_weights(count > 1 ? words[1] : ".");
  std::vector<StitchTensor> params = make_all(parameters, true, files), in = make_all(inputs, true, files),
                            out = make_all(outputs, false);
  StitchProgram* program = nullptr;
  check(stitch_create(params.data(), static_cast<int>(params.size()), 0, &program));
  for (const StitchTensor& packed : params) check(cudaFree(packed.data));
  auto run = [&] {
    check(stitch_run(program, in.data(), static_cast<int>(in.size()), out.data(), static_cast<int>(out.size()),
                     nullptr));
  };
  run();
  check(cudaDeviceSynchronize());
  for (size_t i = 0; i < outputs.size(); ++i)
    std::printf("%-32s checksum %.9g\n", outputs[i].name, checksum(outputs[i], out[i]));

  constexpr int warm_ups = 10, passes = 100;
  for (int i = 0; i < warm_ups; ++i) run();
  check(cudaDeviceSynchronize());
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < passes; ++i) run();
  check(cudaDeviceSynchronize());
  std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.4f ms a pass (%d passes back to back, caches warm)\n", taken.count() / passes, passes);
  stitch_destroy(program);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
