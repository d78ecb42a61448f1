// What follows a product element by element, as a functor that own kernels call before they store, or that a
// pass of its own applies to a library's result:
//   struct Fc1Epilogue {
//     const float* bias;  // (100)
//     __device__ float operator()(float value, int position) const;
//   };
// `position` counts the product's result in row-major order, whatever its layout is. With a run, what all of
// a run's elements read comes from a member function of its own, for kernels that finish whole runs:
//     struct Shared { float bias; };
//     __device__ Shared shared(int position) const;
//     __device__ float operator()(float value, int position, const Shared& shared) const;
// By coordinates of an image, kernels over NHWC images have nothing to divide:
//     __device__ float operator()(float value, int sample, int channel, int pixel) const;
#pragma once

#include "code/products/parts.h"

namespace stitch::code {

struct Epilogue {
  std::string type = "stitch::NoEpilogue";
  std::string definition;            // of `type`; empty if there is nothing to do
  std::string construct = "{}";      // `type{bias}`: the functor, from places' pointers
  std::vector<const Place*> places;  // what it reads
  std::string summary;               // "bias, relu": for comments

  bool empty() const { return definition.empty(); }
};

// How a kernel says which element it finishes: by its row-major position, or by sample, channel and pixel.
enum class ElementBy : uint8_t { position, coordinates };

// `bias_dim`: which dimension of the result the product's own bias (its third operand) goes along; nothing:
// the kernel adds it itself. `run`: so many neighbours at a multiple of so many are finished together; 1:
// each for itself. `done`: one of the nodes that follow, an add that the kernel does itself, too.
Result<Epilogue> epilogue_of(const RegionRequest& request, const Parts& parts, std::optional<size_t> bias_dim,
                             int64_t run = 1, const Node* done = nullptr, ElementBy by = ElementBy::position);

// The epilogues that libraries have: a bias along one dimension, then an activation, both optional.
struct LibraryEpilogue {
  enum Activation : uint8_t { none, relu, gelu_tanh } activation = none;
  std::optional<View> bias;   // one-dimensional, dense
  double scale = 1;           // of the product, before the bias: where `scaled` allows it
  std::optional<View> added;  // a matrix, before the activation: where it lies as `like` does
};
// Nothing: there is more to do than that.
std::optional<LibraryEpilogue> library_epilogue_of(const RegionRequest& request, const Parts& parts,
                                                   size_t bias_dim, bool scaled = false,
                                                   const View* like = nullptr);

// Fc1Epilogue from fc1: names of types in generated code.
std::string type_name(std::string_view region, std::string_view what);
// The C type of arithmetic on stored elements: float for all smaller floats.
std::string arithmetic_type(DType dtype);

}  // namespace stitch::code
