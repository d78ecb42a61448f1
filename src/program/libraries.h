// The libraries of NVIDIA's that a program may link.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace stitch {

inline constexpr std::array<std::string_view, 3> known_libraries = {"cublas", "cublasLt", "cudnn"};

bool is_known_library(std::string_view name);

// Adds those whose headers the source includes: a single .cu file has no other way to name them.
void add_included_libraries(std::string_view source, std::vector<std::string>& libraries);

}  // namespace stitch
