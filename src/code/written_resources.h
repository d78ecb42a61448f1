// What a written region needs besides its inputs, declared in a comment of its source:
//   /* resources
//   { "workspace": BYTES, "packed": […], "products": […], "convolutions": […], "settings": […] }
//   */
// Checked before anything is compiled.
#pragma once

#include <optional>

#include "code/products/signature.h"

namespace stitch::code {

struct WrittenResources {
  // Memory filled when the program is created. `from`: positions among the region's weights.
  struct Packing {
    std::string name, function;
    DType type = DType::f32;
    int64_t elements = 0;
    std::vector<size_t> from;
  };
  // A cuBLASLt product.
  struct Product {
    std::string name;
    int64_t rows = 0, columns = 0, depth = 0, batch = 1;
    std::map<std::string, int64_t> strides;  // of MatmulSpec, by member
    bool left_transposed = false, right_transposed = false, accumulate = false;
    DType type = DType::f32, result = DType::f32;
    std::string epilogue;               // as CUBLASLT_EPILOGUE_ has it; empty: none
    std::string bias;                   // a packed memory …
    std::optional<size_t> bias_weight;  // … or a weight
    double scale = 1;
  };
  // cuDNN's, of two or three dimensions. The weight lies as the layout has it.
  struct Convolution {
    std::string name;
    int64_t batch = 0, channels_in = 0, channels_out = 0, groups = 1;
    std::vector<int64_t> size_in, size_out, kernel, stride, padding, dilation;
    bool channels_last = false, relu = false;
    DType type = DType::f32;
    std::string bias;
    std::optional<size_t> bias_weight;
  };
  struct Tuned {
    std::string name;
    std::vector<int64_t> values;
    int64_t value = 0;
  };
  int64_t workspace_bytes = 0;
  std::vector<Packing> packed;
  std::vector<Product> products;
  std::vector<Convolution> convolutions;
  std::vector<Tuned> settings;

  // Packed, or a library's bias: no parameter of the region's function.
  bool takes(size_t weight) const;
};

// An error says what is wrong with the declaration, for the author. `weights`: of the region, by whose names
// or as "weight N" the declaration names them; null: whatever it names is assumed to be there.
Result<WrittenResources> resources_in(std::string_view source, const std::vector<Place>* weights);

// The source with weights named by position, so that it fits regions whose weights have other names.
std::string with_numbered_weights(std::string source, const std::vector<Place>& weights);

// Adds them to a region's code and to the parameters of its function.
void add_resources(const WrittenResources& resources, const RegionRequest& request, RegionCode& code,
                   Signature& signature);

// For prompts: what may be declared; or not all of it, without packed memory and libraries.
std::string resources_in_words(bool all);

}  // namespace stitch::code
