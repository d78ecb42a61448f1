/* resources
{
  "workspace": 1152,
  "packed": [{"name": "weight_half", "type": "f16", "elements": 768, "from": ["weight"],
              "by": "pack_weight"}],
  "products": [{"name": "product", "rows": 18, "columns": 24, "depth": 32, "type": "f16", "result": "f32",
                "right_transposed": true, "epilogue": "gelu_bias", "bias": "bias"}],
  "settings": [{"name": "threads", "values": [64, 128, 256], "value": 128}]
}
*/
namespace {

__global__ void to_half(const float* from, __half* to, int count) {
  stitch::wait_for_previous_kernel();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = __float2half(from[i]);
}

}  // namespace

// Once, when the program is created.
StitchStatus pack_weight(const float* weight,  // (24, 32)
                         __half* weight_half,  // (24, 32)
                         cudaStream_t stream) {
  return stitch::launch("to_half", to_half, stitch::spread(768, 256), stream, weight, weight_half, 768);
}

StitchStatus enqueue_mlp(const float* x,             // (18, 32)
                         const __half* weight_half,  // (24, 32)
                         const stitch::Matmul& product, int threads,
                         float* mlp_out,  // (18, 24)
                         void* workspace, cudaStream_t stream) {
  auto* x_half = static_cast<__half*>(workspace);  // (18, 32)
  STITCH_OK_OR_RETURN(
      stitch::launch("to_half", to_half, stitch::spread(576, threads), stream, x, x_half, 576));
  return product.enqueue(x_half, weight_half, mlp_out, stream);
}
