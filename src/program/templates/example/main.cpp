// Runs the program on made-up inputs: prints each output's checksum, and the time of a pass.
// Weights come from weights.safetensors and constants.safetensors in the folder that is named,
// or in the current one; tensors that are in neither file are made up, too.
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

// IEEE half precision of a number in [0, 1).
uint16_t to_half(float value) {
  int exponent = 0;
  const float mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  if (value == 0 || exponent < -13) return 0;
  return static_cast<uint16_t>((exponent + 14) << 10 | static_cast<int>((2 * mantissa - 1) * 1024));
}

float from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value = std::ldexp(static_cast<float>(exponent ? mantissa + 1024 : mantissa), (exponent ? exponent : 1) - 25);
  if (exponent == 31) value = mantissa ? NAN : INFINITY;
  return bits & 0x8000 ? -value : value;
}

template <class T>
void put(std::vector<unsigned char>& memory, size_t i, T value) {
  std::memcpy(&memory[i * sizeof value], &value, sizeof value);
}

template <class T>
T get(const std::vector<unsigned char>& memory, size_t i) {
  T value;
  std::memcpy(&value, &memory[i * sizeof value], sizeof value);
  return value;
}

// Floating-point tensors hold uniform numbers in [0, 1). Integers and masks hold 1 and 0 in turn:
// indices into any table of two rows or more, and a mask that leaves something on either side.
void fill(std::vector<unsigned char>& memory, size_t count, int32_t dtype) {
  static std::mt19937 generator(42);
  std::uniform_real_distribution<float> uniform;
  for (size_t i = 0; i < count; ++i) {
    const float number = uniform(generator);
    const int integer = i % 2 == 0;
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    switch (dtype) {
      case STITCH_F64: put<double>(memory, i, number); break;
      case STITCH_F32: put<float>(memory, i, number); break;
      case STITCH_F16: put<uint16_t>(memory, i, to_half(number)); break;
      case STITCH_BF16: put<uint16_t>(memory, i, static_cast<uint16_t>(bits >> 16)); break;
      case STITCH_I64: put<int64_t>(memory, i, integer); break;
      case STITCH_I32: put<int32_t>(memory, i, integer); break;
      default: put<int8_t>(memory, i, static_cast<int8_t>(integer));
    }
  }
}

double element(const std::vector<unsigned char>& memory, size_t i, int32_t dtype) {
  switch (dtype) {
    case STITCH_F64: return get<double>(memory, i);
    case STITCH_F32: return get<float>(memory, i);
    case STITCH_F16: return from_half(get<uint16_t>(memory, i));
    case STITCH_BF16: {
      const uint32_t bits = static_cast<uint32_t>(get<uint16_t>(memory, i)) << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case STITCH_I64: return static_cast<double>(get<int64_t>(memory, i));
    case STITCH_I32: return get<int32_t>(memory, i);
    case STITCH_I8: return get<int8_t>(memory, i);
    default: return memory[i];
  }
}

StitchTensor make(const Described& described, bool filled) {
  StitchTensor tensor{};
  tensor.dtype = described.dtype;
  tensor.rank = described.rank;
  std::memcpy(tensor.shape, described.shape, sizeof tensor.shape);
  std::memcpy(tensor.strides, described.strides, sizeof tensor.strides);
  const size_t count = elements_in_memory(described);
  std::vector<unsigned char> memory(count * element_size(described.dtype));
  if (filled) fill(memory, count, described.dtype);
  check(cudaMalloc(&tensor.data, memory.empty() ? 1 : memory.size()));
  check(cudaMemcpy(tensor.data, memory.data(), memory.size(), cudaMemcpyHostToDevice));
  return tensor;
}

// The sum of the elements.
double checksum(const Described& described, const StitchTensor& tensor) {
  const size_t count = elements_in_memory(described);
  std::vector<unsigned char> memory(count * element_size(described.dtype));
  check(cudaMemcpy(memory.data(), tensor.data, memory.size(), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += element(memory, i, described.dtype);
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
