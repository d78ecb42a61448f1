// A home that can't be written to is no reason to fail: caches, runs and the signing key do without it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/file.h"

namespace stitch {

// While it lives, $STITCHCUDA_CACHE and $STITCHCUDA_STATE lead to a temporary folder and $STITCHCUDA_STORE is
// "none", each only where its own place can't be written to. The processes of this one inherit them. To be
// made before the first thread.
class WritableFolders {
 public:
  explicit WritableFolders(const std::string& command);
  WritableFolders(const WritableFolders&) = delete;
  WritableFolders& operator=(const WritableFolders&) = delete;
  ~WritableFolders();
  // One line for the user; empty: nothing was replaced.
  const std::string& warning() const { return warning_; }

 private:
  void replace(const char* variable, const std::string& value);

  std::optional<ScratchFolder> scratch_;
  std::map<const char*, std::optional<std::string>> before_;
  std::string warning_;
};

}  // namespace stitch
