// attention.plain: scores = q kᵀ · scale + mask into the workspace, softmax, weights · v: two plain products
// (kernels/matmul.h) around a softmax (kernels/attention.h), or ReLU in the first one's epilogue. Heads ·
// queries · keys scores are written twice and read three times. Any mask, any shape, exact. The fallback.
#include <array>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "code/expression/pointwise.h"
#include "code/expression/statement.h"
#include "code/names.h"
#include "code/products/attention/attention.h"
#include "code/products/matmul/library_product.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

// (batch…, heads, a, b) as (batch…, heads / share, share, a, b)
View with_shared_heads(const View& view, int64_t share) {
  if (view.shape.size() < 3) return view;
  View out = view;
  size_t heads = view.shape.size() - 3;
  out.shape[heads] /= share;
  out.strides[heads] *= share;
  auto at = static_cast<std::ptrdiff_t>(heads) + 1;
  out.shape.insert(out.shape.begin() + at, share);
  out.strides.insert(out.strides.begin() + at, view.strides[heads]);
  return out;
}

// A functor on one score at its row-major position: scale, cap, causal mask, mask, ReLU. `small`: int is wide
// enough.
Result<std::string> score_functor(const RegionRequest& request, const Attention& a, const std::string& type,
                                  const std::string& number, bool small) {
  Shape shape = a.batch;
  shape.push_back(a.queries);
  shape.push_back(a.keys);
  Indices at(shape.size());
  if (element_count(shape) > 0) at = unflatten(Index::variable("position", element_count(shape)), shape);
  const DType dtype = number == "double" ? DType::f64 : DType::f32;
  const Expression value = named("value"), never = code::number(-INFINITY, dtype);
  Block body = {assign(value, code::number(a.scale, dtype), Operator::multiply)};
  if (a.soft_cap != 0)
    body.push_back(
        assign(value, code::number(a.soft_cap, dtype) *
                          standard_call("tanh", dtype, {value * code::number(1 / a.soft_cap, dtype)})));
  if (a.causal) body.push_back(only_if(at.back() > at[at.size() - 2], assign(value, never)));
  std::string field;
  if (a.mask) {
    ValueId operand = a.node->operands[3];
    const Shape& extents = request.graph.type(operand).shape;
    at.erase(at.begin(), at.end() - std::ssize(extents));
    for (size_t d = 0; d < extents.size(); ++d)
      if (extents[d] == 1) at[d] = 0;
    const Place& mask = *a.mask->place;
    const Expression read = element(mask.pointer, find_indexed(request, operand, at)->at);
    field =
        format("  const {}* {};  // {}\n", element_type(mask.dtype), mask.pointer, shape_comment(mask.shape));
    body.push_back(mask.dtype == DType::boolean
                       ? only_if(unary(Operator::logical_not, read), assign(value, never))
                       : assign(value, static_cast_to({number}, read), Operator::add));
  }
  if (a.weights == "relu") body.push_back(only_if(value < 0, assign(value, 0)));
  body.push_back({Return{value}});
  const bool positioned = names_read(body).contains("position");
  return format("struct {} {{\n{}  __device__ {} operator()({} value, {}{}) const {{\n{}  }}\n}};\n", type,
                field, number, number, small ? "int" : "int64_t", positioned ? " position" : "",
                text_of(body, 4));
}

Result<void> accepts_attention_plain(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  return {};
}

Result<RegionCode> write_attention_plain(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 0));
  bool doubles = request.graph.type(parts.product->results[0]).dtype == DType::f64;
  DType dtype = doubles ? DType::f64 : DType::f32;

  View views[3];
  for (size_t i = 0; i < 3; ++i) {
    auto view = find_view(request, parts.product->operands[i]);
    if (!view) return not_for(request.region, "can't read its operands where they lie");
    views[i] = *view;
  }
  views[0] = with_shared_heads(views[0], a.share);

  // Labels: the batch, a head's share, then query, key, width, value width.
  int lead = static_cast<int>(a.batch.size());
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
  Shape scores_shape(views[0].shape.begin(), views[0].shape.end() - 1);
  scores_shape.push_back(a.keys);
  Place scores{ValueId::none, "scores", dtype, scores_shape, contiguous_strides(scores_shape)};
  Labelled q{views[0], labels(true, query, wide)}, k{views[1], labels(false, key, wide)},
      v{views[2], labels(false, key, value_wide)};
  Labelled weights{view_of(scores), labels(true, query, key)},
      out{with_shared_heads(a.result.view, a.share), labels(true, query, value_wide)};
  Contraction first = contract(q, &k, weights), second = contract(weights, &v, out);
  second.scatter = a.result.scatter;

  Signature signature("enqueue_" + request.name);
  for (const Indexed* operand : {&a.q, &a.k, &a.v}) signature.read(*operand->place);
  if (a.mask) signature.read(*a.mask->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*a.result.view.place);
  signature.workspace();

  int64_t count = element_count(scores_shape);
  std::string score = type_name(request.name, "Score"),
              products[] = {type_name(request.name, "Scores"), type_name(request.name, "Mix")};
  STITCH_TRY(std::string functor,
             score_functor(request, a, score, doubles ? "double" : "float", count < (int64_t{1} << 30)));
  RegionCode code;
  code.workspace_bytes = std::max<int64_t>(count * size_of(dtype), 256);
  code.includes = "#include \"stitch/kernels/attention.h\"\n#include \"stitch/kernels/matmul.h\"\n";
  code.declaration = signature.declaration();
  code.source = format("// {}{}\n// Scores in the workspace between two products on the CUDA cores.\n",
                       describe(a), epilogue.then());
  code.source +=
      product_struct(first, products[0]) + "\n" + functor + "\n" + product_struct(second, products[1]) + "\n";
  code.source += epilogue.text();
  std::string softmax;
  if (a.weights != "relu")
    softmax = format("  STITCH_OK_OR_RETURN(stitch::enqueue_{}(scores, {}, {}, stream));\n", a.weights,
                     a.heads * a.queries, a.keys);
  code.source += format(
      "{} {{\n  auto* scores = static_cast<{}*>(workspace);  // {}\n"
      "  STITCH_OK_OR_RETURN(stitch::enqueue_product<{}>(\n      \"{}_scores\", {}{{}}, {}, {}, scores, "
      "{}{{{}}}, "
      "stream));\n"
      "{}  return stitch::enqueue_product<{}>(\n      \"{}_mix\", {}{{}}, scores, {}, {}, {}, stream);\n}}\n",
      signature.head(), element_type(dtype), shape_comment(scores_shape), product_lanes(first), request.name,
      products[0], a.q.place->pointer, a.k.place->pointer, score, a.mask ? a.mask->place->pointer : "",
      softmax, product_lanes(second), request.name, products[1], a.v.place->pointer,
      a.result.view.place->pointer, epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique attention_plain{{
    .name = "attention.plain",
    .idea = "scores in memory: product, softmax, product",
    .kind = plan::Kind::attention,
    .entry = plan::Entry::plain,
    .accepts = accepts_attention_plain,
    .write = write_attention_plain,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return plain_rate(context);
    },
}};

}  // namespace stitch::code
