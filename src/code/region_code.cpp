#include "code/region_code.h"

#include <algorithm>
#include <set>

#include "code/names.h"
#include "plan/technique.h"

namespace stitch::code {

const Place* RegionRequest::find(ValueId value) const {
  for (const auto* list : {&reads, &weights, &writes})
    for (const Place& place : *list)
      if (place.value == value) return &place;
  return nullptr;
}

namespace {

// A name without its common prefix with another.
std::string without_common_words(const std::string& name, const std::string& other) {
  size_t same = 0;
  for (size_t i = 0; i < name.size() && i < other.size() && name[i] == other[i]; ++i)
    if (name[i] == '_' || (i + 1 == other.size() && name[i + 1] == '_')) same = i + 1;
  return name.substr(same).starts_with('_') ? name.substr(same + 1) : name.substr(same);
}

}  // namespace

std::string layout_comment(const Place& place) {
  const size_t rank = place.shape.size();
  std::string out = shape_comment(place.shape);
  if (rank < 3 || place.strides == contiguous_strides(place.shape)) return out;
  Shape last = place.shape;  // the channels moved behind the pixels
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  std::vector<int64_t> strides = contiguous_strides(last);
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return place.strides == strides ? out + ", channels last" : out;
}

Place stored_place(const Graph& graph, ValueId value, std::string pointer, const plan::Storage* storage) {
  const TensorType& type = graph.type(value);
  const std::vector<int64_t>* order = storage && !storage->order.empty() ? &storage->order : nullptr;
  Place out{value, std::move(pointer), storage ? storage->dtype : type.dtype, type.shape,
            storage || type.strides.empty() ? contiguous_strides(type.shape) : type.strides};
  int64_t step = 1;
  for (size_t i = order ? order->size() : 0; i-- > 0;) {
    const auto dim = static_cast<size_t>((*order)[i]);
    out.strides[dim] = step;
    step *= std::max<int64_t>(type.shape[dim], 1);
  }
  return out;
}

RegionRequest request_alone(const plan::Context& context, const plan::Region& region,
                            const plan::Plan* plan) {
  const Graph& graph = context.graph;
  RegionRequest request{context, region, region.name.empty() ? "region" : region.name, {}, {}, {}};
  Names names;
  std::set<ValueId> placed;
  auto place = [&](ValueId id) {
    placed.insert(id);
    const plan::Storage own = plan ? plan->storage[index_of(id)] : plan::Storage{graph.type(id).dtype, {}};
    return stored_place(graph, id, names.unique(graph[id].name),
                        plan && graph[id].role != Role::result ? nullptr : &own);
  };
  for (ValueId id : region.reads) request.reads.push_back(place(id));
  for (ValueId id : region.writes) request.writes.push_back(place(id));
  for (int32_t n : region.nodes)
    for (ValueId id : graph.node(n).operands)
      if (id != ValueId::none && graph[id].has_data() && !placed.contains(id))
        request.weights.push_back(place(id));
  return request;
}

std::shared_ptr<const RegionRequest> planned_request(const plan::Context& context, const plan::Region& region,
                                                     const plan::Plan& plan) {
  if (!context.planned) return nullptr;
  return std::make_shared<const RegionRequest>(request_alone(*context.planned, region, &plan));
}

Result<void> check_packed(const RegionRequest& request, const RegionCode& code, const plan::Plan& plan) {
  for (const Packed& packed : code.packed)
    for (const Place& place : request.reads) {
      if (!packed.fill || std::ranges::count(packed.fill->arguments, place.pointer) == 0) continue;
      const std::vector<bool> constant = plan::constant_regions(request.graph, plan);
      for (size_t r = 0; r < plan.regions.size(); ++r)
        if (constant[r] && std::ranges::count(plan.regions[r].writes, place.value) > 0) return {};
      return at(request.name, user_error("technique", format("{} packs '{}', which is not a constant",
                                                             request.region.technique->name(),
                                                             request.graph[place.value].name)));
    }
  return {};
}

std::string RegionRequest::own_name(const Place& place) const {
  const std::string own = without_common_words(place.pointer, name);
  for (const auto* list : {&reads, &weights, &writes})
    for (const Place& other : *list)
      if (other.pointer != place.pointer && without_common_words(other.pointer, name) == own)
        return name + "_" + place.pointer;
  return name + "_" + own;
}

Packed packed_memory(std::string name, DType type, int64_t elements, std::optional<PackCall> fill) {
  return {std::move(name), std::string(element_type(type)), size_of(type), elements, std::move(fill)};
}

std::string add_setting(RegionCode& code, const plan::Region& region, const std::string& owner,
                        const std::string& what, std::string type, std::vector<int64_t> values,
                        int64_t otherwise) {
  Setting setting{owner + "." + what, owner + "_" + what, std::move(type), std::move(values), otherwise};
  const int64_t planned = region.choice(what, otherwise);
  if (std::ranges::find(setting.values, planned) != setting.values.end()) setting.value = planned;
  code.settings.push_back(std::move(setting));
  return code.settings.back().variable;
}

}  // namespace stitch::code
