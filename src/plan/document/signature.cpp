#include "plan/document/signature.h"

#include <bit>
#include <map>
#include <set>

#include "base/digest/sha256.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "graph/op.h"

namespace stitch::plan {

namespace {

// Small ones are the op itself: a filter of 3, a pair, a single channel.
int64_t bucket(int64_t size) {
  constexpr int64_t exact = 8;
  return size <= exact ? size : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size)));
}

std::string bucketed(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out;
  for (int64_t size : sizes) out.push_back(bucket(size));
  return format("[{}]", join(out, ","));
}

std::string attribute_text(const AttributeValue& value) {
  if (const auto* sizes = std::get_if<std::vector<int64_t>>(&value)) return bucketed(*sizes);
  if (const auto* size = std::get_if<int64_t>(&value)) return std::to_string(bucket(*size));
  return text(value);
}

}  // namespace

std::string signature_of(const Graph& graph, const Region& region) {
  constexpr int most_columns = 48;
  std::map<ValueId, int> made;  // within the region, in order
  std::vector<std::string> ops;
  Sha256 sum;
  auto operand = [&](ValueId id) -> std::string {
    if (id == ValueId::none) return "none";
    if (auto found = made.find(id); found != made.end()) return format("#{}", found->second);
    const TensorType& type = graph.type(id);
    return format("{}{}{}", name(type.dtype), bucketed(type.shape), graph[id].has_data() ? " weight" : "");
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    std::vector<std::string> parts;
    for (ValueId id : node.operands) parts.push_back(operand(id));
    for (const auto& [key, value] : node.attributes) parts.push_back(key + "=" + attribute_text(value));
    for (ValueId id : node.results) {
      parts.push_back(format("{}{}", name(graph.type(id).dtype), bucketed(graph.type(id).shape)));
      made.emplace(id, static_cast<int>(made.size()));
    }
    ops.emplace_back(info(node.op).name);
    sum.add_field(ops.back());
    sum.add_field(join(parts, " "));
  }
  // What leaves the region is part of its work.
  for (ValueId id : region.writes) sum.add_field(operand(id));
  return format("{} #{}", shorten(join(ops, " "), most_columns), sum.hex().substr(0, 12));
}

}  // namespace stitch::plan
