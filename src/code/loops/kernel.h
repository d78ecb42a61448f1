// A finished kernel and how it is launched; and several of them as a region's source.
#pragma once

#include <string>
#include <vector>

#include "code/loops/emitter.h"

namespace stitch::code::loops {

// Memory between a region's kernels, cut from its workspace.
struct Scratch {
  std::string type, name;  // of the pointer
  int64_t elements = 0, element_bytes = 0;
  int64_t offset = 0;  // in the workspace
};

struct Kernel {
  std::string name, comment, body;
  int threads = 256;
  std::string blocks;                // "120", or "120, 4" with a second dimension
  std::set<const Place*> used;       // its parameters,
  std::set<const Place*> packed;     // of which these are read or written in packs
  int64_t width = 1;                 // of a pack
  std::vector<std::string> scratch;  // names of those it uses, in order
  std::set<std::string> written;     // of which it writes these
};

// Splits a workspace.
class Workspace {
 public:
  void add(std::string type, std::string name, int64_t elements, int64_t element_bytes);
  const Scratch& find(std::string_view name) const;
  int64_t bytes() const { return bytes_; }

 private:
  std::vector<Scratch> all_;
  int64_t bytes_ = 0;
};

// `idea`: what the file does, as its first comment.
RegionCode assemble(const RegionRequest& request, const std::string& idea, const std::vector<Kernel>& kernels,
                    const Workspace& workspace);

// "add, relu, mul": the ops of a region, in order.
std::string ops_text(const RegionRequest& request);
// What the region must move, "1.2 MB".
std::string traffic_text(const RegionRequest& request);
int64_t divided_up(int64_t count, int64_t by);

}  // namespace stitch::code::loops
