// What a written region declares, as the program's memory, members and settings.
#include <cctype>
#include <set>

#include "base/text.h"
#include "code/expression/expression.h"
#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/written_resources.h"

namespace stitch::code {

namespace {

std::string spec_of(const WrittenResources::Product& product, const std::string& bias, bool tf32) {
  std::string out = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                           product.rows, product.columns, product.depth);
  auto set = [&](std::string_view member, const auto& value) {
    out += format("  spec.{} = {};\n", member, value);
  };
  if (product.batch > 1) set("batch", product.batch);
  if (product.left_transposed) set("left_transposed", "true");
  if (product.right_transposed) set("right_transposed", "true");
  if (product.accumulate) set("accumulate", "true");
  for (const auto& [member, value] : product.strides) set(member, value);
  set("type", cuda_type(product.type));
  set("result_type", cuda_type(product.result));
  if (product.type == DType::f32 && tf32) set("compute", "CUBLAS_COMPUTE_32F_FAST_TF32");
  if (product.scale != 1) set("scale", literal(product.scale, DType::f32));
  if (!product.epilogue.empty()) {
    std::string epilogue = product.epilogue;
    for (char& c : epilogue) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    set("epilogue", "CUBLASLT_EPILOGUE_" + epilogue);
  }
  if (!bias.empty()) set("bias", bias);
  return out;
}

std::string spec_of(const WrittenResources::Convolution& convolution, const std::string& bias, bool exact) {
  auto list = [](const std::vector<int64_t>& values) { return "{" + join(values, ", ") + "}"; };
  std::string out = format(
      "{{\n  // dimensions, batch, channels in and out, groups; sizes in and out, kernel, stride, padding, "
      "dilation\n"
      "  stitch::ConvolutionSpec spec{{{}, {}, {}, {}, {},\n                               {}, {}, {}, {}, "
      "{}, "
      "{}}};\n",
      convolution.size_in.size(), convolution.batch, convolution.channels_in, convolution.channels_out,
      convolution.groups, list(convolution.size_in), list(convolution.size_out), list(convolution.kernel),
      list(convolution.stride), list(convolution.padding), list(convolution.dilation));
  if (convolution.channels_last) out += "  spec.layout = CUDNN_TENSOR_NHWC;\n";
  if (convolution.type == DType::f16) out += "  spec.type = CUDNN_DATA_HALF;\n";
  if (convolution.type == DType::bf16) out += "  spec.type = CUDNN_DATA_BFLOAT16;\n";
  if (!exact) out += "  spec.math = CUDNN_DEFAULT_MATH;\n";
  if (!bias.empty()) out += format("  spec.bias = {};\n", bias);
  if (convolution.relu) out += "  spec.relu = true;\n";
  return out;
}

}  // namespace

void add_resources(const WrittenResources& resources, const RegionRequest& request, RegionCode& code,
                   Signature& signature) {
  auto own = [&](const std::string& name) { return request.name + "_" + name; };
  std::set<DType> types;
  for (const WrittenResources::Packing& each : resources.packed) {
    Signature pack("pack_" + own(each.name));
    PackCall call{"pack_" + own(each.name), {}};
    for (size_t weight : each.from) {
      pack.read(request.weights[weight]);
      call.arguments.push_back(request.weights[weight].pointer);
    }
    call.arguments.push_back(own(each.name));
    Packed packed = packed_memory(own(each.name), each.type, each.elements, std::move(call));
    pack.add(Signature::writes, packed.type + "*", packed.name, shape_comment({each.elements}));
    code.declaration += pack.declaration();
    signature.packed(packed, shape_comment({each.elements}));
    code.packed.push_back(std::move(packed));
    types.insert(each.type);
  }
  auto add_member = [&](const char* type, const auto& each, const std::string& handle, auto&& spec_with) {
    std::vector<std::string> kept;
    std::string bias = each.bias.empty() ? "" : own(each.bias);
    if (each.bias_weight) kept.push_back(bias = request.weights[*each.bias_weight].pointer);
    std::string spec = spec_with(bias) + proposal_spec(code, request.region, own(each.name));
    spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", own(each.name), handle);
    code.members.push_back({type, own(each.name), std::move(spec), std::move(kept)});
    signature.member(code.members.back());
  };
  const Numerics numerics = request.context.numerics;
  for (const WrittenResources::Product& each : resources.products)
    add_member("stitch::Matmul", each, request.cublas,
               [&](const std::string& bias) { return spec_of(each, bias, numerics == Numerics::tf32); });
  for (const WrittenResources::Convolution& each : resources.convolutions)
    add_member("stitch::Convolution", each, request.cudnn,
               [&](const std::string& bias) { return spec_of(each, bias, numerics == Numerics::strict); });
  for (const WrittenResources::Tuned& each : resources.settings)
    signature.add(Signature::members, "int",
                  add_setting(code, request.region, request.name, each.name, "int", each.values, each.value));
  if (!resources.products.empty()) code.libraries.emplace_back("cublasLt");
  if (!resources.convolutions.empty()) code.libraries.emplace_back("cudnn");
  code.includes += cuda_includes(types);
  code.workspace_bytes = resources.workspace_bytes;
  if (code.workspace_bytes > 0) signature.workspace();
}

}  // namespace stitch::code
