#include "learn/synthesis/canonical.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <set>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "learn/draw.h"

namespace stitch::learn {

namespace {

bool is_weight(const Value& value) { return value.has_data(); }

std::string leaf_text(const Graph& graph, ValueId id) {
  const Value& value = graph[id];
  return format("{} {}",
                value.role == Role::seed ? "seed"
                : is_weight(value)       ? "weight"
                                         : "input",
                text(value.type));
}

std::string attributes_text(const Node& node) {
  std::string out;
  for (const auto& [key, value] : node.attributes) out += format(" {}={}", key, text(value));
  return out;
}

// Numbers the leaves in the order of a walk from the outputs, then hashes from the leaves up.
class Canonical {
 public:
  explicit Canonical(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  std::string hash() {
    std::vector<ValueId> roots = graph_.outputs;
    for (const Update& update : graph_.updates) roots.push_back(update.value);
    for (ValueId root : roots) number(root);
    Sha256 sum;
    for (ValueId id : graph_.outputs) sum.add_field(value(id));
    // Updates have no order of their own.
    std::set<std::string> updates;
    for (const Update& update : graph_.updates)
      updates.insert(format("{} = {}", leaf_text(graph_, update.target), value(update.value)));
    for (const std::string& each : updates) sum.add_field(each);
    return sum.hex().substr(0, 32);
  }

 private:
  // Without recursion: models are deep.
  void number(ValueId root) {
    std::vector<ValueId> open = {root};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (id == ValueId::none || !seen_.insert(id).second) continue;
      const int32_t maker = makers_[index_of(id)];
      if (maker < 0) {
        leaves_.emplace(id, leaves_.size());
        continue;
      }
      const Node& node = graph_.node(maker);
      for (size_t i = node.operands.size(); i-- > 0;) open.push_back(node.operands[i]);
    }
  }

  // Nodes are in an order in which they can run: one pass gives all of them.
  std::string value(ValueId wanted) {
    if (hashes_.empty())
      for (const Node& node : graph_.nodes) {
        Sha256 sum;
        sum.add_field(info(node.op).name);
        sum.add_field(attributes_text(node));
        for (ValueId id : node.operands) sum.add_field(operand(id));
        const std::string hash = sum.hex();
        for (size_t i = 0; i < node.results.size(); ++i)
          hashes_[node.results[i]] = format("{}.{} {}", hash, i, text(graph_.type(node.results[i])));
      }
    return operand(wanted);
  }

  std::string operand(ValueId id) {
    if (id == ValueId::none) return "none";
    if (auto made = hashes_.find(id); made != hashes_.end()) return made->second;
    auto leaf = leaves_.find(id);
    return format("{} {}", leaf_text(graph_, id), leaf == leaves_.end() ? size_t{0} : leaf->second);
  }

  const Graph& graph_;
  const std::vector<int32_t> makers_;
  std::set<ValueId> seen_;
  std::map<ValueId, size_t> leaves_;
  std::map<ValueId, std::string> hashes_;
};

std::string bucketed(const Shape& shape) {
  std::vector<int64_t> out;
  for (int64_t size : shape)
    out.push_back(size <= 8 ? size : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))));
  return format("[{}]", join(out, ","));
}

}  // namespace

std::string canonical_hash(const Graph& graph) { return Canonical(graph).hash(); }

Sketch sketch_of(const Graph& graph) {
  constexpr int depth = 3;
  const std::vector<int32_t> makers = producers(graph);
  std::set<uint32_t> seen;
  for (const bool sized : {false, true}) {
    // The labels of each value after every round: a leaf's kind, a node's op, then what stands around it.
    std::vector<uint64_t> labels(graph.values.size());
    for (size_t i = 0; i < graph.values.size(); ++i) {
      const auto id = static_cast<ValueId>(static_cast<int32_t>(i));
      std::string label = makers[i] >= 0         ? std::string(info(graph.node(makers[i]).op).name)
                          : is_weight(graph[id]) ? "weight"
                                                 : "input";
      if (sized) label += bucketed(graph.type(id).shape);
      labels[i] = stable_hash(label);
    }
    for (int round = 0; round < depth; ++round) {
      std::vector<uint64_t> next = labels;
      for (const Node& node : graph.nodes) {
        std::string around = format("{} {}", info(node.op).name, round);
        for (ValueId id : node.operands)
          around += format(" {}", id == ValueId::none ? 0 : labels[index_of(id)]);
        for (ValueId id : node.results) {
          next[index_of(id)] = stable_hash(format("{} {}", around, labels[index_of(id)]));
          // Views and constants say little.
          if (info(node.op).family == Family::view || info(node.op).family == Family::create) continue;
          seen.insert(static_cast<uint32_t>(stable_hash(format("{} {}", sized, next[index_of(id)]))));
        }
      }
      labels = std::move(next);
    }
  }
  Sketch out(seen.begin(), seen.end());
  if (out.size() > sketch_size) out.resize(sketch_size);
  return out;
}

double similarity(const Sketch& a, const Sketch& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 1 : 0;
  // Of the smallest of both together: a sketch that is full knows nothing beyond its last.
  Sketch both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  const uint32_t last_a = a.size() < sketch_size ? UINT32_MAX : a.back(),
                 last_b = b.size() < sketch_size ? UINT32_MAX : b.back();
  std::erase_if(both, [&](uint32_t each) { return each > std::min(last_a, last_b); });
  const auto shared = std::ranges::count_if(both, [&](uint32_t each) {
    return std::ranges::binary_search(a, each) && std::ranges::binary_search(b, each);
  });
  return static_cast<double>(shared) / static_cast<double>(both.size());
}

std::string sketch_line(const NamedSketch& one) {
  std::string out = one.name + " ";
  for (uint32_t each : one.sketch) out += format("{:08x}", each);
  return out;
}

Result<std::vector<NamedSketch>> read_sketches(std::string_view text) {
  std::vector<NamedSketch> out;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty() || line.starts_with('#')) continue;
    const size_t space = line.find(' ');
    const std::string_view digits =
        space == std::string::npos ? "" : std::string_view(line).substr(space + 1);
    if (digits.size() % 8 != 0 || digits.size() > 8 * sketch_size)
      return at(format("line {}", number), user_error("sketches", "not a sketch"));
    NamedSketch one{line.substr(0, space), {}};
    for (size_t i = 0; i < digits.size(); i += 8) {
      uint32_t value = 0;
      const auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 8, value, 16);
      if (error != std::errc() || end != digits.data() + i + 8)
        return at(format("line {}", number), user_error("sketches", "not a hexadecimal number"));
      one.sketch.push_back(value);
    }
    std::ranges::sort(one.sketch);
    out.push_back(std::move(one));
  }
  return out;
}

Nearest nearest_of(const Sketch& sketch, const std::vector<NamedSketch>& all) {
  Nearest out;
  for (const NamedSketch& each : all)
    if (const double near = similarity(sketch, each.sketch); near > out.similarity) out = {each.name, near};
  return out;
}

}  // namespace stitch::learn
