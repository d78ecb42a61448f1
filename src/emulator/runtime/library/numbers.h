// Elements of every type, read and written as float, double or int.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stitch_emulated {

enum class Element : uint8_t { f64, f32, f16, bf16, e4m3, e5m2, i8, i32 };
size_t bytes_of(Element element);

// Precision of a float operand of a tensor core.
enum class Precision : uint8_t { full, tf32, half, bfloat };
void round_to(Precision precision, float* values, size_t count);
inline void round_to(Precision, double*, size_t) {}
inline void round_to(Precision, int32_t*, size_t) {}

// out[i] = from[offset + i * step], in elements, and the reverse. T is float, double or int32_t.
template <class T>
void read(Element element, const void* from, int64_t offset, int64_t step, int64_t count, T* out);
template <class T>
void write(Element element, void* to, int64_t offset, int64_t step, int64_t count, const T* in);
// One number, for scale factors.
double read_one(Element element, const void* from);

// The matrix product used by all libraries.
// c (m, n) = a (m, k) times b (k, n), row-major, rows of c `c_step` elements apart. Sums run over k in blocks
// in a fixed order, so results don't depend on the number of threads. T is float, double or int32_t.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
              int64_t c_step);

}  // namespace stitch_emulated
