// A program's shared library in this process, by the C ABI.
#pragma once

#include <map>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "stitch/program.h"

namespace stitch::runner {

struct LoadedProgram {
  decltype(&stitch_create) create = nullptr;
  decltype(&stitch_run) run = nullptr;
  decltype(&stitch_destroy) destroy = nullptr;
  decltype(&stitch_manifest) manifest = nullptr;
  decltype(&stitch_last_error) last_error = nullptr;
  decltype(&stitch_run_region) run_region = nullptr;  // may be null
  decltype(&stitch_set) set = nullptr;                // may be null
  std::map<std::string, int64_t> libraries;           // versions of linked libraries

  // From here on, untrusted code has run in this process.
  static Result<LoadedProgram> open(const fs::path& path);
  std::string manifest_text() const;
  std::string error_text() const;
};

}  // namespace stitch::runner
