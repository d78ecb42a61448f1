// A finished kernel and how it is launched; and several of them as a region's source.
#pragma once

#include <string>
#include <vector>

#include "base/division.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

// Memory between a region's kernels, cut from its workspace.
struct Scratch {
  Type type;         // of an element
  std::string name;  // of the pointer
  int64_t elements = 0;
  int64_t offset = 0;  // in the workspace
};

// Threads a block that a kernel takes as they come: it asks blockDim. A number of the launch alone, and so a
// setting.
struct FreeThreads {
  int64_t in_all = 0;           // of the whole grid; 0: the kernel was written for `threads` a block
  std::vector<int64_t> values;  // that a block may have, up to `most`
  static constexpr int64_t most = 256;
};

struct Kernel {
  std::string name;
  Block body;
  int threads = 256;
  FreeThreads free_threads;
  int resident = 0;                   // blocks that a multiprocessor should hold; 0: as it comes
  int64_t shared_bytes = 0;           // dynamic
  int64_t team = 1;                   // blocks that wait for each other
  int64_t cluster = 1;                // blocks that start together
  int64_t passes = 1;                 // how often it reads what it reads
  std::vector<int64_t> blocks;        // along one dimension or two
  std::set<const Place*> used;        // its parameters,
  std::set<const Place*> vectorised;  // of which these are read or written in vectors
  int64_t width = 1;                  // of a vector
  std::vector<std::string> scratch;   // names of those it uses, in order
  std::set<std::string> written;      // of which it writes these
  Expression before, then;            // calls of the host around its launch; none: no such
};

// The statements and parameters of a kernel, as an emitter has them.
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

// Memory that a function of its own fills before the region runs: see Prepared. Of weights alone, it is
// packed when the program is created.
struct Preparation {
  std::string name;  // of the pointer, in the region's functions
  Workspace memory;
  std::vector<Kernel> kernels;
};

// `idea`: what the file does, as its first comment.
RegionCode assemble(const RegionRequest& request, const std::string& idea, const std::vector<Kernel>& kernels,
                    const Workspace& workspace, const Preparation* preparation = nullptr);

// "add, relu, mul": the ops of a region, in order.
std::string ops_text(const RegionRequest& request);
// What the region must move, "1.2 MB".
std::string traffic_text(const RegionRequest& request);
// Every value where the graph says that it lies: to try whether a region can be written.
RegionRequest plain_request(const plan::Context& context, const plan::Region& region);
// a + b, without an a that is 0.
Expression sum_of(const Index& a, const Expression& b);

// Where lane `lane` of vector number `vector` stands in a shape: vectors lie within its last `joined`
// dimensions, taken as one.
Indices vector_element(const Index& vector, const Index& lane, int64_t width, const Shape& shape,
                       size_t joined);
// How far a vector may reach: for every number of joined dimensions that are whole vectors.
std::vector<size_t> joinable(const Shape& shape, int64_t width);

// One way to write a kernel, and what its loads are like.
struct Draft {
  Kernel kernel;
  Loads loads;

  // Do vectors pay at all? Each scattered load is one transaction a lane.
  bool pays() const {
    return kernel.width == 1 || (loads.vectorised >= loads.scattered && !kernel.vectorised.empty());
  }
  bool better_than(const Draft& other) const;
};

}  // namespace stitch::code::loops
