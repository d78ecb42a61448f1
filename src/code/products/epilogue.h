// The pointwise epilogue of a product, as a functor that our kernels call before storing, or that a separate
// pass applies to a library's result:
//   struct Fc1Epilogue {
//     const float* bias;  // (100)
//     __device__ float operator()(float value, int position) const;
//   };
// `position`: row-major position in the product's result, for any layout. With a run, loads shared by its
// elements have a separate member function, for kernels that finish whole runs:
//     struct Shared { float bias; };
//     __device__ Shared shared(int position) const;
//     __device__ float operator()(float value, int position, const Shared& shared) const;
// By coordinates of an image, without divisions in kernels over NHWC images:
//     __device__ float operator()(float value, int sample, int channel, int pixel) const;
#pragma once

#include "code/products/parts.h"

namespace stitch::code {

struct Epilogue {
  std::string type = "stitch::NoEpilogue";
  std::string definition;                          // of `type`; empty if there is nothing to do
  std::string construct = "stitch::NoEpilogue{}";  // or `type{bias}`: the functor, from places' pointers
  std::vector<const Place*> places;                // what it reads
  std::string summary;                             // "bias, relu": for comments

  bool empty() const { return definition.empty(); }
  std::string text() const { return empty() ? "" : definition + "\n"; }
  std::string then() const { return summary.empty() ? "" : ", then " + summary; }
};

// How a kernel identifies the element: row-major position, or sample, channel and pixel.
enum class ElementBy : uint8_t { position, coordinates };

// `bias_dim`: the result's dimension of the product's own bias (its third operand); empty: the kernel adds
// it. `run`: so many aligned, adjacent elements are finished together; 1: each alone. `done`: an add among
// the following nodes that the kernel does itself.
Result<Epilogue> epilogue_of(const RegionRequest& request, const Parts& parts, std::optional<size_t> bias_dim,
                             int64_t run = 1, const Node* done = nullptr, ElementBy by = ElementBy::position);

// Epilogues supported by libraries: a bias along one dimension, then an activation, both optional.
struct LibraryEpilogue {
  enum Activation : uint8_t { none, relu, gelu_tanh } activation = none;
  std::optional<View> bias;   // one-dimensional, dense
  double scale = 1;           // of the product, before the bias, if `scaled` allows it
  std::optional<View> added;  // a matrix added before the activation, if its layout is that of `like`
};
// Empty: there is more to do.
std::optional<LibraryEpilogue> library_epilogue_of(const RegionRequest& request, const Parts& parts,
                                                   size_t bias_dim, bool scaled = false,
                                                   const View* like = nullptr);

// Fc1Epilogue from fc1: names of types in generated code.
std::string type_name(std::string_view region, std::string_view what);
// The arithmetic type for stored elements: float for all smaller floats.
std::string arithmetic_type(DType dtype);

}  // namespace stitch::code
