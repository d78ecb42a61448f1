// A tensor in device memory with a zone before and after it that nobody may write to.
#pragma once

#include <string>

#include "graph/type.h"
#include "runner/child/backend.h"

namespace stitch::runner {

// A number per process: what the guard zones hold can't be known in advance.
uint64_t process_secret();
// The word that fills memory for a poison number: for floats of every width a NaN, or a number of ordinary
// size.
uint32_t poison_word(DType dtype, uint64_t poison, Filling filling = Filling::nan);

class GuardedBuffer {
 public:
  // At a new address each time, `misalign` elements past one that is aligned to 256 bytes; filled with
  // `word`.
  static Result<GuardedBuffer> create(Backend& backend, const TensorType& type, int misalign, uint32_t word);
  // Beside memory that nobody can touch instead: whoever does is killed at once.
  static Result<GuardedBuffer> create_fenced(Backend& backend, const TensorType& type, Fence fence,
                                             uint32_t word);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  Address address() const { return address_; }
  const TensorType& type() const { return type_; }
  // Fills it again: nothing of the last call is left in it.
  Result<void> poison(uint32_t word);
  // What was written around it, in words; empty: nothing was.
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
