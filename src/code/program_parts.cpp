#include "code/program_parts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "code/catalogue.h"
#include "code/names.h"

namespace stitch::code {

namespace {

// Strides of a value stored with its dimensions in `order`.
std::vector<int64_t> stored_strides(const Shape& shape, const std::vector<int64_t>& order) {
  if (order.empty()) return contiguous_strides(shape);
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[static_cast<size_t>(order[i])] = step;
    step *= std::max<int64_t>(shape[static_cast<size_t>(order[i])], 1);
  }
  return strides;
}

class Gatherer {
 public:
  Gatherer(const plan::Context& context, const plan::Plan& plan)
      : context_(context), graph_(context.graph), plan_(plan), parts_{.context = context, .graph = context.graph, .plan = plan} {}

  Result<ProgramParts> gather() {
    parts_.signature = signature_of(graph_);
    parts_.constant = plan::constant_regions(graph_, plan_);
    settle_leaves();
    settle_results();
    for (const plan::Region& region : plan_.regions) STITCH_CHECK(write_region(region));
    lay_out_scratch();
    return std::move(parts_);
  }

 private:
  void settle(ValueId id, Home home, int index) {
    const Value& value = graph_[id];
    const plan::Storage& storage = plan_.storage[index_of(id)];
    Resident resident{.home = home, .index = index, .name = names_.unique(value.name)};
    bool callers = home != Home::scratch;
    resident.place = {
        id, resident.name, callers ? value.type.dtype : storage.dtype, value.type.shape,
        callers ? (value.type.strides.empty() ? contiguous_strides(value.type.shape) : value.type.strides)
                : stored_strides(value.type.shape, storage.order)};
    resident.bytes = value.type.elements() * size_of(resident.place.dtype);
    parts_.residents.emplace(id, std::move(resident));
  }

  void settle_leaves() {
    const Signature& signature = parts_.signature;
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      settle(graph_.find(signature.inputs[i].name), Home::input, static_cast<int>(i));
    for (size_t i = 0; i < signature.parameters.size(); ++i)
      settle(graph_.find(signature.parameters[i].name), Home::weight, static_cast<int>(i));
  }

  // Is what a region makes of a state made element by element, each where the state has it? A batch norm
  // makes its running statistics so.
  bool made_in_place(const plan::Region& region, ValueId state) const {
    std::set<ValueId> made = {state};
    bool normalised = false, computed = false;
    for (int32_t n : region.nodes) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      auto is_made = [&](ValueId id) { return made.contains(id); };
      if (std::ranges::none_of(node.operands, is_made)) continue;
      if (node.op == Op::batch_norm) {
        normalised = true;
        if (!node.attributes.flag("training") ||
            std::ranges::any_of(node.operands.begin(), node.operands.begin() + 3, is_made))
          return false;
        made.insert(node.results.begin() + 1, node.results.end());
      } else {
        computed = true;
        if (info(node.op).family != stitch::Family::pointwise ||
            graph_.type(node.results[0]).shape != graph_.type(state).shape)
          return false;
        made.insert(node.results.begin(), node.results.end());
      }
    }
    return !(normalised && computed);
  }

  // The region that alone reads a state may write its successor over it, if it reads an element before it
  // writes that one. Anybody else would see the new value too early.
  bool may_write_in_place(const Update& update) const {
    return std::ranges::all_of(plan_.regions, [&](const plan::Region& region) {
      bool reads = std::ranges::find(region.reads, update.target) != region.reads.end();
      bool writes = std::ranges::find(region.writes, update.value) != region.writes.end();
      return !reads || (writes && made_in_place(region, update.target));
    });
  }

  void settle_results() {
    std::set<ValueId> stored_as_wanted;
    auto wants = [&](ValueId id, int index, bool direct) {
      bool plain = plan_.storage[index_of(id)] == plan::Storage{graph_.type(id).dtype, {}};
      if (direct && plain && graph_[id].role == Role::result && !parts_.residents.contains(id))
        settle(id, Home::output, index);
      else
        parts_.copies.emplace_back(id, index);
    };
    int index = 0;
    for (ValueId id : graph_.outputs) wants(id, index++, true);
    for (const Update& update : graph_.updates) wants(update.value, index++, may_write_in_place(update));
    for (const plan::Region& region : plan_.regions)
      for (ValueId id : region.writes)
        if (!parts_.residents.contains(id)) {
          settle(id, Home::scratch, 0);
          parts_.scratch.push_back(id);
        }
  }

  Result<void> write_region(const plan::Region& region) {
    const Technique& technique = technique_of(region);
    RegionRequest request{.context = context_, .region = region, .name = names_.unique(region.name)};
    for (ValueId id : region.reads) request.reads.push_back(parts_.residents.at(id).place);
    for (ValueId id : region.writes) request.writes.push_back(parts_.residents.at(id).place);
    std::set<ValueId> seen;
    for (int32_t n : region.nodes)
      for (ValueId id : graph_.nodes[static_cast<size_t>(n)].operands) {
        if (id == ValueId::none || !seen.insert(id).second) continue;
        auto found = parts_.residents.find(id);
        if (found != parts_.residents.end() && found->second.home == Home::weight)
          request.weights.push_back(found->second.place);
      }
    STITCH_CHECK(technique.accepts(context_, region));
    STITCH_TRY(RegionCode code, technique.write(request));
    parts_.region_names.push_back(request.name);
    parts_.regions.push_back(std::move(code));
    return {};
  }

  void lay_out_scratch() {
    std::vector<Lifetime> lifetimes;
    int last_region = static_cast<int>(plan_.regions.size());
    // Regions of a section run at any time within it.
    std::vector<int> begin(plan_.regions.size()), end(plan_.regions.size());
    std::iota(begin.begin(), begin.end(), 0);
    std::iota(end.begin(), end.end(), 0);
    for (const plan::Section& section : plan::sections_of(plan_))
      for (size_t r = section.first; r < section.end; ++r)
        begin[r] = static_cast<int>(section.first), end[r] = static_cast<int>(section.end) - 1;
    for (ValueId id : parts_.scratch) {
      Lifetime lifetime{parts_.residents.at(id).bytes, last_region, 0};
      for (size_t r = 0; r < plan_.regions.size(); ++r) {
        const plan::Region& region = plan_.regions[r];
        const bool writes = std::ranges::find(region.writes, id) != region.writes.end();
        if (writes && parts_.constant[r]) {
          lifetime = {lifetime.bytes, 0, last_region};  // nobody else's memory, ever
          break;
        }
        if (writes) lifetime.first = begin[r];
        if (writes || std::ranges::find(region.reads, id) != region.reads.end()) lifetime.last = end[r];
      }
      for (auto [copied, index] : parts_.copies)
        if (copied == id) lifetime.last = last_region;
      lifetimes.push_back(lifetime);
    }
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (parts_.regions[r].workspace_bytes > 0)
        lifetimes.push_back({parts_.regions[r].workspace_bytes, begin[r], end[r]});
    parts_.layout = lay_out(lifetimes);
    size_t at = parts_.scratch.size();
    for (const RegionCode& region : parts_.regions)
      parts_.workspace_at.push_back(region.workspace_bytes > 0 ? parts_.layout.offsets[at++] : -1);
  }

  const plan::Context& context_;
  const Graph& graph_;
  const plan::Plan& plan_;
  Names names_;
  ProgramParts parts_;
};

}  // namespace

bool ProgramParts::uses(std::string_view library) const {
  return std::ranges::any_of(regions, [&](const RegionCode& region) {
    return std::ranges::find(region.libraries, library) != region.libraries.end();
  });
}

bool ProgramParts::starts_kernels_itself() const {
  constexpr int few = 2;
  int kernels = 0;
  for (size_t r = 0; r < regions.size(); ++r) {
    if (regions[r].kernels == 0 || constant[r] || workspace_at[r] >= 0) return false;
    kernels += regions[r].kernels;
  }
  return kernels <= few && scratch.empty() && copies.empty();
}

int ProgramParts::branches() const {
  int most = 1;
  for (const plan::Section& section : plan::sections_of(plan)) most = std::max(most, section.branches);
  return most;
}

bool ProgramParts::has_settings() const {
  return std::ranges::any_of(regions, [](const RegionCode& region) { return !region.settings.empty(); });
}

Result<ProgramParts> gather_parts(const plan::Context& context, const plan::Plan& plan) {
  return Gatherer(context, plan).gather();
}

}  // namespace stitch::code
