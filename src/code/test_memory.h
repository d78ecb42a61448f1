// For tests: values of a graph as a region's caller stores them, in the emulated GPU's memory.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "code/region_code.h"
#include "oracle/tensor.h"

namespace stitch::code {

using Layouts = std::map<std::string, plan::Storage>;  // by a value's name; what is left out is the graph's

inline Place placed(const Graph& graph, ValueId id, const Layouts& layouts, std::string pointer) {
  const TensorType& type = graph.type(id);
  Place place{id, std::move(pointer), type.dtype, type.shape, contiguous_strides(type.shape)};
  if (!type.strides.empty()) place.strides = type.strides;
  auto layout = layouts.find(graph[id].name);
  if (layout == layouts.end()) return place;
  place.dtype = layout->second.dtype;
  int64_t step = 1;
  for (size_t i = layout->second.order.size(); i-- > 0;) {
    auto d = static_cast<size_t>(layout->second.order[i]);
    place.strides[d] = step;
    step *= std::max<int64_t>(type.shape[d], 1);
  }
  return place;
}

// Calls body(where an element is stored, its place in row-major order), counted in bytes.
template <class Body>
void for_elements(const Place& place, Body body) {
  const auto size = static_cast<size_t>(size_of(place.dtype));
  const auto count = static_cast<size_t>(element_count(place.shape)) * size;
  std::vector<int64_t> index(place.shape.size());
  int64_t offset = 0;
  for (size_t dense = 0; dense < count; dense += size) {
    body(static_cast<size_t>(offset) * size, dense, size);
    for (size_t d = index.size(); d-- > 0;) {
      offset += place.strides[d];
      if (++index[d] < place.shape[d]) break;
      offset -= place.strides[d] * std::exchange(index[d], 0);
    }
  }
}

inline size_t stored_bytes(const Place& place) {
  int64_t last = 0;
  for (size_t d = 0; d < place.shape.size(); ++d)
    last += std::max<int64_t>(place.shape[d] - 1, 0) * place.strides[d];
  return static_cast<size_t>((last + 1) * size_of(place.dtype));
}

inline std::vector<std::byte> laid_out(const oracle::Tensor& tensor, const Place& place) {
  std::vector<std::byte> dense = tensor.to_bytes(place.dtype), out(stored_bytes(place));
  if (place.strides == contiguous_strides(place.shape))
    std::ranges::copy(dense, out.begin());
  else
    for_elements(place, [&](size_t stored, size_t from, size_t size) {
      std::memcpy(out.data() + stored, dense.data() + from, size);
    });
  return out;
}

inline oracle::Tensor taken_back(const Place& place, const std::byte* bytes) {
  std::vector<std::byte> dense(static_cast<size_t>(element_count(place.shape) * size_of(place.dtype)));
  if (place.strides == contiguous_strides(place.shape))
    std::copy_n(bytes, dense.size(), dense.data());
  else
    for_elements(place, [&](size_t stored, size_t to, size_t size) {
      std::memcpy(dense.data() + to, bytes + stored, size);
    });
  return *oracle::Tensor::from_bytes(place.dtype, place.shape, dense);
}

// Device memory of a place, full of NaNs; one element off a 16-byte boundary if asked.
class Memory {
 public:
  Memory(const Place& place, bool misaligned)
      : place_(place),
        bytes_(stored_bytes(place)),
        offset_(misaligned ? static_cast<size_t>(size_of(place.dtype)) : 0) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes_ + offset_), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0xFF, bytes_ + offset_), cudaSuccess);
  }
  Memory(const Memory&) = delete;
  Memory(Memory&& other) noexcept
      : place_(other.place_),
        bytes_(other.bytes_),
        offset_(other.offset_),
        memory_(std::exchange(other.memory_, nullptr)) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() { cudaFree(memory_); }

  void* pointer() const { return static_cast<char*>(memory_) + offset_; }
  void write(const oracle::Tensor& tensor) {
    const std::vector<std::byte> bytes = laid_out(tensor, place_);
    EXPECT_EQ(cudaMemcpy(pointer(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  oracle::Tensor read() const {
    std::vector<std::byte> bytes(bytes_);
    EXPECT_EQ(cudaMemcpy(bytes.data(), pointer(), bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    return taken_back(place_, bytes.data());
  }

 private:
  Place place_;
  size_t bytes_, offset_;
  void* memory_ = nullptr;
};

}  // namespace stitch::code
