// Instances at sizes that no import was asked for.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "graph/instances.h"
#include "graph/size_table.h"

namespace stitch {

namespace {

// Every number of a graph that may depend on sizes, in one order for all instances.
template <class Visit>
void visit_numbers(Graph& graph, const Visit& visit) {
  for (Value& value : graph.values) {
    for (int64_t& size : value.type.shape) visit(size);
    for (int64_t& stride : value.type.strides) visit(stride);
  }
  for (Node& node : graph.nodes) {
    const Attributes attributes = node.attributes;
    for (const auto& [name, value] : attributes) {
      AttributeValue own = value;
      if (auto* number = std::get_if<int64_t>(&own)) visit(*number);
      if (auto* list = std::get_if<std::vector<int64_t>>(&own))
        for (int64_t& number : *list) visit(number);
      node.attributes.set(name, std::move(own));
    }
  }
}

std::vector<int64_t> numbers_of(const Graph& graph) {
  Graph own = graph;
  std::vector<int64_t> out;
  visit_numbers(own, [&](int64_t number) { out.push_back(number); });
  return out;
}

bool has_same_fractions(const Graph& a, const Graph& b) {
  for (size_t n = 0; n < a.nodes.size(); ++n)
    for (const auto& [name, value] : a.nodes[n].attributes)
      if (std::holds_alternative<double>(value) || std::holds_alternative<std::vector<double>>(value))
        if (!same(value, *b.nodes[n].attributes.find(name))) return false;
  return true;
}

// Sizes of one dimension: both ends, and primes between them, each half as large again as the one before.
std::vector<int64_t> ladder(const Dimension& dimension) {
  const int64_t step = dimension.multiple, least = (dimension.least + step - 1) / step,
                most = dimension.most / step;
  auto is_prime = [](int64_t n) {
    for (int64_t d = 2; d * d <= n; ++d)
      if (n % d == 0) return false;
    return true;
  };
  std::vector<int64_t> out;
  for (int64_t size = least; size < most;) {
    out.push_back(size * step);
    int64_t next = std::max(size + 1, static_cast<int64_t>(std::ceil(1.4 * static_cast<double>(size))));
    while (next < most && !is_prime(next)) ++next;
    size = next;
  }
  out.push_back(most * step);
  return out;
}

}  // namespace

std::vector<Sizes> sizes_across(const Dimensions& dimensions) {
  std::vector<std::vector<int64_t>> ladders;
  for (const Dimension& each : dimensions) ladders.push_back(ladder(each));
  const size_t draws = dimensions.size() == 1 ? ladders[0].size() : 32;
  std::set<Sizes> out;
  Sizes least, most;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    least[dimensions[d].name] = ladders[d].front();
    most[dimensions[d].name] = ladders[d].back();
  }
  out.insert({least, most});
  // Multiples of irrational numbers spread evenly, the same in every run.
  constexpr double irrational[] = {1.4142135623730951, 1.7320508075688772, 2.23606797749979,
                                   2.6457513110645907, 3.3166247903554,    3.605551275463989,
                                   4.123105625617661,  4.358898943540674};
  for (size_t draw = 0; draw < draws; ++draw) {
    Sizes one;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const auto count = static_cast<double>(ladders[d].size());
      const double turns = static_cast<double>(draw + 1) * irrational[d % std::size(irrational)];
      const size_t at =
          dimensions.size() == 1 ? draw : static_cast<size_t>((turns - std::floor(turns)) * count);
      one[dimensions[d].name] = ladders[d][at];
    }
    out.insert(std::move(one));
  }
  return {out.begin(), out.end()};
}

Result<std::vector<Instance>> instances_at(const Instances& known, const std::vector<Sizes>& wanted) {
  auto no_formula = [](const std::string& what) {
    return user_error("sizes", what + " of the graph is no formula of the sizes");
  };
  std::vector<const Instance*> rows;
  for (const Instance& each : known.all) rows.push_back(&each);
  rows.push_back(&known.largest);
  std::vector<std::vector<int64_t>> numbers;
  for (const Instance* each : rows) {
    numbers.push_back(numbers_of(each->graph));
    if (!has_same_fractions(rows[0]->graph, each->graph)) return no_formula("a fraction");
  }
  const SizeTable table(known);
  std::map<std::vector<int64_t>, std::vector<int64_t>> found;  // from the numbers at known sizes
  auto at_wanted = [&](const std::vector<int64_t>& values) -> Result<std::vector<int64_t>> {
    const auto formula = table.formula(values, "");
    if (!formula) return no_formula(format("a number ({})", join(values, ", ")));
    std::vector<int64_t> out;
    for (const Sizes& sizes : wanted) {
      STITCH_TRY(const int64_t value, evaluate_size(*formula, sizes));
      out.push_back(value);
    }
    return out;
  };
  std::vector<std::vector<int64_t>> made(wanted.size(), numbers[0]);
  for (size_t i = 0; i < numbers[0].size(); ++i) {
    std::vector<int64_t> values;
    for (const auto& each : numbers) values.push_back(each[i]);
    if (std::ranges::all_of(values, [&](int64_t each) { return each == values[0]; })) continue;
    auto place = found.find(values);
    if (place == found.end()) {
      STITCH_TRY(std::vector<int64_t> own, at_wanted(values));
      place = found.emplace(values, std::move(own)).first;
    }
    for (size_t w = 0; w < wanted.size(); ++w) made[w][i] = place->second[w];
  }
  std::vector<Instance> out;
  for (size_t w = 0; w < wanted.size(); ++w) {
    Instance one{wanted[w], rows[0]->graph};
    size_t next = 0;
    visit_numbers(one.graph, [&](int64_t& number) { number = made[w][next++]; });
    STITCH_CHECK(verify(one.graph));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace stitch
