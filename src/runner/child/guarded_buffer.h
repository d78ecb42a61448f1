// A tensor in device memory with a guard zone before and after it.
#pragma once

#include <string>

#include "graph/type.h"
#include "runner/child/backend.h"

namespace stitch::runner {

// Random per process, so that a program can't know what the guard zones hold.
uint64_t process_secret();
// The word that fills memory for a poison number: a NaN or a moderate number in every floating-point width.
uint32_t poison_word(DType dtype, uint64_t poison, Filling filling = Filling::nan);

class GuardedBuffer {
 public:
  // At a new address each time, `misalign` elements past a 256-byte boundary; filled with `word`.
  static Result<GuardedBuffer> create(Backend& backend, const TensorType& type, int misalign, uint32_t word);
  // Next to inaccessible memory instead: an access outside kills the process.
  static Result<GuardedBuffer> create_fenced(Backend& backend, const TensorType& type, Fence fence,
                                             uint32_t word);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  Address address() const { return address_; }
  const TensorType& type() const { return type_; }
  Result<void> poison(uint32_t word);
  // Which guard zone was written to; empty: none.
  Result<std::string> damage() const;

 private:
  GuardedBuffer() = default;
  Result<void> write_guards();

  Backend* backend_ = nullptr;
  Address base_ = 0, address_ = 0;
  int64_t total_ = 0;
  bool guarded_ = true;
  TensorType type_;
};

}  // namespace stitch::runner
