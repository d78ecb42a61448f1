#include "code/program_parts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/division.h"
#include "code/catalogue.h"
#include "code/family/sized_region.h"
#include "code/family/variants.h"
#include "code/names.h"
#include "code/sharing.h"
#include "plan/buckets.h"

namespace stitch::code {

namespace {

class Gatherer {
 public:
  Gatherer(const plan::Context& context, const plan::Plan& plan, SizedRegions* sized)
      : context_(context),
        sized_(sized ? *sized : none_),
        graph_(context.graph),
        plan_(plan),
        parts_{.context = context, .graph = context.graph, .plan = plan} {}

  Result<ProgramParts> gather() {
    STITCH_CHECK(settle_all());
    find_sections();
    order_creation();
    share_packed();
    share_prepared();
    lay_out_scratch();
    return std::move(parts_);
  }

  Result<std::vector<RegionRequest>> requests() {
    sources_may_miss_ = true;
    STITCH_CHECK(settle_all());
    std::vector<RegionRequest> out;
    for (size_t r = 0; r < plan_.regions.size(); ++r) out.push_back(request_of(r));
    return out;
  }

 private:
  Result<void> settle_all() {
    parts_.signature = signature_of(graph_);
    parts_.constant = plan::constant_regions(graph_, plan_);
    if (context_.takes_sizes()) {
      for (const char* name : {"sizes", "Sizes", "shared", "Shared", "pass", "Pass", "graphs"})
        names_.unique(name);
      for (size_t r = 0; r < plan_.regions.size(); ++r)
        parts_.constant[r] = parts_.constant[r] && same_at_all_sizes(plan_.regions[r]);
    }
    name_results();
    settle_leaves();
    settle_results();
    for (size_t r = 0; r < plan_.regions.size(); ++r) STITCH_CHECK(write_region(r));
    return {};
  }

  // A table of positions reads no inputs, and is another at each length.
  bool same_at_all_sizes(const plan::Region& region) const {
    const std::vector<Instance>& all = context_.instances->all;
    return std::ranges::all_of(all, [&](const Instance& other) {
      return std::ranges::all_of(region.nodes, [&](int32_t n) {
        const Node &a = all[0].graph.node(n), &b = other.graph.node(n);
        return a.attributes == b.attributes && std::ranges::all_of(a.results, [&](ValueId id) {
                 return all[0].graph.type(id) == other.graph.type(id);
               });
      });
    });
  }

  // A region has the plan's name, and its results are named after it; a new state after the old one.
  void name_results() {
    for (const Update& update : graph_.updates)
      if (graph_[update.value].role == Role::result)
        result_names_.emplace(update.value, graph_[update.target].name + "_new");
    for (const plan::Region& region : plan_.regions) {
      parts_.region_names.push_back(names_.unique(region.name));
      for (ValueId id : region.writes) result_names_.emplace(id, parts_.region_names.back() + "_out");
    }
  }

  void settle(ValueId id, Home home, int index) {
    const Value& value = graph_[id];
    const plan::Storage& storage = plan_.storage[index_of(id)];
    auto result = result_names_.find(id);
    Resident resident{.home = home,
                      .index = index,
                      .name = names_.unique(result == result_names_.end() ? value.name : result->second)};
    resident.place = stored_place(graph_, id, resident.name, home == Home::scratch ? &storage : nullptr);
    resident.bytes = value.type.elements() * size_of(resident.place.dtype);
    parts_.residents.emplace(id, std::move(resident));
  }

  void settle_leaves() {
    const stitch::Signature& signature = parts_.signature;
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      settle(graph_.find(signature.inputs[i].name), Home::input, static_cast<int>(i));
    for (size_t i = 0; i < signature.parameters.size(); ++i)
      settle(graph_.find(signature.parameters[i].name), Home::weight, static_cast<int>(i));
  }

  // Whether a region computes a state element by element, each at the state's position, as a batch norm does
  // its running statistics.
  bool made_in_place(const plan::Region& region, ValueId state) const {
    std::set<ValueId> made = {state};
    bool normalised = false, computed = false;
    for (int32_t n : region.nodes) {
      const Node& node = graph_.node(n);
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

  // A state's only reader may overwrite it with its successor, if it reads each element before writing it.
  // Other readers would see the new value; user-written regions are excluded because their access order is
  // unknown.
  bool may_write_in_place(const Update& update) const {
    return std::ranges::all_of(plan_.regions, [&](const plan::Region& region) {
      bool reads = std::ranges::find(region.reads, update.target) != region.reads.end();
      bool writes = std::ranges::find(region.writes, update.value) != region.writes.end();
      return !reads || (writes && !region.source && made_in_place(region, update.target));
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

  RegionRequest request_of(size_t r) const {
    const plan::Region& region = plan_.regions[r];
    const auto writing = sized_.writing.find(region.name);
    return request_at(writing == sized_.writing.end() ? context_ : writing->second.at(context_), region,
                      parts_.region_names[r]);
  }

  // `context`: this, or that of other sizes.
  RegionRequest request_at(const plan::Context& context, const plan::Region& region,
                           const std::string& name) const {
    auto place = [&](ValueId id) {
      const Resident& own = parts_.residents.at(id);
      return stored_place(context.graph, id, own.name,
                          own.home == Home::scratch ? &plan_.storage[index_of(id)] : nullptr);
    };
    RegionRequest request{.context = context,
                          .region = region,
                          .name = name,
                          .cublas = handle_of_branch("cublas", region.branch),
                          .cudnn = handle_of_branch("cudnn", region.branch)};
    request.planned = planned_request(request.context, region, plan_);
    for (ValueId id : region.reads) request.reads.push_back(place(id));
    for (ValueId id : region.writes) request.writes.push_back(place(id));
    std::set<ValueId> seen;
    for (int32_t n : region.nodes)
      for (ValueId id : graph_.node(n).operands) {
        if (id == ValueId::none || !seen.insert(id).second) continue;
        auto found = parts_.residents.find(id);
        if (found != parts_.residents.end() && found->second.home == Home::weight)
          request.weights.push_back(place(id));
      }
    return request;
  }

  std::set<DType> dtypes_of(const RegionRequest& request) const {
    std::set<DType> out;
    for (const auto* places : {&request.reads, &request.weights, &request.writes})
      for (const Place& place : *places) out.insert(place.dtype);
    for (int32_t n : request.region.nodes)
      for (ValueId id : graph_.node(n).results) out.insert(graph_.type(id).dtype);
    return out;
  }

  // Names that a region adds to the program's struct must be unique there.
  bool takes_names(const RegionCode& code) {
    std::vector<std::string> own;
    for (const Member& member : code.members) own.push_back(member.name);
    for (const Packed& packed : code.packed) own.push_back(packed.name);
    for (const Prepared& prepared : code.prepared) own.push_back(prepared.name);
    for (const Setting& setting : code.settings) own.push_back(setting.variable);
    if (std::ranges::any_of(own, [&](const std::string& name) { return names_.taken(name); })) return false;
    for (const std::string& name : own) names_.unique(name);
    return true;
  }

  Result<void> write_region(size_t r) {
    const plan::Region& region = plan_.regions[r];
    const Technique& technique = technique_of(region);
    RegionRequest request = request_of(r);
    if (sources_may_miss_ && technique.takes_source() && !region.source) return add(r, request, {});
    STITCH_CHECK(technique.accepts(context_, region));
    STITCH_TRY(RegionCode code, code_of(r, request));
    while (!takes_names(code)) {
      request.name = parts_.region_names[r] = names_.unique(request.region.name);
      STITCH_TRY(code, code_of(r, request));
    }
    return add(r, request, std::move(code));
  }

  Result<RegionCode> code_of(size_t r, const RegionRequest& request) {
    const Technique& technique = technique_of(request.region);
    const bool alone = request.region.variants.empty();
    RegionRequest named = request;
    if (!alone) named.name = name_otherwise(request.name);
    STITCH_TRY(RegionCode own, technique.write(named));
    STITCH_CHECK(check_packed(request, own, plan_));
    if (alone) return own;
    std::vector<VariantCode> others;
    for (const plan::Variant& variant : request.region.variants) {
      const std::string name = name_of(request.name, variant);
      auto known = sized_.variants.find(name);
      if (known == sized_.variants.end()) {
        STITCH_TRY(RegionCode code, code_of_variant(r, variant, name));
        known = sized_.variants.emplace(name, std::move(code)).first;
      }
      others.push_back({variant, name, known->second});
    }
    return with_variants(request.name, std::move(own), others);
  }

  // The same at every instance of the program.
  Result<RegionCode> code_of_variant(size_t r, const plan::Variant& variant, const std::string& name) const {
    STITCH_TRY(const auto instances, plan::instances_of(context_, plan_.regions[r], variant));
    const plan::Context own = context_.of(instances);
    plan::Region region = plan_.regions[r];
    region.variants = {variant};
    region = region.at(own.sizes());
    std::vector<RegionCode> codes;
    for (const plan::Context& each : own.at_sizes()) {
      STITCH_CHECK(region.technique->accepts(each, region));
      const RegionRequest request = request_at(each, region, name);
      STITCH_TRY(RegionCode code, technique_of(region).write(request));
      STITCH_CHECK(check_packed(request, code, plan_));
      codes.push_back(std::move(code));
    }
    auto one = unified(*size_table(instances), codes);
    if (!one) return at(name, one.error());
    return one;
  }

  Result<void> add(size_t r, const RegionRequest& request, RegionCode code) {
    parts_.source_of.push_back(shared_.find(request, r, code).value_or(r));
    parts_.dtypes.push_back(dtypes_of(request));
    parts_.regions.push_back(std::move(code));
    return {};
  }

  // Regions of a section may run in any order.
  void find_sections() {
    begin_.resize(plan_.regions.size());
    std::iota(begin_.begin(), begin_.end(), 0);
    end_ = begin_;
    for (const plan::Section& section : plan::sections_of(plan_))
      for (size_t r = section.first; r < section.end; ++r)
        begin_[r] = static_cast<int>(section.first), end_[r] = static_cast<int>(section.end) - 1;
  }

  // Values computed from weights are computed right before the first region that uses them, and their memory
  // is free once that has packed them. All at once would be a second copy of the weights.
  void order_creation() {
    std::map<ValueId, size_t> maker;
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (parts_.constant[r])
        for (ValueId id : plan_.regions[r].writes) maker.emplace(id, r);
    std::vector<bool> placed(plan_.regions.size());
    auto place = [&](auto& self, size_t r) -> void {
      if (placed[r]) return;
      placed[r] = true;
      for (ValueId id : plan_.regions[r].reads)
        if (auto found = maker.find(id); found != maker.end()) self(self, found->second);
      created_at_[r] = static_cast<int>(parts_.creation.size());
      parts_.creation.push_back(r);
    };
    created_at_.resize(plan_.regions.size());
    for (bool constant : {false, true})
      for (size_t r = 0; r < plan_.regions.size(); ++r)
        if (parts_.constant[r] == constant) place(place, r);
  }

  // Whether the later region depends on the earlier one.
  bool runs_after(size_t later, size_t earlier) const {
    if (parts_.constant[later] != parts_.constant[earlier]) return false;
    if (parts_.constant[later]) return created_at_[earlier] < created_at_[later];
    return begin_[later] != begin_[earlier] || plan_.regions[later].branch == plan_.regions[earlier].branch;
  }

  // A weight that several regions pack in the same way is packed once: layers that share weights.
  void share_packed() {
    std::map<std::string, std::string> packed;  // by function and arguments
    for (size_t r : parts_.creation)
      for (Packed& own : parts_.regions[r].packed) {
        if (!own.fill || own.changes) continue;
        std::string key =
            format("{} {} {}", own.what.empty() ? own.fill->function : own.what, own.type, own.elements);
        for (const std::string& argument : own.fill->arguments)
          key += argument == own.name ? ", itself" : ", " + argument;
        if (auto [found, is_new] = packed.try_emplace(key, own.name); !is_new) own.same_as = found->second;
      }
  }

  // Memory prepared by an earlier region is reused by later ones that need the same.
  void share_prepared() {
    auto same = [](const Prepared& a, const Prepared& b) {
      return a.what == b.what && a.bytes == b.bytes &&
             std::equal(a.make.arguments.begin(), a.make.arguments.end() - 1, b.make.arguments.begin(),
                        b.make.arguments.end() - 1);
    };
    for (size_t r = 0; r < parts_.regions.size(); ++r)
      for (Prepared& own : parts_.regions[r].prepared)
        for (size_t earlier = 0; earlier < r && !own.made_earlier; ++earlier)
          for (const Prepared& other : parts_.regions[earlier].prepared) {
            if (other.made_earlier || !runs_after(r, earlier) || !same(own, other)) continue;
            std::ranges::replace(parts_.regions[r].arguments, own.name, other.name);
            own.name = own.make.arguments.back() = other.name;
            own.made_earlier = true;
            break;
          }
  }

  // Creation ends before any run, so values used only then share memory with values of runs. Two periods: in
  // the order of creation, then in the plan's.
  void lay_out_scratch() {
    std::vector<Lifetime> lifetimes;
    const int regions = static_cast<int>(plan_.regions.size()), end_of_runs = 2 * regions;
    std::vector<int> begin = begin_, end = end_;
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (parts_.constant[r])
        begin[r] = end[r] = created_at_[r];
      else
        begin[r] += regions, end[r] += regions;
    for (ValueId id : parts_.scratch) {
      Lifetime lifetime{parts_.residents.at(id).bytes, end_of_runs, 0};
      bool constant = false;
      for (size_t r = 0; r < plan_.regions.size(); ++r) {
        const plan::Region& region = plan_.regions[r];
        const bool writes = std::ranges::find(region.writes, id) != region.writes.end();
        if (writes) constant = parts_.constant[r];
        if (writes && constant && parts_.is_read_by_runs(parts_.residents.at(id).name)) {
          lifetime = {lifetime.bytes, 0, end_of_runs};  // never shared
          break;
        }
        if (writes) lifetime.first = begin[r];
        // Packing of constants happens at create.
        if (writes || std::ranges::find(region.reads, id) != region.reads.end())
          lifetime.last = std::max(lifetime.last, constant ? created_at_[r] : end[r]);
      }
      for (auto [copied, index] : parts_.copies)
        if (copied == id) lifetime.last = end_of_runs;
      lifetimes.push_back(lifetime);
    }
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (parts_.regions[r].has_workspace())
        lifetimes.push_back({parts_.regions[r].workspace_bytes, begin[r], end[r]});
    std::vector<std::string> prepared;  // each from the region that fills it to the last that reads it
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      for (const Prepared& each : parts_.regions[r].prepared) {
        if (!each.made_earlier) {
          prepared.push_back(each.name);
          lifetimes.push_back({each.bytes, begin[r], end[r]});
          continue;
        }
        const auto found = std::ranges::find(prepared, each.name) - prepared.begin();
        int& last = lifetimes[lifetimes.size() - prepared.size() + static_cast<size_t>(found)].last;
        last = std::max(last, end[r]);
      }
    if (context_.takes_sizes()) return list_needs(lifetimes, prepared);
    parts_.layout = lay_out(lifetimes);
    size_t at = parts_.scratch.size();
    for (const RegionCode& region : parts_.regions)
      parts_.workspace_at.push_back(region.workspace_bytes > 0 ? parts_.layout.offsets[at++] : -1);
    for (const std::string& name : prepared) parts_.prepared_at[name] = parts_.layout.offsets[at++];
  }

  // What runs need, and what regions that run once leave or work in: that memory is never shared.
  void list_needs(const std::vector<Lifetime>& lifetimes, const std::vector<std::string>& prepared) {
    const int regions = static_cast<int>(plan_.regions.size());
    size_t at = 0;
    parts_.workspace_at.assign(plan_.regions.size(), -1);
    auto take = [&](const std::string& pointer, std::string_view type,
                    const std::string& elsewhere = {}) -> int64_t {
      const Lifetime& each = lifetimes[at++];
      if (each.first >= regions) {
        parts_.needs.push_back({pointer, std::string(type), elsewhere + std::to_string(each.bytes),
                                each.first - regions, each.last - regions});
        return -1;
      }
      const int64_t offset = parts_.layout.bytes;
      parts_.layout.bytes += rounded_up(each.bytes, 256);
      return offset;
    };
    for (ValueId id : parts_.scratch) {
      const Resident& resident = parts_.residents.at(id);
      parts_.layout.offsets.push_back(take(resident.name, element_type(resident.place.dtype)));
    }
    for (size_t r = 0; r < plan_.regions.size(); ++r)
      if (const RegionCode& code = parts_.regions[r]; code.has_workspace())
        parts_.workspace_at[r] =
            take("workspace_of_" + parts_.region_names[r], "char", code.workspace_elsewhere);
    for (const std::string& name : prepared) parts_.prepared_at[name] = take(name, "char");
  }

  const plan::Context& context_;
  SizedRegions none_;
  SizedRegions& sized_;
  const Graph& graph_;
  const plan::Plan& plan_;
  Names names_;
  std::map<ValueId, std::string> result_names_;
  SharedKernels shared_;
  bool sources_may_miss_ = false;  // true for requests_of
  std::vector<int> begin_, end_;   // of the section of a region, or itself
  std::vector<int> created_at_;    // by region: its place in the order of creation
  ProgramParts parts_;
};

}  // namespace

bool ProgramParts::uses(std::string_view library) const {
  return std::ranges::any_of(regions, [&](const RegionCode& region) {
    return std::ranges::find(region.libraries, library) != region.libraries.end();
  });
}

bool ProgramParts::starts_kernels_itself() const {
  if (takes_sizes()) return false;
  constexpr int few = 2;
  int kernels = 0;
  for (size_t r = 0; r < regions.size(); ++r) {
    if (regions[r].kernels == 0 || constant[r] || workspace_at[r] >= 0 || !regions[r].prepared.empty())
      return false;
    kernels += regions[r].kernels;
  }
  return kernels <= few && scratch.empty() && copies.empty();
}

int ProgramParts::branches() const {
  int most = 1;
  for (const plan::Section& section : plan::sections_of(plan)) most = std::max(most, section.branches);
  return most;
}

bool ProgramParts::is_read_by_runs(const std::string& name) const {
  for (size_t r = 0; r < regions.size(); ++r) {
    const RegionCode& code = regions[r];
    const bool runs = !constant[r] && std::ranges::count(code.arguments, name) > 0;
    if (runs || std::ranges::any_of(code.members, [&](const Member& member) {
          return std::ranges::count(member.weights, name) > 0;
        }))
      return true;
  }
  return false;
}

bool ProgramParts::keeps(const Resident& weight) const {
  const bool copied = std::ranges::any_of(
      copies, [&](const auto& copy) { return residents.at(copy.first).name == weight.name; });
  const bool strided = weight.place.strides != contiguous_strides(weight.place.shape);
  const bool read = std::ranges::any_of(
      regions, [&](const RegionCode& code) { return std::ranges::count(code.arguments, weight.name) > 0; });
  return copied || is_read_by_runs(weight.name) || (strided && read);
}

std::vector<ValueId> ProgramParts::reads_alone(size_t region) const {
  std::vector<ValueId> out = plan.regions[region].reads;
  if (!constant[region]) return out;
  for (const auto& [id, resident] : residents)
    if (resident.home == Home::weight && std::ranges::count(regions[region].arguments, resident.name) > 0 &&
        !keeps(resident) && std::ranges::find(out, id) == out.end())
      out.push_back(id);
  return out;
}

bool ProgramParts::offers_programmatic_launches() const {
  if (!context.gpu.architecture.programmatic_launches() || starts_kernels_itself()) return false;
  return std::ranges::count(constant, false) > 1 && std::ranges::all_of(regions, &RegionCode::waits);
}

bool ProgramParts::has_settings() const {
  return offers_programmatic_launches() ||
         std::ranges::any_of(regions, [](const RegionCode& region) { return !region.settings.empty(); });
}

std::string handle_of_branch(const std::string& handle, int branch) {
  return branch == 0 ? handle : format("{}_{}", handle, branch + 1);
}

Result<ProgramParts> gather_parts(const plan::Context& context, const plan::Plan& plan, SizedRegions* sized) {
  return Gatherer(context, plan, sized).gather();
}

Result<std::vector<RegionRequest>> requests_of(const plan::Context& context, const plan::Plan& plan) {
  return Gatherer(context, plan, nullptr).requests();
}

}  // namespace stitch::code
