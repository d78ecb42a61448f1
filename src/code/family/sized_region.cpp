#include "code/family/sized_region.h"

#include <mutex>

#include "base/text.h"
#include "code/family/unify.h"

namespace stitch::code {

namespace {

// All that a program has of a region. Packing happens before a run has sizes: what it depends on may not
// vary.
std::string whole_text(const RegionCode& code) {
  std::string out = code.includes + code.source + "\nint pack(cudaStream_t stream) {\n";
  for (const Packed& packed : code.packed)
    out += format("  {} {} {}({}, {});\n", packed.type, packed.name, packed.fill ? packed.fill->function : "",
                  packed.fill ? join(packed.fill->arguments, ", ") : "", packed.elements);
  out += "}\nint enqueue_pass(cudaStream_t stream) {\n";
  for (const Member& member : code.members)
    out += format("  {} {};\n{}\n", member.type, member.name, member.create);
  for (const Prepared& prepared : code.prepared) out += format("  {}({});\n", prepared.name, prepared.bytes);
  for (const Setting& setting : code.settings) out += format("  {} {};\n", setting.type, setting.variable);
  return out + format("  call({}, {});\n}}\n", join(code.arguments, ", "), code.workspace_bytes);
}

}  // namespace

std::shared_ptr<const SizeTable> size_table(const std::shared_ptr<const Instances>& instances) {
  // Of the whole ranges, and of buckets.
  struct Known {
    std::weak_ptr<const Instances> of;
    std::shared_ptr<const SizeTable> table;
  };
  static std::mutex mutex;
  static std::vector<Known> all;
  std::lock_guard lock(mutex);
  std::erase_if(all, [](const Known& each) { return each.of.expired(); });
  for (const Known& each : all)
    if (each.of.lock() == instances) return each.table;
  all.push_back({instances, std::make_shared<const SizeTable>(*instances)});
  return all.back().table;
}

Result<Writing> writing_for_all_sizes(const Technique& technique, const plan::Context& context,
                                      const plan::Plan& plan, const plan::Region& region) {
  auto written = [&](const Writing& how) -> Result<void> {
    std::vector<std::string> texts;
    for (const plan::Context& each : context.at_sizes()) {
      const plan::Context& on = how.at(each);
      STITCH_CHECK(technique.accepts(each, region));
      RegionRequest request = request_alone(on, region, &plan);
      request.planned = planned_request(on, region, plan);
      STITCH_TRY(const RegionCode code, technique.write(request));
      STITCH_CHECK(check_packed(request, code, plan));
      texts.push_back(whole_text(code));
    }
    if (auto one = unify(*size_table(context.instances), texts); !one) return at(region.name, one.error());
    return {};
  };
  auto as_it_is = written({});
  if (as_it_is) return Writing{};
  // Products count blocks by multiprocessors.
  if (technique.kind() == plan::Kind::loop)
    for (const Writing& how : {Writing{true, 16}, Writing{false, 2}, Writing{false, 1}, Writing{true, 1}})
      if (written(how)) return how;
  return as_it_is.error();
}

}  // namespace stitch::code
