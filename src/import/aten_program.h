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
  TensorType type;   // strides always written out
};

struct AtenLeaf {
  AtenTensor tensor;
  Role role;
  std::string data;
};

struct AtenNode {
  std::string op;
  std::shared_ptr<const Json> args;  // an object
  std::vector<AtenTensor> outputs;
  std::string where, module;
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
