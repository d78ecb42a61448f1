// conv.pointwise of NCHW images without epilogue: one product per sample by cuBLASLt in TF32, batched,
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// On an H200 it moves 3.1 to 4.0 TB/s where our kernel moves 1.6 to 3.5 (64 filters and more); it has no bias
// along rows.
#include "code/names.h"
#include "code/products/convolution/conv_pointwise.h"
#include "code/products/signature.h"

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

}  // namespace stitch::code
