// Tensors as cuDNN takes them: dense, in f32, at 16 bytes. Memory of the caller's goes through a copy where
// it isn't.
#pragma once

#include <string>

#include "code/products/signature.h"

namespace stitch::code {

// Is the value in memory of the caller's, at any address?
bool is_from_caller(const Graph& graph, ValueId value);

class DenseTensors {
 public:
  DenseTensors(const RegionRequest& request, Signature& signature)
      : request_(request), signature_(signature) {}

  // What a call takes for it; null: nullptr.
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
