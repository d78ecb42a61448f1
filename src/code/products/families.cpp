#include "code/products/families.h"

#include <array>

namespace stitch::code {

std::span<const Family> product_families() {
  static constexpr auto families = std::to_array<Family>({
      {"matmul.plain", "any product on the CUDA cores, 64 x 64 tiles", accepts_matmul_plain,
       write_matmul_plain},
      {"matmul.cublaslt", "a product by cuBLASLt with bias and activation in its epilogue",
       accepts_matmul_cublaslt, write_matmul_cublaslt},
      {"matmul.split_half", "FP32 products on fp16 tensor cores, operands split in two",
       accepts_matmul_split_half, write_matmul_split_half},
      {"matmul.vector", "a matrix times one to twelve vectors at the speed of its bytes",
       accepts_matmul_vector, write_matmul_vector},
      {"conv.plain", "any convolution on the CUDA cores as a product that gathers", accepts_conv_plain,
       write_conv_plain},
      {"conv.cudnn", "a convolution by cuDNN, bias and ReLU fused", accepts_conv_cudnn, write_conv_cudnn},
      {"conv.split_half", "convolutions over few channels on fp16 tensor cores, numbers split in two",
       accepts_conv_split, write_conv_split},
      {"conv.transposed", "transposed convolutions in FP32, without products that are zero",
       accepts_conv_transposed, write_conv_transposed},
      {"conv.depthwise", "depthwise convolutions at the speed of their bytes", accepts_conv_depthwise,
       write_conv_depthwise},
      {"conv.pointwise", "kernels of one pixel over planes: a product in TF32 at the speed of its bytes",
       accepts_conv_pointwise, write_conv_pointwise},
      {"conv.vector", "kernels of one pixel over one to twelve of them, at the speed of the filters",
       accepts_conv_vector, write_conv_vector},
      {"attention.plain", "scores in memory: product, softmax, product", accepts_attention_plain,
       write_attention_plain},
      {"attention.flash", "online softmax over tiles of keys", accepts_attention_flash,
       write_attention_flash},
      {"attention.tensor_core", "online softmax, products on tensor cores at the accuracy of the class",
       accepts_attention_tensor_core, write_attention_tensor_core},
      {"rnn.plain", "one product for all steps, then a kernel a step", accepts_rnn_plain, write_rnn_plain},
      {"rnn.persistent", "weights stay in registers, blocks pass the state on through L2",
       accepts_rnn_persistent, write_rnn_persistent},
      {"rnn.cudnn", "the whole recurrence by one call of cuDNN's", accepts_rnn_cudnn, write_rnn_cudnn},
  });
  return families;
}

}  // namespace stitch::code
