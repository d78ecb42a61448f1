#include "reference/reference.h"

namespace stitch::verifier {

Result<Tensors> find_tensors(const std::vector<ManifestTensor>& wanted,
                             const std::shared_ptr<const Safetensors>& file,
                             const std::shared_ptr<const Safetensors>& otherwise) {
  Tensors out;
  for (const ManifestTensor& tensor : wanted) {
    bool here = file && file->find(tensor.data);
    const auto& source = here ? file : otherwise;
    const TensorBytes* found = source ? source->find(tensor.data) : nullptr;
    if (!found)
      return work_error("weights", format("the task's weights hold no '{}'", tensor.data),
                        "import the model again, with its weights");
    if (found->type.dtype != tensor.type.dtype || found->type.shape != tensor.type.shape)
      return work_error("weights", format("the task's '{}' is {}, where the graph says {}", tensor.data,
                                          text(found->type), text(tensor.type)));
    out.add(*found, source);
  }
  return out;
}

}  // namespace stitch::verifier
