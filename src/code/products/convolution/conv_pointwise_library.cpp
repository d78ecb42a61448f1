// conv.pointwise of NCHW images without epilogue: one product per sample by cuBLASLt in TF32, batched,
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// On an H200 it moves 3.1 to 4.0 TB/s where our kernel moves 1.6 to 3.5 (64 filters and more); it has no bias
// along rows.
#include <algorithm>

#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/matmul/library_product.h"
#include "code/products/signature.h"
#include "plan/constants.h"

namespace stitch::code {

// Of 4 MB: cuBLASLt's first proposal takes 4.15 ms for 16 x 64 such planes to 128, its third 3.41. For planes
// of 1 MB both take 0.84.
constexpr int64_t large_plane = int64_t{1} << 20;

bool suits_library(const RegionRequest& request, const Convolution& c, const Epilogue& epilogue) {
  constexpr int64_t fewest_filters = 64, fewest_elements = int64_t{1} << 24;
  const View &x = c.x, &out = c.result.view;
  bool planes = !c.result.scatter && x.place->dtype == DType::f32 && out.place->dtype == DType::f32 &&
                dense_nchw(x) && dense_nchw(out) && x.offset == 0 && out.offset == 0 &&
                c.weight.contiguous() && c.weight.offset == 0;
  bool large = c.channels_out >= fewest_filters && element_count(out.shape) >= fewest_elements;
  return c.groups == 1 && epilogue.empty() && planes && request.region.choice("library", large) == 1;
}

RegionCode write_pointwise_library(const RegionRequest& request, const Convolution& c) {
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  RegionCode code;
  code.includes = "#include \"stitch/runtime/cublaslt.h\"\n";
  code.libraries = {"cublasLt"};
  Signature signature("enqueue_" + request.name);
  signature.read(x);
  signature.read(weight);
  const std::string member = request.name + "_matmul";
  std::string spec = format(
      "{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n"
      "  spec.batch = {};\n  spec.left_batch_stride = 0;  // one weight for all samples\n"
      "  spec.compute = CUBLAS_COMPUTE_32F_FAST_TF32;\n",
      c.channels_out, c.positions(), c.channels_in, c.batch);
  spec += proposal_spec(code, request.region, member, c.positions() >= large_plane ? 2 : 0);
  spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", member, request.cublas);
  code.members.push_back({"stitch::Matmul", member, spec, {}});
  signature.member(code.members.back());
  signature.write(out);
  code.source = format(
      "// {}\n// A product a sample in TF32, by cuBLASLt; {} holds the algorithm.\n"
      "{} {{\n  return {}.enqueue({}, {}, {}, stream);\n}}\n",
      describe(c), member, signature.head(), member, weight.pointer, x.pointer, out.pointer);
  code.declaration = signature.declaration();
  code.arguments = signature.arguments();
  return code;
}

// conv.pointwise of NHWC images: one cuBLASLt product over all samples' pixels,
//   out (pixels, filters) = x (pixels, channels) · weight (filters, channels)'
// batched over groups, which are contiguous in every row; bias and ReLU in its epilogue. fp16 with FP32 sums,
// or TF32, by the image's type.

std::optional<LibraryEpilogue> pointwise_last_epilogue(const RegionRequest& request, const Parts& parts,
                                                       const Convolution& c) {
  const View &x = c.x, &out = c.result.view;
  bool fits = !c.result.scatter && channels_last(c, x) && channels_last(c, out) && c.channels_in > 1 &&
              c.positions() > 1 && x.offset == 0 && out.offset == 0 && x.place->dtype == out.place->dtype &&
              (x.place->dtype == DType::f16 || x.place->dtype == DType::f32);
  auto library = library_epilogue_of(request, parts, 1);
  if (!fits || !library || !c.weight.contiguous() || c.weight.offset != 0) return std::nullopt;
  if (!library->bias) return library;
  // cuBLASLt has one bias per batch, which must be known at create.
  const bool weight = plan::is_constant(request.graph, library->bias->place->value);
  return weight && c.groups == 1 ? library : std::nullopt;
}

RegionCode write_pointwise_last(const RegionRequest& request, const Convolution& c,
                                const LibraryEpilogue& epilogue, const std::string& summary, bool exact) {
  const Place &x = *c.x.place, &out = *c.result.view.place;
  DType type = x.dtype;
  int64_t channels = c.channels_in / c.groups, filters = c.channels_out / c.groups;
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_arrange.h\"\n#include \"stitch/runtime/cublaslt.h\"\n";
  code.libraries = {"cublasLt"};
  Signature signature("enqueue_" + request.name);
  std::string functions;
  // A weight in the image's type: itself, or a copy made once.
  auto typed = [&](const Place& place, int64_t rows, int64_t columns) -> std::string {
    if (place.dtype == type) return place.pointer;
    const std::string function = "pack_" + request.own_name(place),
                      copy = request.own_name(place) + "_packed";
    Packed packed = packed_memory(copy, type, rows * columns, PackCall{function, {place.pointer, copy}});
    Signature pack(function);
    pack.read(place);
    pack.add(Signature::writes, packed.type + "*", "packed", shape_comment({rows, columns}));
    code.declaration += pack.declaration();
    functions += format("{} {{\n  return stitch::pack_filter({}, packed, {}, {}, {}, 1, stream);\n}}\n\n",
                        pack.head(), place.pointer, rows, columns, columns);
    code.packed.push_back(std::move(packed));
    return code.packed.back().name;
  };
  signature.read(x);
  std::string weight = typed(*c.weight.place, c.channels_out, channels);
  if (code.packed.empty())
    signature.read(*c.weight.place);
  else
    signature.packed(code.packed.back(), shape_comment({c.channels_out, channels}));

  std::string member = request.name + "_matmul";
  std::string spec = format("{{\n  stitch::MatmulSpec spec{{{}, {}, {}}};  // rows, columns, depth\n",
                            c.batch * c.positions(), filters, channels);
  if (c.groups > 1)
    spec += format(
        "  spec.batch = {};\n  spec.left_row_stride = {};\n  spec.left_batch_stride = {};\n"
        "  spec.result_row_stride = {};\n  spec.result_batch_stride = {};\n",
        c.groups, c.channels_in, channels, c.channels_out, filters);
  spec += "  spec.right_transposed = true;\n";
  spec += format("  spec.type = {};\n", cuda_type(type));
  if (type == DType::f32 && !exact) spec += "  spec.compute = CUBLAS_COMPUTE_32F_FAST_TF32;\n";
  const char* activation = epilogue.activation == LibraryEpilogue::relu        ? "RELU"
                           : epilogue.activation == LibraryEpilogue::gelu_tanh ? "GELU"
                                                                               : "";
  if (epilogue.bias)
    spec += format("  spec.epilogue = CUBLASLT_EPILOGUE_{}{}BIAS;\n  spec.bias = {};\n", activation,
                   *activation ? "_" : "", typed(*epilogue.bias->place, c.channels_out, 1));
  else if (*activation)
    spec += format("  spec.epilogue = CUBLASLT_EPILOGUE_{};\n", activation);
  spec += proposal_spec(code, request.region, member);
  spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", member, request.cublas);
  std::vector<std::string> kept;
  if (epilogue.bias && epilogue.bias->place->dtype == type) kept = {epilogue.bias->place->pointer};
  code.members.push_back({"stitch::Matmul", member, spec, kept});
  signature.member(code.members.back());
  signature.write(out);
  code.source = format("// {}{}{}\n// A product of all pixels in {}, by cuBLASLt; {} holds the algorithm.\n",
                       describe(c), summary.empty() ? "" : ", then ", summary, name(type), member);
  code.source += functions + format("{} {{\n  return {}.enqueue({}, {}, {}, stream);\n}}\n", signature.head(),
                                    member, x.pointer, weight, out.pointer);
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
