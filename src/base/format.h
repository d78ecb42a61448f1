// One spelling of `format` on compilers with and without std::format (g++ 12 has none).
#pragma once

#include <version>

#if defined(__cpp_lib_format)
#include <format>
namespace stitch {
using std::format;
}
#else
#include <fmt/core.h>
namespace stitch {
using fmt::format;
}
#endif
