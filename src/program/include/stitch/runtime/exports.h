// The C ABI's functions over a program's own struct, which offers
//   StitchStatus create(const StitchTensor* params);
//   StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream);
// Tensors are checked here first.
#pragma once

#include <new>

#include "stitch/runtime/tensors.h"

namespace stitch {
inline const char* last_error() { return last_error_text; }

// Switches to the program's device and restores the caller's.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device)
      changed_ = cudaSetDevice(device) == cudaSuccess;
  }
  ~DeviceScope() {
    if (changed_) (void)cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

// Owns a program until it is returned. Not <memory>, which takes long to compile.
template <class Program>
struct Owned {
  Program* program;
  Owned() : program(new Program()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { delete program; }
};

template <class Program, size_t parameter_count>
int create_program(const std::array<TensorContract, parameter_count>& parameters, const StitchTensor* params,
                   int count, int device, Program** out) {
  return without_exceptions([&]() -> StitchStatus {
    if (!out) return fail(STITCH_BAD_ARGUMENT, "there is no place for the program: out is null");
    *out = nullptr;
    STITCH_OK_OR_RETURN(check_tensors("parameter", parameters, params, count));
    int devices = 0;
    STITCH_CUDA(cudaGetDeviceCount(&devices));
    if (device < 0 || device >= devices)
      return fail(STITCH_BAD_ARGUMENT, "device %d: there are %d devices", device, devices);
    DeviceScope scope(device);
    // The weights may still be being written on an unknown stream.
    STITCH_CUDA(cudaDeviceSynchronize());
    Owned<Program> made;
    made.program->device = device;
    STITCH_OK_OR_RETURN(made.program->create(params));
    STITCH_CUDA(cudaDeviceSynchronize());
    *out = made.program;
    made.program = nullptr;
    return STITCH_OK;
  });
}

template <class Program, size_t input_count, size_t output_count>
int run_program(Program* program, const std::array<TensorContract, input_count>& inputs,
                const StitchTensor* in, int n_in, const std::array<TensorContract, output_count>& outputs,
                const StitchTensor* out, int n_out, void* stream) {
  return without_exceptions([&]() -> StitchStatus {
    if (!program) return fail(STITCH_BAD_ARGUMENT, "the program is null");
    STITCH_OK_OR_RETURN(check_tensors("input", inputs, in, n_in));
    STITCH_OK_OR_RETURN(check_tensors("output", outputs, out, n_out));
    DeviceScope scope(program->device);
    return program->run(in, out, static_cast<cudaStream_t>(stream));
  });
}

// The same for one region, enqueued by `enqueue(in, out, stream)`.
template <class Program, size_t read_count, size_t write_count, class Enqueue>
int run_region(Program* program, const std::array<TensorContract, read_count>& reads, const StitchTensor* in,
               int n_in, const std::array<TensorContract, write_count>& writes, const StitchTensor* out,
               int n_out, void* stream, Enqueue&& enqueue) {
  return without_exceptions([&]() -> StitchStatus {
    if (!program) return fail(STITCH_BAD_ARGUMENT, "the program is null");
    STITCH_OK_OR_RETURN(check_tensors("region input", reads, in, n_in));
    STITCH_OK_OR_RETURN(check_tensors("region output", writes, out, n_out));
    DeviceScope scope(program->device);
    return enqueue(in, out, static_cast<cudaStream_t>(stream));
  });
}

inline int no_such_region(int region, int count) {
  return fail(STITCH_BAD_ARGUMENT, "region %d: this program has %d", region, count);
}

template <class Program>
void destroy_program(Program* program) {
  if (!program) return;
  DeviceScope scope(program->device);
  (void)cudaDeviceSynchronize();  // work may still use the memory freed below
  delete program;
}

}  // namespace stitch
