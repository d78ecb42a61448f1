#include "agents/package_task.h"

namespace stitch::agents {

Result<void> add_task(PackageContents& contents, const Task& task) {
  if (!task.text.empty()) {
    STITCH_CHECK(stitch::add_task(contents, task.source, task.options.model_class, task.facts));
    contents.task = task.text;  // as it was judged: the file may have changed since
  }
  for (const ManifestTensor& tensor : contents.manifest.signature.parameters) {
    if (tensor.role != "constant") continue;
    const TensorBytes* found = task.weights ? task.weights->find(tensor.data) : nullptr;
    if (!found)
      return work_error("weights", format("the constant '{}' is not in the graph's weights", tensor.data),
                        "import the model again, with weights");
    contents.constants.emplace_back(tensor.data, *found);
  }
  return {};
}

}  // namespace stitch::agents
