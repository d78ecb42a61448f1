// The launcher's first argument: policy and walls as JSON.
#pragma once

#include "base/json.h"
#include "sandbox/sandbox.h"

namespace stitch::sandbox {

struct Confinement {
  Policy policy;
  std::vector<Wall> walls;
  std::map<std::string, std::string> environment;  // the complete environment
  int64_t processor_seconds = 0;                   // 0: no limit
  bool has(Wall wall) const;
};

std::string to_text(const Confinement& confinement);
Result<Confinement> parse_confinement(std::string_view text);

}  // namespace stitch::sandbox
