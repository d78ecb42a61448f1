// attention.flash: scores never reach memory (kernels/attention_flash.h): q and the result move once, k and v
// once for every 64 queries. FP32 on the CUDA cores, exact, any mask. Heads of at most 128 features. Chosen
// for every attention of more than a few keys.
#include <array>

#include "base/text.h"
#include "code/names.h"
#include "code/products/attention.h"
#include "code/products/epilogue.h"
#include "code/products/families.h"
#include "code/products/signature.h"

namespace stitch::code {

namespace {

constexpr std::array attention_ops = {Op::attention};
constexpr int64_t widest = 128;

std::string index_function(const char* name, const std::array<const char*, 3>& variables,
                           const Index& index) {
  std::vector<std::string> parameters;
  for (const char* variable : variables)
    parameters.push_back(index.appears(variable) ? format("Index {}", variable) : "Index");
  return format("  __device__ static Index {}({}) {{ return {}; }}\n", name, join(parameters, ", "),
                index.text());
}

std::string heads_struct(const Attention& a, const std::string& name) {
  // q's and the result's batch has the shared heads as a dimension of its own; k and v don't move along it.
  Shape batch(a.q.shape.begin(), a.q.shape.end() - 2);
  Index head = Index::variable("head", a.heads);
  Indices at = unflatten(head, batch);
  auto index = [&](const View& view, bool shared, const char* middle, int64_t count, int64_t width) {
    Index sum(view.offset);
    size_t lead = batch.size();
    for (size_t d = 0; d < lead; ++d) {
      bool share = lead > 0 && d + 1 == lead;
      if (share && !shared) continue;
      sum = sum + at[d] * view.strides[d];
    }
    return sum + Index::variable(middle, count) * view.strides[view.strides.size() - 2] +
           Index::variable("i", width) * view.strides.back();
  };
  View dense = a.out;
  dense.strides = contiguous_strides(dense.shape);
  dense.offset = 0;
  Index position = index(dense, true, "query", a.queries, a.value_width);
  Index out =
      a.result.scatter ? a.result.scatter(position) : index(a.out, true, "query", a.queries, a.value_width);
  constexpr int64_t most = int64_t{1} << 30;
  bool small = a.heads * a.queries * a.keys < most && element_count(a.q.shape) < most &&
               element_count(a.k.shape) < most && element_count(a.v.shape) < most && out.most() < most;
  std::string text = format("struct {} {{\n", name);
  text += format(
      "  using Query = {};\n  using Key = {};\n  using Value = {};\n  using Out = {};\n  using Index = {};\n",
      element_type(a.q.place->dtype), element_type(a.k.place->dtype), element_type(a.v.place->dtype),
      element_type(a.out.place->dtype), small ? "int" : "int64_t");
  text +=
      format("  static constexpr Index heads = {}, queries = {}, keys = {};\n", a.heads, a.queries, a.keys);
  text +=
      format("  static constexpr int width = {}, value_width = {};\n  static constexpr bool causal = {};\n",
             a.width, a.value_width, a.causal);
  text += index_function("q", {"head", "query", "i"}, index(a.q, true, "query", a.queries, a.width));
  text += index_function("k", {"head", "key", "i"}, index(a.k, false, "key", a.keys, a.width));
  text += index_function("v", {"head", "key", "i"}, index(a.v, false, "key", a.keys, a.value_width));
  text += index_function("out", {"head", "query", "i"}, out);
  text += index_function("position", {"head", "query", "i"}, position);
  return text + "};\n";
}

}  // namespace

Result<void> accepts_attention_flash(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  const Node& node = *parts.product;
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "sums in f32");
  if (graph.type(node.operands[0]).shape.back() > widest ||
      graph.type(node.operands[2]).shape.back() > widest)
    return not_for(region, format("takes heads of at most {} features", widest));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  return {};
}

Result<RegionCode> write_attention_flash(const RegionRequest& request) {
  STITCH_CHECK(accepts_attention_flash(request.graph, request.region));
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 0));
  Signature signature("enqueue_" + request.name);
  for (const View* view : {&a.q, &a.k, &a.v}) signature.read(*view->place);
  if (a.mask) signature.read(*a.mask->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*a.out.place);

  std::string heads = type_name(request.name, "Heads"), score = type_name(request.name, "Score");
  bool small = a.heads * a.queries * a.keys < (int64_t{1} << 30);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/attention_flash.h\"\n";
  code.declaration = signature.declaration();
  code.source =
      format("// {}{}{}\n// Online softmax over tiles of 64 keys, FP32 on the CUDA cores.\n{}\n{}\n",
             describe(a), epilogue.summary.empty() ? "" : ", then ", epilogue.summary, heads_struct(a, heads),
             score_functor(a, score, "float", small));
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format(
      "{} {{\n  return stitch::enqueue_flash<{}>(\n      \"{}\", {}, {}, {}, {}, {}{{{}}}, {}, "
      "stream);\n}}\n",
      signature.head(), heads, request.name, a.q.place->pointer, a.k.place->pointer, a.v.place->pointer,
      a.out.place->pointer, score, a.mask ? a.mask->place->pointer : "",
      epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
