// What a program says of itself: stitch_manifest()'s JSON, and the same derived from a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/numerics.h"
#include "graph/sizes.h"

namespace stitch {

// One tensor of the ABI, in the order in which callers pass them.
struct ManifestTensor {
  std::string name;
  // Parameters: parameter, buffer, constant. Inputs: input, state, seed. Outputs: output, update.
  std::string role;
  TensorType type;
  std::string data;    // parameters, states and updates of these: the key in the model's weights
  std::string target;  // updates: the name of the state, buffer or input whose new value this is
  // Of the shape, then of the strides: a number as a formula of the sizes, or empty. None: no size is in it.
  std::vector<std::string> formulas;

  bool operator==(const ManifestTensor&) const = default;
};

struct Signature {
  std::vector<ManifestTensor> parameters;  // what stitch_create takes
  std::vector<ManifestTensor> inputs;      // inputs, then states, then the seed if the model draws numbers
  std::vector<ManifestTensor> outputs;     // outputs, then updates

  bool operator==(const Signature&) const = default;
};
// States are the buffers and parameters that updates change and the graph reads. What is changed but never
// read is no input: its update names it all the same.
Signature signature_of(const Graph& graph);
// How a program's tensors differ from its task's, in words; empty: not at all. Names may differ (they are the
// author's); what is passed, in which order, may not.
std::string difference(const Signature& program, const Signature& task);

// A graph value as a region holds it: its own storage dtype, dimensions in memory in `order` (outermost
// first; empty: row-major). NHWC storage of an NCHW value is {0, 2, 3, 1}.
struct Slot {
  std::string value;
  TensorType type;  // shape as the graph has it
  std::vector<int64_t> order;
  std::vector<std::string> formulas;  // as those of a ManifestTensor

  // As the tensor lies in memory, outermost dimension first.
  TensorType stored() const;
  bool operator==(const Slot&) const = default;
};

struct ManifestRegion {
  std::string name;
  std::string file;                // regions/….cu, or program.cu
  std::string technique;           // in words of the plan
  std::vector<std::string> nodes;  // by the name of their first result
  std::vector<Slot> reads, writes;

  bool operator==(const ManifestRegion&) const = default;
};

// A number that may be chosen before the program is created (stitch_set): tuning it compiles nothing.
struct ManifestSetting {
  std::string name;             // fc1_matmul.algorithm
  std::string region;           // by its name; empty: the whole program's
  std::vector<int64_t> values;  // that it may have
  int64_t value = 0;            // the default: one of them

  bool operator==(const ManifestSetting&) const = default;
};

struct Manifest {
  std::string name;
  Numerics numerics = Numerics::standard;
  Signature signature;
  std::vector<ManifestRegion> regions;  // may be empty: then the program is checked only as a whole
  std::vector<std::string> libraries;   // of program/libraries.h
  std::vector<ManifestSetting> settings;
  std::string architecture;     // that it was written for, "sm_90a"; may be empty
  std::string needs;            // the least that its kernels run on, "sm_80"; may be empty
  Dimensions dimensions;        // of a program for ranges of sizes
  std::vector<Border> borders;  // between sizes that are computed by different techniques
  Sizes sizes;                  // that all types have now

  // Gives all types the shapes of these sizes. An error: one is missing or outside its range.
  Result<void> set_sizes(const Sizes& wanted);

  bool operator==(const Manifest&) const = default;
};

// Every type of a manifest that may depend on sizes, in order.
struct SizedType {
  std::string_view name;
  TensorType* type;
  std::vector<std::string>* formulas;
};
std::vector<SizedType> sized_types(Manifest& manifest);

// The sizes that the tensors of a call show. An error: two disagree, or one is outside its range.
Result<Sizes> sizes_shown(const Manifest& manifest, const Signature& call);

// Untrusted text: errors name the field.
Result<Manifest> parse_manifest(std::string_view json);
std::string print_manifest(const Manifest& manifest);

}  // namespace stitch
