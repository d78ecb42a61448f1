// Copies and fills, with the driver's address checks.
#include <cstring>
#include <string>

#include "error.h"
#include "launch_log.h"
#include "memory.h"
#include "operation.h"

namespace stitch_emulated {

namespace {

// Whether [pointer, pointer + bytes) is inside one allocation. Unknown memory is the host's.
bool on_device(const void* pointer, size_t bytes) {
  Range range = find_range(pointer);
  if (!range.start) return false;
  const size_t end =
      static_cast<size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(range.start)) + bytes;
  if (end > range.bytes && range.fenced) {  // fail hard: a program may ignore the error code
    set_report("a copy reaches " + std::to_string(end - range.bytes) + " bytes behind a tensor of " +
               std::to_string(range.bytes) + " bytes");
    break_device(cudaErrorIllegalAddress);
  }
  return end <= range.bytes;
}

size_t extent(size_t pitch, size_t width, size_t height) { return height ? (height - 1) * pitch + width : 0; }

}  // namespace

cudaError_t run_copy(const CopyOperation& copy) {
  if (!copy.width || !copy.height) return cudaSuccess;
  if (!copy.to || !copy.from) return cudaErrorInvalidValue;
  if (copy.height > 1 && (copy.to_pitch < copy.width || copy.from_pitch < copy.width))
    return cudaErrorInvalidPitchValue;
  const size_t to_bytes = extent(copy.to_pitch, copy.width, copy.height);
  const size_t from_bytes = extent(copy.from_pitch, copy.width, copy.height);
  const bool to_device = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice;
  const bool from_device = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice;
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if ((to_device || find_range(copy.to).start) && !on_device(copy.to, to_bytes)) return cudaErrorInvalidValue;
  if ((from_device || find_range(copy.from).start) && !on_device(copy.from, from_bytes))
    return cudaErrorInvalidValue;
  log_copy(copy);
  const DeviceAtWork open;
  for (size_t row = 0; row < copy.height; ++row)
    std::memmove(static_cast<char*>(copy.to) + row * copy.to_pitch,
                 static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width);
  return cudaSuccess;
}

cudaError_t run_fill(const FillOperation& fill) {
  const size_t row_bytes = fill.width * fill.element_bytes;
  if (!row_bytes || !fill.height) return cudaSuccess;
  if (!on_device(fill.to, extent(fill.pitch, row_bytes, fill.height))) return cudaErrorInvalidValue;
  log_fill(fill);
  const DeviceAtWork open;
  for (size_t row = 0; row < fill.height; ++row) {
    char* start = static_cast<char*>(fill.to) + row * fill.pitch;
    if (fill.element_bytes == 1) {
      std::memset(start, static_cast<int>(fill.value), fill.width);
    } else {
      for (size_t i = 0; i < fill.width; ++i)
        std::memcpy(start + i * fill.element_bytes, &fill.value, fill.element_bytes);
    }
  }
  return cudaSuccess;
}

cudaError_t copy_to_symbol(void* symbol, size_t symbol_bytes, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, cudaStream_t stream) {
  STITCH_API();
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return remember(cudaErrorInvalidValue);
  void* address;
  symbol_address(&address, symbol, symbol_bytes);
  return cudaMemcpyAsync(static_cast<char*>(symbol) + offset, from, bytes, kind, stream);
}
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t symbol_bytes, size_t bytes, size_t offset,
                             cudaMemcpyKind kind, cudaStream_t stream) {
  STITCH_API();
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return remember(cudaErrorInvalidValue);
  void* address;
  symbol_address(&address, const_cast<void*>(symbol), symbol_bytes);
  return cudaMemcpyAsync(to, static_cast<const char*>(symbol) + offset, bytes, kind, stream);
}

}  // namespace stitch_emulated

using namespace stitch_emulated;

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  STITCH_API();
  return remember(enqueue(stream, CopyOperation{to, to_pitch, from, from_pitch, width, height, kind}));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  STITCH_API();
  if (cudaError_t error = check_not_captured(nullptr)) return remember(error);
  if (cudaError_t error = run_copy({to, to_pitch, from, from_pitch, width, height, kind}))
    return remember(error);
  return remember(check_guards_at_sync());
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpy2D(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  STITCH_API();
  return remember(
      enqueue(stream, FillOperation{to, pitch, static_cast<unsigned>(value) & 0xFF, 1, width, height}));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return cudaMemset2DAsync(to, bytes, value, bytes, 1, stream);
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
