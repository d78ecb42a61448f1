// The input and output of a technique's code generation: one region as CUDA source.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  std::vector<int64_t> strides;  // in elements, one per dimension of `shape`
};
// (8, 64, 32, 32), channels last
std::string layout_comment(const Place& place);

struct RegionRequest {
  const plan::Context& context;
  const plan::Region& region;
  std::string name;            // a C identifier, unique in the program
  std::vector<Place> reads;    // in the order of region.reads
  std::vector<Place> weights;  // parameters, buffers and constants it uses, row-major in their own dtype
  std::vector<Place> writes;   // in the order of region.writes
  std::string cublas = "cublas", cudnn = "cudnn";  // library handles for its members
  const Graph& graph = context.graph;
  // The same at the sizes that the plan is made at, of a program for many; null: at these. Tiles, blocks and
  // stages are chosen there, so that they are the same at all sizes.
  std::shared_ptr<const RegionRequest> planned = {};
  const RegionRequest& deciding() const { return planned ? *planned : *this; }
  // Of a place, at the sizes that decide.
  int64_t decided_elements(const Place& place) const { return deciding().graph.type(place.value).elements(); }
  // The place of any of the above; null for values inside the region.
  const Place* find(ValueId value) const;
  // A name for data that the region derives from a place: "layer1_0_conv1_relu" and layer1_0_conv1_weight
  // give "layer1_0_conv1_relu_weight".
  std::string own_name(const Place& place) const;
};

// A value as it is stored; null: as the caller has it.
Place stored_place(const Graph& graph, ValueId value, std::string pointer, const plan::Storage* storage);
// A request outside of a program: values as the plan stores them, or all row-major in their own dtype.
RegionRequest request_alone(const plan::Context& context, const plan::Region& region,
                            const plan::Plan* plan = nullptr);
// At the plan's sizes; null: `context` has them.
std::shared_ptr<const RegionRequest> planned_request(const plan::Context& context, const plan::Region& region,
                                                     const plan::Plan& plan);

// An object with the program's lifetime: a cuBLASLt product, a cuDNN recurrence.
struct Member {
  std::string type, name;  // "stitch::Matmul", "fc1"
  std::string create;  // statements that run once, after weights are in place; `return` a status on failure
  std::vector<std::string> weights;  // weight pointers that `create` takes: these weights must not move
  bool is_settled = false;           // at the end of create (Cudnn::settle), which builds engines in parallel
};

// A function of the region's source, called once when the program is created.
struct PackCall {
  std::string function;
  std::vector<std::string> arguments;  // C names of weights and of packed memory; the stream follows
};
// Device memory with the program's lifetime: weights in another layout or dtype.
struct Packed {
  std::string name;  // the C name of its pointer
  std::string type;  // element type: "__half"
  int64_t element_bytes = 0;
  int64_t elements = 0;
  std::optional<PackCall> fill;  // nothing: the region's own scratch, preserved between runs
  std::string what = {};     // key of the packing, independent of the region; empty: given by its function
  bool changes = false;      // written by runs: never shared by regions
  std::string same_as = {};  // memory of an earlier region with the same packing
};
Packed packed_memory(std::string name, DType type, int64_t elements, std::optional<PackCall> fill);

// Memory that a run fills before the region, once for all regions that need the same: lists of the sources of
// a scatter.
struct Prepared {
  std::string name;  // the C name of its pointer, a char*
  int64_t bytes = 0;
  std::string what;           // key of the contents, independent of the region
  PackCall make;              // its arguments: places, then the memory
  bool made_earlier = false;  // by an earlier region: no call needed in the pass
};

// A parameter that is set before the program is created (stitch_set) and constant from then on.
struct Setting {
  std::string name;             // in the manifest: "fc1_matmul.algorithm"
  std::string variable;         // its C name, for members' create and among the region's arguments
  std::string type;             // "stitch::Proposal", "int"
  std::vector<int64_t> values;  // that a tuner may try
  int64_t value = 0;            // one of them
};

// The argument that a region's scratch memory is passed as.
inline constexpr std::string_view workspace_argument = "workspace";

struct RegionCode {
  std::string includes;     // of the region's file, besides its own header
  std::string declaration;  // StitchStatus enqueue_NAME(const float* x, …, cudaStream_t stream);
  std::string source;       // kernels and the definition of enqueue_NAME
  bool verbatim = false;    // user-written source: its lines are kept unchanged
  bool waits = true;        // every kernel launched by stitch::launch begins with wait_for_previous_kernel()
  // What enqueue_NAME is called with, in order: C names of places, packed memory, members, settings, the
  // workspace.
  std::vector<std::string> arguments;
  int64_t workspace_bytes = 0;
  // Of a region with other techniques at some sizes: what stands before these bytes, "CONDITION ? BYTES : ".
  std::string workspace_elsewhere = {};
  std::vector<Member> members;
  std::vector<Packed> packed;
  std::vector<Prepared> prepared;
  std::vector<Setting> settings;
  std::vector<std::string> libraries;  // of program/libraries.h
  // Memory traffic and number of kernels, for loop techniques.
  double moved_bytes = 0;
  int kernels = 0;

  bool has_workspace() const { return workspace_bytes > 0 || !workspace_elsewhere.empty(); }
};

// What is packed when a program is created must exist by then.
Result<void> check_packed(const RegionRequest& request, const RegionCode& code, const plan::Plan& plan);

// Adds the setting OWNER.WHAT. Its value is the plan's choice WHAT if that is among `values`, else
// `otherwise`. Returns its C name.
std::string add_setting(RegionCode& code, const plan::Region& region, const std::string& owner,
                        const std::string& what, std::string type, std::vector<int64_t> values,
                        int64_t otherwise);

}  // namespace stitch::code
