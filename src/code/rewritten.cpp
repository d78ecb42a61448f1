#include "code/rewritten.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/cost/estimate.h"
#include "plan/ways.h"

namespace stitch::code {

namespace {

// A type as a graph of its own has it.
TensorType type_of(const RegionRequest& request, const Place& place) {
  return request.graph.type(place.value);
}

// The region's leaves: its reads, then its weights, each once.
struct Leaf {
  const Place* place;
  std::string position;  // "read0"
  bool is_weight;
};
std::vector<Leaf> leaves_of(const RegionRequest& request) {
  std::vector<Leaf> out;
  for (size_t i = 0; i < request.reads.size(); ++i)
    out.push_back({&request.reads[i], format("read{}", i), false});
  for (size_t i = 0; i < request.weights.size(); ++i)
    if (std::ranges::find(request.reads, request.weights[i].value, &Place::value) == request.reads.end())
      out.push_back({&request.weights[i], format("weight{}", i), true});
  return out;
}

// Reads are inputs, also states: what a run changes must not be packed once.
ValueId add_to(Graph& graph, const RegionRequest& request, const Leaf& leaf, const std::string& name) {
  const Role own = request.graph[leaf.place->value].role;
  return graph.add_leaf(leaf.is_weight || own == Role::seed ? own : Role::input, name,
                        type_of(request, *leaf.place), leaf.is_weight ? name : "");
}

Error refused(std::string why) { return work_error("llm_answer", std::move(why)); }

bool same_tensor(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

// The dimensions as these strides have them, outermost first; empty: row-major.
std::vector<int64_t> order_of(const Place& place) {
  std::vector<int64_t> out(place.shape.size());
  std::iota(out.begin(), out.end(), 0);
  if (place.strides == contiguous_strides(place.shape)) return {};
  std::ranges::stable_sort(out, std::ranges::greater(),
                           [&](int64_t dim) { return place.strides[static_cast<size_t>(dim)]; });
  return std::ranges::is_sorted(out) ? std::vector<int64_t>() : out;
}

// A rewriting with everything that a technique asks about.
struct Inside {
  Rewriting said;
  plan::Context context;
  plan::Plan plan;
  plan::Region region;
  RegionRequest request;

  Inside(Rewriting from, const RegionRequest& outer)
      : said(std::move(from)),
        context(said.graph, outer.context.gpu, outer.context.numerics),
        plan(plan::empty_plan(said.graph, outer.context.numerics)),
        request{.context = context, .region = region, .name = outer.name} {
    request.cublas = outer.cublas;
    request.cudnn = outer.cudnn;
    region.name = outer.region.name;
    region.nodes.resize(said.graph.nodes.size());
    std::iota(region.nodes.begin(), region.nodes.end(), 0);
    plan::complete(said.graph, region);
    for (ValueId id : region.reads) request.reads.push_back(placed(id, *outer.find(said.leaves.at(id))));
    for (const Leaf& leaf : leaves_of(outer))
      for (const auto& [id, value] : said.leaves)
        if (leaf.is_weight && value == leaf.place->value) request.weights.push_back(placed(id, *leaf.place));
    for (ValueId id : region.writes) {
      const auto at = std::ranges::find(said.graph.outputs, id) - said.graph.outputs.begin();
      request.writes.push_back(placed(id, outer.writes[static_cast<size_t>(at)]));
    }
  }
  Inside(const Inside&) = delete;  // members refer to each other
  Inside& operator=(const Inside&) = delete;

  Place placed(ValueId id, Place place) {
    place.value = id;
    if (said.graph.type(id).strides.empty()) plan.storage[index_of(id)] = {place.dtype, order_of(place)};
    return place;
  }
};

std::string names_of_those_that_accept(const Inside& inside) {
  std::vector<std::string> out;
  for (const plan::Technique* each : catalogue().all())
    if (!each->takes_source() && each->kind() == plan::kind_of(inside.context.graph, inside.region) &&
        each->accepts(inside.context, inside.region))
      out.emplace_back(each->name());
  return out.empty() ? "none does: fewer operators, or the region split first"
                     : "these do: " + join(out, ", ");
}

// "matmul.cublaslt by_class row_major algorithm=2"
Result<void> implement(Inside& inside, const std::vector<std::string>& words) {
  plan::Region& region = inside.region;
  region.technique = catalogue().find(words.front());
  if (!region.technique || region.technique->takes_source())
    return refused(format("there is no technique '{}': {}", shorten(printable(words.front()), 60),
                          names_of_those_that_accept(inside)));
  if (auto accepted = region.technique->accepts(inside.context, region); !accepted)
    return refused(format("{}; {}", accepted.error().message, names_of_those_that_accept(inside)));
  const std::vector<plan::Offer> offers = region.technique->offers(inside.context, region);
  std::vector<std::string> asked(words.begin() + 1, words.end());
  auto has = [&](std::string_view word) { return std::ranges::find(asked, word) != asked.end(); };
  // The first offer with most of the words.
  auto matches = [&](const plan::Offer& offer) {
    return static_cast<int>(has(name(offer.arithmetic))) + static_cast<int>(has(name(offer.order)));
  };
  if (!offers.empty()) region.offer = *std::ranges::max_element(offers, {}, matches);
  std::erase(asked, name(region.offer.arithmetic));
  std::erase(asked, name(region.offer.order));
  const std::vector<plan::Knob> knobs = region.technique->knobs(inside.context, region);
  for (const std::string& word : asked) {
    bool known = false;
    for (const plan::Knob& knob : knobs)
      for (int64_t value : knob.values)
        if (word == format("{}={}", knob.name, value)) region.choices[knob.name] = value, known = true;
    if (known) continue;
    std::vector<std::string> there;
    for (const plan::Offer& offer : offers)
      there.push_back(format("{} {}", name(offer.arithmetic), name(offer.order)));
    for (const plan::Knob& knob : knobs) there.push_back(format("{}={}", knob.name, join(knob.values, "|")));
    return refused(format("{} has no '{}' here: {}", region.technique->name(), shorten(printable(word), 60),
                          join(there, ", ")));
  }
  return inside.region.technique->accepts_storage(inside.context, inside.plan, region);
}

// The fastest by the cost model of those that can be written.
Result<RegionCode> write_any(Inside& inside) {
  STITCH_TRY(inside.region.technique, catalogue().plain(inside.context, inside.region));
  std::vector<std::pair<double, plan::Region>> ways;
  for (const plan::Way& way : plan::ways_of(inside.context, inside.plan, inside.region, catalogue())) {
    plan::Region made = plan::with_way(inside.context, inside.region, way);
    const double seconds = plan::estimate(inside.context, inside.plan, made).seconds();
    ways.emplace_back(seconds, std::move(made));
  }
  std::ranges::stable_sort(ways, {}, &std::pair<double, plan::Region>::first);
  Error last = refused("no technique computes this graph as one region");
  for (auto& [seconds, way] : ways) {
    inside.region = std::move(way);
    auto code = technique_of(inside.region).write(inside.request);
    if (code) return code;
    last = std::move(code).error();
  }
  return last;
}

Result<RegionCode> write(Inside& inside) {
  std::vector<std::string> words = split(trim(inside.said.graph.name), ' ');
  std::erase(words, "");
  if (words.empty() || words == std::vector<std::string>{"any"}) {
    auto code = write_any(inside);
    if (!code) return refused(format("{}; {}", code.error().message, names_of_those_that_accept(inside)));
    return code;
  }
  STITCH_CHECK(implement(inside, words));
  return technique_of(inside.region).write(inside.request);
}

Result<std::unique_ptr<Inside>> opened(std::string_view source, const RegionRequest& request) {
  STITCH_TRY(Rewriting said, rewriting_in(source, request));
  return std::make_unique<Inside>(std::move(said), request);
}

}  // namespace

bool is_graph(std::string_view source) {
  const size_t begin = source.find_first_not_of(" \t\r\n");
  return begin != source.npos && source.substr(begin).starts_with("graph \"");
}

std::string graph_of_region(const RegionRequest& request) {
  const Graph& graph = request.graph;
  Graph out;
  out.name = request.region.technique->takes_source() ? "any" : request.region.technique->name();
  std::map<ValueId, ValueId> own = {{ValueId::none, ValueId::none}};
  for (const Leaf& leaf : leaves_of(request))
    own[leaf.place->value] = add_to(out, request, leaf, leaf.place->pointer);
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.node(n);
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(own.at(id));
    auto results = out.add_node(node.op, std::move(operands), node.attributes, graph[node.results[0]].name);
    require(static_cast<bool>(results), "a region's node is one of any graph");
    for (size_t i = 0; i < node.results.size(); ++i) own[node.results[i]] = (*results)[i];
  }
  for (const Place& place : request.writes) out.outputs.push_back(own.at(place.value));
  return print_graph(out);
}

Result<Rewriting> rewriting_in(std::string_view source, const RegionRequest& request) {
  STITCH_TRY(const Graph said, parse_graph(source));
  if (!said.updates.empty()) return refused("a region's graph has no updates");
  const std::vector<Leaf> leaves = leaves_of(request);
  Rewriting out;
  out.graph.name = said.name;
  std::map<ValueId, ValueId> own = {{ValueId::none, ValueId::none}};
  std::map<const Leaf*, ValueId> named;
  for (ValueId id : said.leaves()) {
    const std::string& name = said[id].name;
    auto leaf = std::ranges::find_if(leaves, [&](const Leaf& each) {
      return each.place->pointer == name || each.position == name ||
             request.graph[each.place->value].name == name;
    });
    if (leaf == leaves.end()) {
      std::vector<std::string> there;
      for (const Leaf& each : leaves) there.push_back("%" + each.place->pointer);
      return refused(
          format("the region has no tensor '%{}': {}", shorten(printable(name), 60), join(there, ", ")));
    }
    const TensorType type = type_of(request, *leaf->place);
    if (!same_tensor(type, said.type(id)))
      return refused(format("'%{}' is {}, not {}", name, text(type), text(said.type(id))));
    if (named.contains(&*leaf)) return refused(format("'%{}' is there twice", name));
    named[&*leaf] = id;
  }
  for (const Leaf& leaf : leaves) {
    auto found = named.find(&leaf);
    if (found == named.end()) continue;
    const ValueId id = add_to(out.graph, request, leaf, leaf.position);
    own[found->second] = id;
    out.leaves[id] = leaf.place->value;
  }
  for (const Node& node : said.nodes) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(own.at(id));
    STITCH_TRY(const std::vector<ValueId> results,
               out.graph.add_node(node.op, std::move(operands), node.attributes, said[node.results[0]].name));
    for (size_t i = 0; i < node.results.size(); ++i) own[node.results[i]] = results[i];
  }
  if (said.outputs.size() != request.writes.size())
    return refused(
        format("the region has {} results, the graph {}", request.writes.size(), said.outputs.size()));
  for (size_t i = 0; i < said.outputs.size(); ++i) {
    const ValueId id = own.at(said.outputs[i]);
    const TensorType wanted = type_of(request, request.writes[i]);
    if (!same_tensor(out.graph.type(id), wanted))
      return refused(format("'%{}' is {}, and the region's result {}", said[said.outputs[i]].name,
                            text(out.graph.type(id)), text(wanted)));
    if (out.graph[id].role != Role::result || std::ranges::count(out.graph.outputs, id) > 0)
      return refused(
          format("each result is computed by a node of its own: '%{}' isn't", said[said.outputs[i]].name));
    out.graph.outputs.push_back(id);
  }
  return out;
}

Result<RegionCode> write_rewriting(std::string_view source, const RegionRequest& request) {
  STITCH_TRY(const std::unique_ptr<Inside> inside, opened(source, request));
  return write(*inside);
}

double estimate_rewritten(const plan::Context& context, const plan::Plan& plan) {
  return plan::estimate(context, plan, [&](const plan::Region& region) {
    if (region.source && is_graph(region.source->text)) {
      auto inside = opened(region.source->text, request_alone(context, region, &plan));
      if (inside && write(**inside))  // which chooses the technique
        return plan::estimate((*inside)->context, (*inside)->plan, (*inside)->region);
    }
    return plan::estimate(context, plan, region);
  });
}

std::string_view rewriting_in_words() {
  return R"(Instead of CUDA a source may be a graph that computes the same results otherwise, in the language of
the region's own: other operators, another order, a cheaper formula around the same product. A technique
of the catalogue writes its kernels. The graph's name says which: "any" leaves it to the cost model; else a
technique, perhaps with the words of an offer and with knobs ("conv.cudnn_graph half channels_last"). Leaves are
the region's tensors, by its parameters' names; outputs are its results, in order. It is compared with the
region in float64 before anything is compiled. An example, of 0.5 * (torch.diag(a) @ b):
graph "any"
input %a : f32[48]
input %b : f32[48,64]

%half = full() shape=[] dtype=f32 value=0.5 : f32[]
%scaled = mul(%a, %half) : f32[48]
%column = reshape(%scaled) shape=[48,1] : f32[48,1]
%y = mul(%column, %b) : f32[48,64]

output %y
end
)";
}

}  // namespace stitch::code
