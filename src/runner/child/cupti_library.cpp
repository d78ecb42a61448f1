#ifdef STITCH_HAVE_CUPTI
#include "runner/child/cupti_library.h"

#include <cupti.h>

namespace stitch::runner {

const CuptiLibrary& cupti_library() {
  static const CuptiLibrary one = [] {
    CuptiLibrary out;
    const std::string plain = "libcupti.so", versioned = format("libcupti.so.{}", CUPTI_API_VERSION / 10000);
    for (const std::string& folder : {std::string(), std::string("/usr/local/cuda/lib64/"),
                                      std::string("/usr/local/cuda/extras/CUPTI/lib64/")})
      for (const std::string& name : {versioned, plain})
        if (!out.handle) out.handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!out.handle) {
      out.trouble = format("CUPTI is not installed ({})", versioned);
      return out;
    }
    uint32_t found = 0;
    auto version = reinterpret_cast<decltype(&cuptiGetVersion)>(::dlsym(out.handle, "cuptiGetVersion"));
    if (version) version(&found);
    // Record layouts change between major versions.
    if (found / 10000 != CUPTI_API_VERSION / 10000)
      out.trouble =
          format("CUPTI is of version {}, and StitchCUDA was built for {}", found, CUPTI_API_VERSION);
    return out;
  }();
  return one;
}

}  // namespace stitch::runner
#endif
