#include "verify/gpu_share.h"

#include <algorithm>
#include <cmath>

namespace stitch::verifier {

double gpu_bytes_of(const Signature& signature) {
  double inputs = 0, outputs = 0, truth = 0;
  for (const ManifestTensor& input : signature.inputs) inputs += static_cast<double>(input.type.bytes());
  for (const ManifestTensor& output : signature.outputs) {
    outputs += static_cast<double>(output.type.bytes());
    truth += static_cast<double>(output.type.elements()) * 8;
  }
  return 2 * (inputs + outputs) + 2 * truth + 2 * inputs + std::max(inputs, outputs);
}

Result<MachineShare> take_gpu_memory(double bytes, double total) {
  constexpr int parts = 8;
  return MachineShare::take("gpu.memory",
                            std::clamp(static_cast<int>(std::ceil(parts * bytes / total)), 1, parts), parts);
}

}  // namespace stitch::verifier
