#include "code/catalogue.h"

#include <array>

#include "code/family/sized_region.h"
#include "code/loops/techniques.h"
#include "code/products/techniques.h"
#include "code/rewritten.h"
#include "code/technique.h"
#include "code/written.h"

namespace stitch::code {

const plan::Catalogue& catalogue() {
  // Within a kind the Planner takes the first technique that accepts and suits a region.
  static const auto all = std::to_array<const plan::Technique*>({
      &matmul_outer,           // depth 1: outer products
      &matmul_vector,          // 1 to 12 rows
      &matmul_thin,            // 13 to 64 rows
      &matmul_tensor_core,     // memory-bound FP32 products
      &matmul_long,            // few results, long sums
      &matmul_cublaslt,        // products in general
      &matmul_scaled_half,     // products in class tf32 on fp16 tensor cores, instead of cuBLASLt
      &matmul_split_int8,      // large FP32 products on fp16 and int8 tensor cores, instead of cuBLASLt
      &matmul_split_half,      // FP32 products on fp16 tensor cores, instead of cuBLASLt
      &matmul_plain,           //
      &conv_as_pytorch,        // where results must match PyTorch's
      &conv_concat,            // several over few channels, written into a concat
      &conv_direct,            // few channels and few filters
      &conv_implicit,          // NCHW images, large or with few channels
      &conv_split_half,        // few channels
      &conv_transposed,        // transposed, in FP32 or with few products
      &conv_pointwise_odd,     // 1x1, channel counts that libraries pad
      &conv_pointwise,         // 1x1 over NCHW images, and NHWC ones where cuBLASLt is faster
      &conv_pointwise_nhwc,    // 1x1 over NHWC images, in small tiles
      &conv_vector,            // 1x1 over a few pixels in all
      &conv_pixel,             // over 1x1 images
      &conv_depthwise,         //
      &conv_cudnn_graph,       // channels last, with fused epilogues
      &conv_cudnn,             // convolutions in general
      &conv_plain,             //
      &attention_few,          // few queries over many keys
      &attention_half,         // fp16 and bf16 tensors
      &attention_tensor_core,  //
      &attention_plain,        //
      &rnn_cluster,            // state exchanged in clusters instead of L2
      &rnn_persistent,         // weights that fit into registers
      &rnn_cudnn,              //
      &rnn_plain,              //
      &batch_norm_as_pytorch,  // where results must match PyTorch's
      &loops::loop(),          // everything else
      &loops::batch_norm(),    //
      &loops::row(),           //
      &loops::scan(),          //
      &loops::scatter(),       //
      &loops::sort(),          //
      &loops::factor(),        //
      &loops::grouped(),       //
      &written(),              // user- or LLM-written source
  });
  static const plan::Catalogue catalogue{all};
  return catalogue;
}

const Technique& technique_of(const plan::Region& region) {
  return dynamic_cast<const Technique&>(*region.technique);
}

Result<void> Technique::can_write(const plan::Context& context, const plan::Plan& plan,
                                  const plan::Region& region) const {
  if (takes_source() && context.takes_sizes())
    return user_error("technique", "a given source is for the sizes that it was written for");
  if (takes_source() && !(region.source && is_graph(region.source->text))) return {};  // not written here
  if (context.takes_sizes()) {
    STITCH_CHECK(writing_for_all_sizes(*this, context, plan, region));
    return {};
  }
  const RegionRequest request = request_alone(context, region, &plan);
  STITCH_TRY(const RegionCode code, write(request));
  return check_packed(request, code, plan);
}

}  // namespace stitch::code
