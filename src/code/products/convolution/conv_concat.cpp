// conv.concat: convolutions over few channels whose results are concatenated, each by one of our kernels,
// which writes its part of the result directly: the copy is half of a Fire module's time (128 x 6 x 256² to
// 64 filters of 1 x 1 and 64 of 3 x 3, 4.1 ms on an H200, 2.0 of them the concat). Chosen if all of them use
// conv.direct, conv.implicit or conv.split_half, which write any strides.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

struct ConcatPart {
  plan::Region region;
  const Technique* technique = nullptr;
  int64_t first = 0;  // in the result
};

// The nodes of the region that compute a value.
std::vector<int32_t> nodes_behind(const Graph& graph, const plan::Region& region, ValueId value) {
  std::set<int32_t> out;
  std::set<ValueId> wanted = {value};
  for (auto n = region.nodes.rbegin(); n != region.nodes.rend(); ++n) {
    const Node& node = graph.node(*n);
    if (std::ranges::none_of(node.results, [&](ValueId id) { return wanted.contains(id); })) continue;
    out.insert(*n);
    wanted.insert(node.operands.begin(), node.operands.end());
  }
  return {out.begin(), out.end()};
}

// The technique for a part: any strides, with the class's accuracy.
const Technique* writer_of_part(const plan::Context& context, const plan::Region& part) {
  for (const ProductTechnique* each : {&conv_direct, &conv_implicit, &conv_split_half})
    if (each->accepts(context, part) && each->suits(context, part, plan::Offer{})) return each;
  return nullptr;
}

Result<std::vector<ConcatPart>> concat_parts(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  const Node& concat = graph.node(region.nodes.back());
  if (concat.op != Op::concat || concat.attributes.integer("dim") != 1 || region.writes.size() != 1 ||
      region.writes[0] != concat.results[0])
    return not_for(region, "takes convolutions with a concat of their channels behind them");
  std::vector<ConcatPart> out;
  std::set<int32_t> taken = {region.nodes.back()};
  int64_t channels = 0;
  for (ValueId operand : concat.operands) {
    ConcatPart part{.region = {.name = region.name, .nodes = nodes_behind(graph, region, operand)},
                    .first = channels};
    for (int32_t n : part.region.nodes)
      if (!taken.insert(n).second) return not_for(region, "has parts that share nothing but what they read");
    if (!plan::convolution_in(graph, part.region)) return not_for(region, "concatenates convolutions");
    plan::complete(graph, part.region);
    if (graph.type(operand).dtype != DType::f32 || part.region.writes != std::vector{operand})
      return not_for(region, "has parts of f32 that nobody else reads");
    part.technique = writer_of_part(context, part.region);
    if (!part.technique) return not_for(region, "has kernels for few channels");
    channels += graph.type(operand).shape[1];
    out.push_back(std::move(part));
  }
  if (taken.size() != region.nodes.size()) return not_for(region, "computes nothing but its parts");
  return out;
}

Result<RegionCode> write_conv_concat(const RegionRequest& request) {
  STITCH_TRY(std::vector<ConcatPart> parts, concat_parts(request.context, request.region));
  const Place& out = request.writes[0];
  Signature signature("enqueue_" + request.name);
  RegionCode code;
  std::string body;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ConcatPart& part = parts[i];
    RegionRequest own{.context = request.context,
                      .region = part.region,
                      .name = format("{}_part_{}", request.name, i),
                      .weights = request.weights};
    for (const Place& read : request.reads)
      if (std::ranges::find(part.region.reads, read.value) != part.region.reads.end())
        own.reads.push_back(read);
    const ValueId value = part.region.writes[0];
    own.writes = {{value, out.pointer, out.dtype, request.graph.type(value).shape, out.strides}};
    STITCH_TRY(RegionCode made, part.technique->write(own));
    if (made.workspace_bytes > 0 || !made.members.empty() || !made.settings.empty() || !made.prepared.empty())
      return not_for(request.region, "calls kernels alone");

    for (const Place& place : own.reads) signature.read(place);
    for (const Place& place : own.weights)
      if (std::ranges::find(made.arguments, place.pointer) != made.arguments.end()) signature.read(place);
    for (const Packed& packed : made.packed) signature.packed(packed, format("({})", packed.elements));
    std::vector<std::string> arguments;
    for (const std::string& argument : made.arguments)
      arguments.push_back(argument == out.pointer && part.first > 0
                              ? format("{} + {}", argument, part.first * out.strides[1])
                              : argument);
    body +=
        format("  STITCH_OK_OR_RETURN(\n      enqueue_{}({}, stream));\n", own.name, join(arguments, ", "));
    for (const std::string& line : split(made.includes, '\n'))
      if (!line.empty() && code.includes.find(line) == std::string::npos) code.includes += line + "\n";
    code.declaration += made.declaration;
    code.source += made.source + "\n";
    std::ranges::move(made.packed, std::back_inserter(code.packed));
  }
  signature.write(out);
  code.source += format("{} {{\n{}  return STITCH_OK;\n}}\n", signature.head(), body);
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique conv_concat{{
    .name = "conv.concat",
    .idea = "convolutions over few channels, each writing its part of a concat",
    .kind = plan::Kind::convolution,
    .accepts = [](const plan::Context& context, const plan::Region& region) -> Result<void> {
      STITCH_TRY(auto parts, concat_parts(context, region));
      return {};
    },
    .write = write_conv_concat,
    .rate = [](const plan::Context& context, const plan::Region& region) -> plan::Rate {
      auto parts = concat_parts(context, region);
      plan::Rate out{context.gpu.fp32, 0.7, 0};
      if (parts)
        for (const ConcatPart& part : *parts) {
          out.matrix = std::min(out.matrix, part.technique->rate(context, part.region).matrix);
          out.kernels += 1;
        }
      return out;
    },
    .is_exact = [](const plan::Offer&) { return true; },
}};

}  // namespace stitch::code
