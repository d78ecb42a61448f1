// What PyTorch's functions, methods and layers are among the graph's operators; what libraries' calls are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rubric/features.h"

namespace stitch::rubric {

struct TorchRow {
  std::string_view names;      // functions, methods, layers, separated by blanks
  std::string_view operators;  // of the graph
  bool heavy = false;
  bool every = false;  // all of these operators, not one of them
};
// By a function's, a method's or a layer's name; null: none that computes.
const TorchRow* find_torch(std::string_view name);
// Names that are methods of so many things that only torch.NAME and F.NAME count.
bool is_common_method(std::string_view name);

// "linear matmul" one by one.
std::vector<std::string> operator_names(std::string_view operators);

struct LibraryRow {
  std::string_view prefix, library, operators;
  Work work = Work::product;
  bool fused = false;
};
const LibraryRow* find_library(std::string_view name);

}  // namespace stitch::rubric
