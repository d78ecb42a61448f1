#include "code/catalogue.h"

#include <array>

#include "code/loops/techniques.h"
#include "code/products/techniques.h"
#include "code/written.h"

namespace stitch::code {

const plan::Catalogue& catalogue() {
  // Within a kind the Planner takes the first that accepts a region and suits it.
  static const auto all = std::to_array<const plan::Technique*>({
      &matmul_outer(),         // depth one
      &matmul_vector(),        // a matrix times one to twelve vectors
      &matmul_thin(),          // … times 13 to 64 of them
      &matmul_tensor_core(),   // FP32 products bound by their bytes
      &matmul_long(),          // few results, long sums
      &matmul_cublaslt(),      // products in general
      &matmul_split_int8(),    // large FP32 products on fp16 and int8 tensor cores, in place of the library's
      &matmul_split_half(),    // FP32 products on fp16 tensor cores, in place of the library's
      &matmul_plain(),         //
      &conv_as_pytorch(),      // where results shall be PyTorch's own
      &conv_concat(),          // several over few channels, and a concat
      &conv_direct(),          // few channels and few filters
      &conv_implicit(),        // NCHW images, large ones or of few channels
      &conv_split_half(),      // few channels
      &conv_transposed(),      // transposed, in FP32 or with few products
      &conv_pointwise_odd(),   // kernels of one pixel, channels that libraries pad
      &conv_pointwise(),       // … over NCHW images, and NHWC ones that cuBLASLt is faster at
      &conv_pointwise_nhwc(),  // … over NHWC images, in small tiles
      &conv_vector(),          // … over a few pixels in all
      &conv_pixel(),           // … over images of one pixel
      &conv_depthwise(),       //
      &conv_cudnn_graph(),     // channels last, with all that follows
      &conv_cudnn(),           // convolutions in general
      &conv_plain(),           //
      &attention_few(),        // of few queries over many keys
      &attention_half(),       // of fp16 and bf16 tensors
      &attention_tensor_core(),  //
      &attention_flash(),        // on the CUDA cores
      &attention_plain(),        //
      &rnn_cluster(),            // steps that should not wait for L2
      &rnn_persistent(),         // weights that fit into registers
      &rnn_cudnn(),              //
      &rnn_plain(),              //
      &loops::loop(),            // everything else
      &loops::batch_norm(),      //
      &loops::row(),             //
      &loops::scan(),            //
      &loops::scatter(),         //
      &loops::sort(),            //
      &loops::factor(),          //
      &loops::grouped(),         //
      &written(),                // a source of somebody else's
  });
  static const plan::Catalogue catalogue{all};
  return catalogue;
}

const Technique& technique_of(const plan::Region& region) {
  return dynamic_cast<const Technique&>(*region.technique);
}

}  // namespace stitch::code
