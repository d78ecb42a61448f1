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
  static std::mutex mutex;
  static std::weak_ptr<const Instances> of;
  static std::shared_ptr<const SizeTable> table;
  std::lock_guard lock(mutex);
  if (of.lock() != instances) {
    table = std::make_shared<const SizeTable>(*instances);
    of = instances;
  }
  return table;
}

Result<Fill> fill_for_all_sizes(const Technique& technique, const plan::Context& context,
                                const plan::Plan& plan, const plan::Region& region) {
  auto written = [&](bool filled) -> Result<void> {
    std::vector<std::string> texts;
    for (const plan::Context& each : context.at_sizes()) {
      const plan::Context& on = filled ? each.filled() : each;
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
  auto as_it_is = written(false);
  if (as_it_is) return Fill::as_it_is;
  // Products count blocks by multiprocessors.
  if (technique.kind() == plan::Kind::loop && written(true)) return Fill::filled;
  return as_it_is.error();
}

}  // namespace stitch::code
