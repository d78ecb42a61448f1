// Tensors as cuDNN takes them: dense, f32, 16-byte aligned. Other memory of the caller is copied.
#pragma once

#include <string>

#include "code/products/signature.h"

namespace stitch::code {

// Whether the value is in the caller's memory, at any address.
bool is_from_caller(const Graph& graph, ValueId value);

class DenseTensors {
 public:
  DenseTensors(const RegionRequest& request, Signature& signature)
      : request_(request), signature_(signature) {}

  // The argument for it; null: nullptr.
  std::string read(const Place* place);
  // Unused results go to the workspace, or are not written.
  std::string write(const Place* place, const char* unused, int64_t elements);

  std::string before, after;  // statements around the call
  int64_t bytes = 0;          // of the workspace

 private:
  std::string copy(const Place& place);
  void reserve(const std::string& name, int64_t elements);

  const RegionRequest& request_;
  Signature& signature_;
};

}  // namespace stitch::code
