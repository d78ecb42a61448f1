// attention.plain: scores = q kᵀ · scale + mask into the workspace, a softmax over their rows, scores · v:
// two plain products (kernels/matmul.h) around one pass (kernels/attention.h). Heads · queries · keys scores
// are written twice and read three times. Any mask, any shape, exact. Chosen where nothing better can.
#include <array>
#include <numeric>

#include "base/text.h"
#include "code/names.h"
#include "code/products/attention.h"
#include "code/products/families.h"
#include "code/products/library_product.h"

namespace stitch::code {

namespace {

constexpr std::array attention_ops = {Op::attention};

}  // namespace

Result<void> accepts_attention_plain(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  return {};
}

Result<RegionCode> write_attention_plain(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 0));
  bool doubles = request.graph.type(parts.product->results[0]).dtype == DType::f64;
  DType dtype = doubles ? DType::f64 : DType::f32;

  // Labels: the batch, a head's share, then query, key, width, value width.
  int lead = static_cast<int>(a.k.shape.size()) - 2;
  std::vector<int> batch(static_cast<size_t>(lead));
  std::iota(batch.begin(), batch.end(), 0);
  enum { shared = 100, query, key, wide, value_wide };
  auto labels = [&](bool with_share, int first, int second) {
    std::vector<int> out = batch;
    if (with_share && lead > 0) out.push_back(shared);
    out.push_back(first);
    out.push_back(second);
    return out;
  };
  Shape scores_shape(a.q.shape.begin(), a.q.shape.end() - 1);
  scores_shape.push_back(a.keys);
  Place scores{ValueId::none, "scores", dtype, scores_shape, contiguous_strides(scores_shape)};
  Labelled q{a.q, labels(true, query, wide)}, k{a.k, labels(false, key, wide)},
      v{a.v, labels(false, key, value_wide)};
  Labelled weights{view_of(scores), labels(true, query, key)}, out{a.out, labels(true, query, value_wide)};
  Contraction first = contract(q, &k, weights), second = contract(weights, &v, out);
  second.scatter = a.result.scatter;

  Signature signature("enqueue_" + request.name);
  for (const View* view : {&a.q, &a.k, &a.v}) signature.read(*view->place);
  if (a.mask) signature.read(*a.mask->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*a.result.view.place);
  signature.workspace();

  int64_t count = element_count(scores_shape);
  std::string score = type_name(request.name, "Score"),
              products[] = {type_name(request.name, "Scores"), type_name(request.name, "Mix")};
  RegionCode code;
  code.workspace_bytes = std::max<int64_t>(count * size_of(dtype), 256);
  code.includes = "#include \"stitch/kernels/attention.h\"\n#include \"stitch/kernels/matmul.h\"\n";
  code.declaration = signature.declaration();
  code.source = format(
      "// {}{}{}\n// Scores in the workspace, two products on the CUDA cores and a softmax between them.\n",
      describe(a), epilogue.summary.empty() ? "" : ", then ", epilogue.summary);
  code.source += product_struct(first, products[0]) + "\n" +
                 score_functor(a, score, doubles ? "double" : "float", count < (int64_t{1} << 30)) + "\n" +
                 product_struct(second, products[1]) + "\n";
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format(
      "{} {{\n  auto* scores = static_cast<{}*>(workspace);  // {}\n"
      "  STITCH_OK_OR_RETURN(stitch::enqueue_product<{}>(\n      \"{}_scores\", {}, {}, scores, {}{{{}}}, "
      "stream));\n"
      "  STITCH_OK_OR_RETURN(stitch::enqueue_safe_softmax(scores, {}, {}, stream));\n"
      "  return stitch::enqueue_product<{}>(\n      \"{}_mix\", scores, {}, {}, {}, stream);\n}}\n",
      signature.head(), element_type(dtype), shape_comment(scores_shape), products[0], request.name,
      a.q.place->pointer, a.k.place->pointer, score, a.mask ? a.mask->place->pointer : "",
      a.heads * a.queries, a.keys, products[1], request.name, a.v.place->pointer,
      a.result.view.place->pointer, epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
