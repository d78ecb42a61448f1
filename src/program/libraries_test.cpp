#include "program/libraries.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

std::vector<std::string> included(std::string_view source, std::vector<std::string> known = {}) {
  add_included_libraries(source, known);
  return known;
}

using Names = std::vector<std::string>;

TEST(Libraries, AreThoseWhoseHeadersAreIncluded) {
  EXPECT_EQ(included("#include <cublas_v2.h>\nint x;\n"), Names{"cublas"});
  EXPECT_EQ(included("  #\tinclude \"cudnn_ops.h\"  // and more"), Names{"cudnn"});
  EXPECT_EQ(included("#include <cublasLt.h>\r\n#include <cublas_v2.h>\n#include <cudnn.h>"),
            (Names{"cublasLt", "cublas", "cudnn"}));
  EXPECT_EQ(included("#include <cublasLt.h>\n", {"cublasLt"}), Names{"cublasLt"});
}

TEST(Libraries, OtherLinesNameNone) {
  for (std::string_view source :
       {"", "\n\n", "#include", "#include <", "#include <cuda_runtime.h>", "#define cudnn.h",
        "// cublas_v2.h", "#include HEADER", "include <cudnn.h>", "#"})
    EXPECT_TRUE(included(source).empty()) << source;
}

TEST(Libraries, AFewAreKnown) {
  EXPECT_TRUE(is_known_library("cublas"));
  EXPECT_FALSE(is_known_library("cuda"));
  EXPECT_FALSE(is_known_library(""));
}

}  // namespace
}  // namespace stitch
