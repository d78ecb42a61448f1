// A technique of the Coder's: what the Planner knows of it (plan/technique.h), and the code it writes.
#pragma once

#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

class Technique : public plan::Technique {
 public:
  // The region was accepted. Errors say which storage it can't read or write.
  virtual Result<RegionCode> write(const RegionRequest& request) const = 0;
};

}  // namespace stitch::code
