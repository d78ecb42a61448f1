#include "code/sharing.h"

#include <algorithm>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "plan/technique.h"

namespace stitch::code {

namespace {

// Numbers values in the order in which the region uses them.
class Numbers {
 public:
  std::string of(ValueId id) {
    if (id == ValueId::none) return "none";
    return std::to_string(numbers_.try_emplace(id, numbers_.size()).first->second);
  }
  bool knows(ValueId id) const { return numbers_.contains(id); }

 private:
  std::map<ValueId, size_t> numbers_;
};

std::string describe(const Graph& graph, const Place& place) {
  const bool output = std::ranges::find(graph.outputs, place.value) != graph.outputs.end();
  return format("{} [{}] [{}] {} {} {}\n", name(place.dtype), join(place.shape, ","),
                join(place.strides, ","), text(graph.type(place.value)), name(graph[place.value].role),
                output);
}

// Whether a choice of this knob changes the code. Others are settings: arguments.
bool is_written(const RegionRequest& request, const std::string& knob) {
  const std::vector<plan::Knob> knobs = request.region.technique->knobs(request.context, request.region);
  const auto found = std::ranges::find(knobs, knob, &plan::Knob::name);
  return found == knobs.end() || found->recompiles;
}

std::vector<std::string> pointers(const RegionRequest& request) {
  std::vector<std::string> out;
  for (const auto* places : {&request.reads, &request.weights, &request.writes})
    for (const Place& place : *places) out.push_back(place.pointer);
  return out;
}

// Maps one region's names to another's, position by position.
class Renaming {
 public:
  void add(const std::string& from, const std::string& to) {
    same_ &= names_.try_emplace(from, to).first->second == to;
  }
  bool gives(const std::vector<std::string>& from, const std::vector<std::string>& to) const {
    return same_ && std::ranges::equal(from, to, {}, [&](const std::string& name) {
             auto found = names_.find(name);
             return found == names_.end() ? name : found->second;
           });
  }

 private:
  std::map<std::string, std::string> names_;
  bool same_ = true;
};

bool alike(const Packed& a, const Packed& b) {
  return a.type == b.type && a.elements == b.elements && a.fill.has_value() == b.fill.has_value();
}

// Whether both call their functions with corresponding arguments.
bool called_alike(const RegionCode& a, const std::vector<std::string>& places_of_a, const RegionCode& b,
                  const std::vector<std::string>& places_of_b) {
  auto types = [](const Member& member) { return member.type; };
  if (a.workspace_bytes != b.workspace_bytes || places_of_a.size() != places_of_b.size() ||
      a.settings.size() != b.settings.size() || !std::ranges::equal(a.packed, b.packed, alike) ||
      !std::ranges::equal(a.members, b.members, {}, types, types) ||
      !std::ranges::equal(a.prepared, b.prepared, {}, &Prepared::bytes, &Prepared::bytes))
    return false;
  Renaming renaming;
  for (size_t i = 0; i < places_of_a.size(); ++i) renaming.add(places_of_a[i], places_of_b[i]);
  for (size_t i = 0; i < a.members.size(); ++i) renaming.add(a.members[i].name, b.members[i].name);
  for (size_t i = 0; i < a.packed.size(); ++i) renaming.add(a.packed[i].name, b.packed[i].name);
  for (size_t i = 0; i < a.prepared.size(); ++i) renaming.add(a.prepared[i].name, b.prepared[i].name);
  for (size_t i = 0; i < a.settings.size(); ++i) renaming.add(a.settings[i].variable, b.settings[i].variable);
  for (size_t i = 0; i < a.packed.size(); ++i)
    if (a.packed[i].fill && !renaming.gives(a.packed[i].fill->arguments, b.packed[i].fill->arguments))
      return false;
  for (size_t i = 0; i < a.prepared.size(); ++i)
    if (!renaming.gives(a.prepared[i].make.arguments, b.prepared[i].make.arguments)) return false;
  return renaming.gives(a.arguments, b.arguments);
}

}  // namespace

std::string structure_of(const RegionRequest& request) {
  const Graph& graph = request.graph;
  Numbers numbers;
  std::string out = std::string(request.region.technique->name()) + "\n";
  out +=
      format("{} {}\n", plan::name(request.region.offer.arithmetic), plan::name(request.region.offer.order));
  if (request.region.source) out += sha256(request.region.source->text) + "\n";
  for (const auto& [knob, value] : request.region.choices)
    if (is_written(request, knob)) out += format("{}={}\n", knob, value);
  for (const plan::Variant& each : request.region.variants) {
    out += format("{} {} {} {} {} {}\n", each.measure, each.least, each.most, each.technique->name(),
                  plan::name(each.offer.arithmetic), plan::name(each.offer.order));
    for (const auto& [knob, value] : each.choices) out += format("{}={}\n", knob, value);
  }
  for (const auto* places : {&request.reads, &request.weights, &request.writes}) {
    out += format("{} places\n", places->size());
    for (const Place& place : *places) out += numbers.of(place.value) + ": " + describe(graph, place);
  }
  // State updated in place.
  for (const Update& update : graph.updates)
    if (numbers.knows(update.target) || numbers.knows(update.value))
      out += format("update {} {}\n", numbers.knows(update.target) ? numbers.of(update.target) : "another",
                    numbers.knows(update.value) ? numbers.of(update.value) : "another");
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.node(n);
    out += std::string(info(node.op).name);
    for (ValueId id : node.operands)
      out += format(" {}:{}", numbers.of(id), id == ValueId::none ? "" : text(graph.type(id)));
    out += " ->";
    for (ValueId id : node.results) out += format(" {}:{}", numbers.of(id), text(graph.type(id)));
    for (const auto& [key, value] : node.attributes) out += format(" {}={}", key, text(value));
    out += '\n';
  }
  return out;
}

std::optional<size_t> SharedKernels::find(const RegionRequest& request, size_t region, RegionCode& code) {
  std::vector<std::string> places = pointers(request);
  auto [found, is_new] = written_.try_emplace(structure_of(request), Written{region, places, code});
  const Written& first = found->second;
  if (is_new || !called_alike(first.code, first.places, code, places)) return std::nullopt;
  for (size_t i = 0; i < code.packed.size(); ++i)
    if (code.packed[i].fill) code.packed[i].fill->function = first.code.packed[i].fill->function;
  for (size_t i = 0; i < code.prepared.size(); ++i)
    code.prepared[i].make.function = first.code.prepared[i].make.function;
  code.source.clear();
  code.declaration.clear();
  return first.region;
}

}  // namespace stitch::code
