// CUDA's vector types (float4, int2, dim3, …) with CUDA's alignments.
#pragma once

#include "stitch/decorations.h"

// NAME1..NAME4 with members x, y, z, w. Pairs and quads are aligned as a whole, up to 16 bytes; triples
// aren't.
#define STITCH_VECTOR_TYPES(name, element, align2, align4)                                \
  struct name##1 {                                                                        \
    element x;                                                                            \
  };                                                                                      \
  struct alignas(align2) name##2 {                                                        \
    element x, y;                                                                         \
  };                                                                                      \
  struct name##3 {                                                                        \
    element x, y, z;                                                                      \
  };                                                                                      \
  struct alignas(align4) name##4 {                                                        \
    element x, y, z, w;                                                                   \
  };                                                                                      \
  constexpr name##1 make_##name##1(element x) { return {x}; }                             \
  constexpr name##2 make_##name##2(element x, element y) { return {x, y}; }               \
  constexpr name##3 make_##name##3(element x, element y, element z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(element x, element y, element z, element w) { return {x, y, z, w}; }

STITCH_VECTOR_TYPES(char, signed char, 2, 4)
STITCH_VECTOR_TYPES(uchar, unsigned char, 2, 4)
STITCH_VECTOR_TYPES(short, short, 4, 8)
STITCH_VECTOR_TYPES(ushort, unsigned short, 4, 8)
STITCH_VECTOR_TYPES(int, int, 8, 16)
STITCH_VECTOR_TYPES(uint, unsigned int, 8, 16)
STITCH_VECTOR_TYPES(long, long, 16, 16)
STITCH_VECTOR_TYPES(ulong, unsigned long, 16, 16)
STITCH_VECTOR_TYPES(longlong, long long, 16, 16)
STITCH_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
STITCH_VECTOR_TYPES(float, float, 8, 16)
STITCH_VECTOR_TYPES(double, double, 16, 16)

#undef STITCH_VECTOR_TYPES

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
