#include "code/limits.h"

#include <nlohmann/json.hpp>

#include "code/catalogue.h"
#include "plan/document/document.h"
#include "plan/rewrites.h"
#include "program/package.h"

namespace stitch::code {

RewriteLimits limits_on(const GpuSpec& gpu) { return plan::rewrite_limits(gpu, code::catalogue()); }

RewriteLimits limits_of(const fs::path& program, const GpuSpec& here) {
  const fs::path file = program / plan_file;
  std::error_code ec;
  const auto bytes = fs::file_size(file, ec);
  if (ec || bytes > plan::most_plan_bytes) return limits_on(here);
  auto text = read_file(file);
  auto document = text ? parse_json(*text) : Result<Json>(text.error());
  auto planned = document ? plan::read_planned_call(*document) : Result<plan::PlannedCall>(document.error());
  auto gpu = planned && planned->gpu != here.name ? find_gpu(planned->gpu) : here;
  const RewriteLimits limits = limits_on(gpu ? *gpu : here);
  return planned && planned->folded_elements ? limits.of_any_size(*planned->folded_elements) : limits;
}

}  // namespace stitch::code
