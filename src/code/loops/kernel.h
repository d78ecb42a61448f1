// A finished kernel with its launch configuration, and the source of a region from several of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/division.h"
#include "code/expression/statement.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

// Memory between a region's kernels, part of its workspace.
struct Scratch {
  Type type;         // of an element
  std::string name;  // of the pointer
  int64_t elements = 0;
  int64_t offset = 0;  // in the workspace
};

// A block size that the kernel reads from blockDim: a launch parameter, and so a setting.
struct FreeThreads {
  int64_t in_all = 0;           // threads of the grid; 0: the kernel was generated for `threads` per block
  std::vector<int64_t> values;  // allowed block sizes, up to `most`
  static constexpr int64_t most = 256;
};

struct Kernel {
  std::string name;
  Block body;
  int threads = 256;
  FreeThreads free_threads;
  int resident = 0;                   // blocks per multiprocessor; 0: unspecified
  int64_t shared_bytes = 0;           // dynamic
  int64_t team = 1;                   // blocks that wait for each other
  int64_t cluster = 1;                // blocks of a cluster
  int64_t passes = 1;                 // number of times it reads its input
  std::vector<int64_t> blocks;        // in one or two dimensions
  std::set<const Place*> used;        // parameters,
  std::set<const Place*> vectorised;  // of which these are accessed in vectors
  int64_t width = 1;                  // of a vector
  std::vector<std::string> scratch;   // scratch arrays used, in order
  std::set<std::string> written;      // of which these are written
  Expression before, then;            // host calls around the launch; none: no calls
};

// The kernel from an emitter's statements and parameters.
Kernel kernel_of(Emitter& emitter, std::string name, int threads, std::vector<int64_t> blocks);

// Splits a workspace.
class Workspace {
 public:
  void add(Type type, std::string name, int64_t elements);
  bool has(std::string_view name) const;
  const Scratch& find(std::string_view name) const;
  int64_t bytes() const { return bytes_; }
  const std::vector<Scratch>& all() const { return all_; }

 private:
  std::vector<Scratch> all_;
  int64_t bytes_ = 0;
};

// Memory that a separate function fills before the region runs: see Prepared. If it depends on weights alone,
// it is packed when the program is created.
struct Preparation {
  std::string name;  // of the pointer, in the region's functions
  Workspace memory;
  std::vector<Kernel> kernels;
};

// `idea`: the file's first comment.
RegionCode assemble(const RegionRequest& request, const std::string& idea, const std::vector<Kernel>& kernels,
                    const Workspace& workspace, const Preparation* preparation = nullptr);

// "add, relu, mul": a region's ops in order.
std::string ops_text(const RegionRequest& request);
// The region's minimum traffic, "1.2 MB".
std::string traffic_text(const RegionRequest& request);
// a + b, or b if a is 0.
Expression sum_of(const Index& a, const Expression& b);

// Indices of lane `lane` of vector `vector` in a shape: vectors run along its last `joined` dimensions,
// flattened.
Indices vector_element(const Index& vector, const Index& lane, int64_t width, const Shape& shape,
                       size_t joined);
// The numbers of joined dimensions over which vectors are whole.
std::vector<size_t> joinable(const Shape& shape, int64_t width);

// A candidate kernel and its loads.
struct Draft {
  Kernel kernel;
  Loads loads;

  // Whether vectors pay: each scattered load is one transaction per lane.
  bool pays() const {
    return kernel.width == 1 || (loads.vectorised >= loads.scattered && !kernel.vectorised.empty());
  }
  bool better_than(const Draft& other) const;
};

// The program headers that a kernel's statements include.

// Such as "stitch/loops/scan.h", for everything that the statements use.
std::set<std::string> headers_of(const Block& block);

}  // namespace stitch::code::loops
