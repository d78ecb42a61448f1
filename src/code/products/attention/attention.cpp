#include "code/products/attention/attention.h"

#include "base/text.h"
#include "code/expression/expression.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

Result<Attention> attention_of(const RegionRequest& request, const Parts& parts) {
  const Node& node = *parts.product;
  const Graph& graph = request.graph;
  Attention out;
  out.node = &node;
  const Shape &q = graph.type(node.operands[0]).shape, &k = graph.type(node.operands[1]).shape;
  size_t rank = q.size();
  out.batch.assign(q.begin(), q.end() - 2);
  out.heads = element_count(out.batch);
  out.queries = q[rank - 2];
  out.keys = k[rank - 2];
  out.width = q[rank - 1];
  out.value_width = graph.type(node.operands[2]).shape[rank - 1];
  if (rank > 2) out.share = k[rank - 3] ? q[rank - 3] / k[rank - 3] : 1;
  out.causal = node.attributes.flag("causal");
  out.scale = node.attributes.number("scale");
  out.soft_cap = node.attributes.number("soft_cap");
  out.weights = node.attributes.text("weights");

  Indices batch(out.batch.size());
  if (out.heads > 0) batch = unflatten(Index::variable("head", out.heads), out.batch);
  Indices key_batch = batch;
  if (rank > 2) key_batch.back() = key_batch.back().divided_by(out.share);
  auto variable = [](const char* name, int64_t extent) {
    return Index::variable(name, std::max<int64_t>(extent, 1));
  };
  Index query = variable("query", out.queries), key = variable("key", out.keys),
        wide = variable("i", out.width), value_wide = variable("i", out.value_width);
  auto with = [](Indices lead, const Index& row, const Index& column) {
    lead.push_back(row);
    lead.push_back(column);
    return lead;
  };
  auto read = [&](size_t index, Indices at) -> Result<Indexed> {
    auto found = find_indexed(request, node.operands[index], std::move(at));
    if (!found) return not_for(request.region, "can't read its operands where they lie");
    return *found;
  };
  STITCH_TRY(out.q, read(0, with(batch, query, wide)));
  auto k_joined = find_joined(request, node.operands[1], with(key_batch, key, wide), "key"),
       v_joined = find_joined(request, node.operands[2], with(key_batch, key, value_wide), "key");
  if (!k_joined || !v_joined) return not_for(request.region, "can't read its operands where they lie");
  out.k = k_joined->first;
  out.v = v_joined->first;
  out.k_tail = k_joined->rest;
  out.v_tail = v_joined->rest;
  out.k_joint = out.k_tail ? k_joined->start : out.keys;
  out.v_joint = out.v_tail ? v_joined->start : out.keys;
  if (node.operands.size() > 3 && node.operands[3] != ValueId::none) {
    const Shape& mask = graph.type(node.operands[3]).shape;
    Indices all = with(batch, query, key);
    all.erase(all.begin(), all.end() - std::ssize(mask));
    for (size_t d = 0; d < mask.size(); ++d)
      if (mask[d] == 1) all[d] = 0;
    STITCH_TRY(out.mask, read(3, all));
  }
  STITCH_TRY(out.result, result_place(request, parts));
  Shape shape = out.batch;
  shape.push_back(out.queries);
  shape.push_back(out.value_width);
  Indices at = with(batch, query, value_wide);
  out.position = flatten(at, shape);
  out.out = out.result.scatter ? out.result.scatter(out.position)
                               : code::position(at, out.result.view.strides) + Index(out.result.view.offset);
  return out;
}

Result<Attention> deciding_attention(const RegionRequest& request, std::span<const Op> ops,
                                     bool takes_tails) {
  const RegionRequest& at = request.deciding();
  STITCH_TRY(const Parts parts, parts_of(at.graph, at.region, ops, takes_tails));
  return attention_of(at, parts);
}

bool keys_vary(const RegionRequest& request, const Attention& attention) {
  const int32_t node = request.graph.number_of(*attention.node);
  return request.context.varies(
      [&](const Graph& at) { return at.type(at.node(node).operands[1]).shape.end()[-2]; });
}

Result<void> accepts_tails(const plan::Region& region, const Attention& a) {
  for (const auto& [first, rest] : {std::pair{&a.k, &a.k_tail}, {&a.v, &a.v_tail}})
    if (*rest && (*rest)->place->dtype != first->place->dtype)
      return not_for(region, "takes a cache and what is appended to it in one type");
  return {};
}

int64_t heads_that_share(const RegionRequest& request, const Attention& a) {
  if (a.batch.empty() || a.heads == 0) return 1;
  for (int64_t count = a.batch.back(); count > 1; --count) {
    if (a.batch.back() % count != 0) continue;
    const Index head = Index::variable("group", a.heads / count) * count + Index::variable("member", count);
    Indices batch = unflatten(head, a.batch);
    batch.back() = batch.back().divided_by(a.share);
    bool shared = true;
    for (auto [operand, width] : {std::pair{1, a.width}, {2, a.value_width}}) {
      Indices at = batch;
      at.push_back(Index::variable("key", a.keys));
      at.push_back(Index::variable("i", width));
      auto found = find_joined(request, a.node->operands[static_cast<size_t>(operand)], at, "key");
      shared = shared && found && !found->first.at.appears("member") &&
               !(found->rest && found->rest->at.appears("member"));
    }
    if (shared) return count;
  }
  return 1;
}

int64_t even_splits(int64_t tiles, int64_t resident, int64_t rounds) {
  using shared_memory::divided_up;
  // In rounds: a block's fixed cost, and the cost of combining so many splits.
  constexpr int64_t start = 2, combined = 16;
  constexpr double worth_it = 0.9;
  auto cost = [&](int64_t splits) {
    return divided_up(tiles * splits, resident) * (divided_up(rounds, splits) + start) +
           (splits > 1 ? divided_up(splits, combined) : 0);
  };
  int64_t best = 1;
  for (int64_t splits = 2; splits <= rounds && tiles * (splits - 1) < 4 * resident; ++splits) {
    // Of equals the fewer, unless most of the GPU is idle.
    const bool better =
        cost(splits) < cost(best) || (cost(splits) == cost(best) && 4 * tiles * splits <= resident);
    if (better && static_cast<double>(cost(splits)) < worth_it * static_cast<double>(cost(1))) best = splits;
  }
  return best;
}

bool lies_in_runs(const Index& index, const char* variable, int64_t extent, int64_t count) {
  return extent % count == 0 && index.appears_only_linearly(variable) && index.factor_of(variable) == 1 &&
         (index - Index::variable(variable, extent)).divisible_by(count);
}

std::string describe(const Attention& a) {
  auto named = [](const Place& place) { return format("{} {}", place.pointer, shape_comment(place.shape)); };
  auto joined = [&](const Indexed& first, const std::optional<Indexed>& rest) {
    return rest ? format("[{}, {}]", named(*first.place), named(*rest->place)) : named(*first.place);
  };
  std::string scores =
      format("{} · {}ᵀ · {}", named(*a.q.place), joined(a.k, a.k_tail), number_text(a.scale));
  if (a.soft_cap != 0) scores = format("capped at {}({})", number_text(a.soft_cap), scores);
  return format("{} = {}({}{}) · {}{}", named(*a.result.view.place), a.weights == "relu" ? "relu" : "softmax",
                scores, a.mask ? format(" + {}", named(*a.mask->place)) : "", joined(a.v, a.v_tail),
                a.causal ? ", causal" : "");
}

namespace {

std::string index_function(const char* name, const std::array<const char*, 3>& variables,
                           const Index& index) {
  std::vector<std::string> parameters;
  for (const char* variable : variables)
    parameters.push_back(index.appears(variable) ? format("Index {}", variable) : "Index");
  return format("  __device__ static Index {}({}) {{ return {}; }}\n", name, join(parameters, ", "),
                index.text());
}

}  // namespace

std::string heads_struct(const Attention& a, const std::string& name, const std::string& more,
                         bool takes_tails) {
  constexpr int64_t most = int64_t{1} << 30;
  bool small = a.position.most() < most;
  for (const Index* index : {&a.q.at, &a.k.at, &a.v.at, &a.out}) small &= index->most() < most;
  for (const auto* tail : {&a.k_tail, &a.v_tail})
    if (*tail) small &= (*tail)->at.most() < most;
  if (a.mask) small &= a.mask->at.most() < most;
  std::string_view masking = !a.mask ? "none" : a.mask->place->dtype == DType::boolean ? "keeping" : "adding";
  std::string text = format("struct {} {{\n", name);
  for (auto [type, dtype] : {std::pair{"Query", a.q.place->dtype},
                             {"Key", a.k.place->dtype},
                             {"Value", a.v.place->dtype},
                             {"Mask", a.mask ? a.mask->place->dtype : DType::f32},
                             {"Out", a.result.view.place->dtype}})
    text += format("  using {} = {};\n", type, element_type(dtype));
  text += format("  using Index = {};\n", small ? "int" : "int64_t");
  text +=
      format("  static constexpr Index heads = {}, queries = {}, keys = {};\n", a.heads, a.queries, a.keys);
  text += format("  static constexpr int width = {}, value_width = {};\n", a.width, a.value_width);
  text +=
      format("  static constexpr float scale = {}, soft_cap = {};\n  static constexpr bool causal = {};\n",
             literal(a.scale, DType::f32), literal(a.soft_cap, DType::f32), a.causal);
  text += format(
      "  static constexpr auto weights = stitch::Weights::{};\n  static constexpr auto masking = "
      "stitch::Masking::{};\n",
      a.weights, masking);
  text += more;
  text += index_function("q", {"head", "query", "i"}, a.q.at);
  text += index_function("k", {"head", "key", "i"}, a.k.at);
  text += index_function("v", {"head", "key", "i"}, a.v.at);
  if (takes_tails) {
    text += format("  static constexpr Index k_joint = {}, v_joint = {};\n", a.k_joint, a.v_joint);
    text += index_function("k_tail", {"head", "key", "i"}, a.k_tail ? a.k_tail->at : Index(0));
    text += index_function("v_tail", {"head", "key", "i"}, a.v_tail ? a.v_tail->at : Index(0));
  }
  text += index_function("mask", {"head", "query", "key"}, a.mask ? a.mask->at : Index(0));
  text += index_function("out", {"head", "query", "i"}, a.out);
  text += index_function("position", {"head", "query", "i"}, a.position);
  return text + "};\n";
}

Result<RegionCode> write_heads(const RegionRequest& request, const Attention& a, const Parts& parts,
                               std::string_view header, std::string_view enqueue, std::string_view idea,
                               const std::string& more, std::optional<int64_t> partial, bool takes_tails) {
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 0));
  Signature signature("enqueue_" + request.name);
  for (const Indexed* operand : {&a.q, &a.k, &a.v}) signature.read(*operand->place);
  for (const auto* operand : {&a.k_tail, &a.v_tail, &a.mask})
    if (*operand) signature.read(*(*operand)->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*a.result.view.place);
  if (partial.value_or(0) > 0) signature.workspace();

  std::string heads = type_name(request.name, "Heads");
  RegionCode code;
  code.includes = format("#include \"stitch/kernels/{}\"\n", header);
  code.declaration = signature.declaration();
  code.source = format("// {}{}\n// {}\n{}\n", describe(a), epilogue.then(), idea,
                       heads_struct(a, heads, more, takes_tails));
  code.source += epilogue.text();
  code.workspace_bytes = 4 * partial.value_or(0);
  const std::string_view workspace = !partial        ? ""
                                     : *partial == 0 ? "nullptr, "
                                                     : "static_cast<float*>(workspace), ";
  auto pointer = [](const std::optional<Indexed>& operand) {
    return operand ? operand->place->pointer : std::string("nullptr");
  };
  const std::string tails =
      a.k_tail || a.v_tail ? format(", {}, {}", pointer(a.k_tail), pointer(a.v_tail)) : "";
  code.source +=
      format("{} {{\n  return stitch::{}(\n      \"{}\", {}{{}}, {}, {}, {}, {}, {}, {}, {}stream{});\n}}\n",
             signature.head(), enqueue, request.name, heads, a.q.place->pointer, a.k.place->pointer,
             a.v.place->pointer, a.mask ? a.mask->place->pointer : "nullptr", a.result.view.place->pointer,
             epilogue.construct, workspace, tails);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
