// aten.json in memory: what torch.export wrote down (README.md has the format).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"

namespace stitch {

struct AtenTensor {
  std::string name;  // empty: a result that isn't a tensor
  TensorType type;   // strides always written out; of a complex tensor: the dtype of its parts
  bool complex = false;
};

struct AtenLeaf {
  AtenTensor tensor;
  Role role;
  std::string data;
  int64_t memory = -1;  // leaves of the same number share memory
};

struct AtenNode {
  std::string op;
  std::shared_ptr<const Json> args;  // an object
  std::vector<AtenTensor> outputs;
  std::string where, module;
  std::vector<std::string> written;  // tensor arguments that the results are written to: out=
  bool autocast = false;             // in a region of it: operands meet the result's dtype
};

struct AtenProgram {
  std::string name;
  std::vector<AtenLeaf> leaves;
  std::vector<AtenNode> nodes;
  std::vector<std::string> outputs;
  std::shared_ptr<const Json> task;  // everything else: torch, source, class, mode, seed, scalars
};

Result<AtenProgram> read_aten(std::string_view text);

}  // namespace stitch
