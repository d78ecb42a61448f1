// The part of DLPack's C exchange API that a call needs (PyTorch offers it since 2.10 as
// torch.Tensor.__dlpack_c_exchange_api__). The layout is DLPack's and stable within a major version.
#pragma once

#include <cstdint>

namespace stitch::call {

constexpr uint32_t dlpack_major = 1;
enum DeviceType : int32_t { cpu_device = 1, cuda_device = 2 };

struct DlDevice {
  int32_t type;
  int32_t index;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t rank;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct ExchangeApi {
  struct {
    uint32_t major, minor;
    void* previous;
  } header;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object, DlTensor* out);  // borrowed: valid while the object lives and rests
  int (*current_stream)(int32_t device_type, int32_t device_index, void** out);
};

}  // namespace stitch::call
