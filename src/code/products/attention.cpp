#include "code/products/attention.h"

#include "base/text.h"
#include "code/names.h"
#include "code/products/scalar.h"

namespace stitch::code {

namespace {

// (batch…, heads, a, b) as (batch…, heads / share, share, a, b)
View with_shared_heads(const View& view, int64_t share) {
  View out = view;
  size_t heads = view.shape.size() - 3;
  out.shape[heads] /= share;
  out.strides[heads] *= share;
  auto at = static_cast<std::ptrdiff_t>(heads) + 1;
  out.shape.insert(out.shape.begin() + at, share);
  out.strides.insert(out.strides.begin() + at, view.strides[heads]);
  return out;
}

}  // namespace

Result<Attention> attention_of(const RegionRequest& request, const Parts& parts) {
  const Node& node = *parts.product;
  Attention out;
  auto read = [&](size_t index) -> Result<View> {
    auto view = find_view(request, node.operands[index]);
    if (!view) return not_for(request.region, "can't read its operands where they lie");
    return *view;
  };
  STITCH_TRY(out.q, read(0));
  STITCH_TRY(out.k, read(1));
  STITCH_TRY(out.v, read(2));
  STITCH_TRY(out.result, result_place(request, parts));
  size_t rank = out.q.shape.size();
  out.batch.assign(out.q.shape.begin(), out.q.shape.end() - 2);
  out.heads = element_count(out.batch);
  out.queries = out.q.shape[rank - 2];
  out.keys = out.k.shape[rank - 2];
  out.width = out.q.shape[rank - 1];
  out.value_width = out.v.shape[rank - 1];
  out.causal = node.attributes.flag("causal");
  out.scale = node.attributes.number("scale");
  if (node.operands.size() > 3 && node.operands[3] != ValueId::none) {
    STITCH_TRY(View mask, read(3));
    Shape scores = out.batch;
    scores.push_back(out.queries);
    scores.push_back(out.keys);
    out.mask = expanded(mask, scores);
  }
  out.out = out.result.view;
  if (rank > 2) {
    out.share = out.k.shape[rank - 3] ? out.q.shape[rank - 3] / out.k.shape[rank - 3] : 1;
    out.q = with_shared_heads(out.q, out.share);
    out.out = with_shared_heads(out.out, out.share);
  }
  return out;
}

std::string describe(const Attention& a) {
  auto named = [](const View& view) {
    return format("{} {}", view.place->pointer, shape_comment(view.place->shape));
  };
  return format("{} = softmax({} · {}ᵀ · {}{}) · {}{}", named(a.result.view), named(a.q), named(a.k),
                number_text(a.scale), a.mask ? format(" + {}", named(*a.mask)) : "", named(a.v),
                a.causal ? ", causal" : "");
}

std::string score_functor(const Attention& a, const std::string& type, const std::string& number,
                          bool small) {
  Shape shape = a.batch;
  shape.push_back(a.queries);
  shape.push_back(a.keys);
  Indices at(shape.size());
  if (element_count(shape) > 0) at = unflatten(Index::variable("position", element_count(shape)), shape);
  std::string body = format("    value *= {};\n", literal_text(a.scale, number));
  if (a.causal)
    body += format("    if ({} > {}) value += -INFINITY;\n", at.back().text(), at[at.size() - 2].text());
  std::string field;
  if (a.mask) {
    const Place& mask = *a.mask->place;
    std::string element =
        format("{}[{}]", mask.pointer, (position(at, a.mask->strides) + a.mask->offset).text());
    field =
        format("  const {}* {};  // {}\n", element_type(mask.dtype), mask.pointer, shape_comment(mask.shape));
    body += mask.dtype == DType::boolean ? format("    if (!{}) value += -INFINITY;\n", element)
                                         : format("    value += static_cast<{}>({});\n", number, element);
  }
  bool positioned = body.find("position") != std::string::npos;
  return format(
      "struct {} {{\n{}  __device__ {} operator()({} value, {}{}) const {{\n{}    return value;\n  }}\n}};\n",
      type, field, number, number, small ? "int" : "int64_t", positioned ? " position" : "", body);
}

}  // namespace stitch::code
