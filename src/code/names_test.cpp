#include "code/names.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

TEST(Names, ValuesHideNoFunctionOfDoubles) {
  for (const char* name : {"std", "nullptr", "wait", "erfinv", "erfc", "lgamma", "rsqrt", "log1p", "trunc",
                           "atan2", "fmod", "tanh"})
    EXPECT_EQ(identifier(name), std::string(name) + "_value");
  EXPECT_EQ(identifier("erfinv_1"), "erfinv_1");
}

}  // namespace
}  // namespace stitch::code
