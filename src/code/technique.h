// A technique of the Coder: the Planner's interface (plan/technique.h) plus code generation.
#pragma once

#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

class Technique : public plan::Technique {
 public:
  // Precondition: the technique accepts the region. Errors say which storage it can't read or write.
  virtual Result<RegionCode> write(const RegionRequest& request) const = 0;
  // By writing it; a technique that takes a source may not have it yet.
  Result<void> can_write(const plan::Context& context, const plan::Plan& plan,
                         const plan::Region& region) const final;
};

}  // namespace stitch::code
