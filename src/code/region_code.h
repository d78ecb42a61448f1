// What a family of the Coder is asked, and what it answers: one region as CUDA source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/context.h"
#include "plan/plan.h"

namespace stitch::code {

// A value as a region's code sees it.
struct Place {
  ValueId value;
  std::string pointer;           // the C name of its pointer
  DType dtype;                   // as stored
  Shape shape;                   // as the graph has it
  std::vector<int64_t> strides;  // in elements, one a dimension of `shape`
};

struct RegionRequest {
  const plan::Context& context;
  const plan::Region& region;
  std::string name;            // a C identifier, unique in the program
  std::vector<Place> reads;    // in the order of region.reads
  std::vector<Place> weights;  // parameters, buffers and constants it uses, row-major in their own dtype
  std::vector<Place> writes;   // in the order of region.writes
  std::string cublas = "cublas", cudnn = "cudnn";  // handles that its members are created with
  const Graph& graph = context.graph;
  // The place of any of the above; null for values inside the region.
  const Place* find(ValueId value) const;
  // For what the region makes of a place: "layer1_0_conv1_relu" and layer1_0_conv1_weight are
  // "layer1_0_conv1_relu_weight".
  std::string own_name(const Place& place) const;
};

// Something that lives as long as the program: a cuBLASLt product, a cuDNN recurrence.
struct Member {
  std::string type, name;  // "stitch::Matmul", "fc1"
  std::string create;  // statements that run once, after weights are in place; `return` a status on failure
  std::vector<std::string> weights;  // pointers of those that `create` takes: they stay in place
};

// A function of the region's source, called once when the program is created.
struct PackCall {
  std::string function;
  std::vector<std::string> arguments;  // C names of weights and of packed memory; the stream follows
};
// Device memory that lives as long as the program: weights in another layout or dtype.
struct Packed {
  std::string name;  // the C name of its pointer
  std::string type;  // element type: "__half"
  int64_t element_bytes = 0;
  int64_t elements = 0;
  std::optional<PackCall> fill;  // nothing: the region's own scratch, kept from run to run
  std::string what = {};         // how it is packed, whatever the region; none: as its function does
  bool changes = false;          // runs write it: no two regions share it
  std::string same_as = {};      // memory that an earlier region packs just so
};
Packed packed_memory(std::string name, DType type, int64_t elements, std::optional<PackCall> fill);

// Memory that a run fills before the region runs, once for all regions that ask for the same: lists of the
// sources of a scatter.
struct Prepared {
  std::string name;  // the C name of its pointer, a char*
  int64_t bytes = 0;
  std::string what;           // what is made of the arguments, whatever the region
  PackCall make;              // its arguments: places, then the memory
  bool made_earlier = false;  // by a region that runs before: for it alone the pass needs no call
};

// A number that is chosen before the program is created (stitch_set), and is a constant of it from then on.
struct Setting {
  std::string name;             // as the manifest has it: "fc1_matmul.algorithm"
  std::string variable;         // its C name, for members' create and among the region's arguments
  std::string type;             // "stitch::Proposal", "int"
  std::vector<int64_t> values;  // that a tuner may try
  int64_t value = 0;            // one of them
};

struct RegionCode {
  std::string includes;     // of the region's file, besides its own header
  std::string declaration;  // StitchStatus enqueue_NAME(const float* x, …, cudaStream_t stream);
  std::string source;       // kernels and the definition of enqueue_NAME
  bool verbatim = false;    // somebody else's source: its lines stay as they are
  // What enqueue_NAME is called with, in order: C names of places, packed memory, members, settings,
  // "workspace".
  std::vector<std::string> arguments;
  int64_t workspace_bytes = 0;
  std::vector<Member> members;
  std::vector<Packed> packed;
  std::vector<Prepared> prepared;
  std::vector<Setting> settings;
  std::vector<std::string> libraries;  // of cublasLt, cudnn
  // Bytes that its kernels read and write, one after the other, and how many kernels those are; for loops.
  double moved_bytes = 0;
  int kernels = 0;
};

// Adds the setting OWNER.WHAT, the plan's choice (a region's setting WHAT) its value unless that is none of
// `values`. Returns its C name.
std::string add_setting(RegionCode& code, const plan::Region& region, const std::string& owner,
                        const std::string& what, std::string type, std::vector<int64_t> values,
                        int64_t otherwise);

}  // namespace stitch::code
