#include "plan/context.h"

namespace stitch::plan {

const std::vector<Context>& Context::at_sizes() const {
  if (!at_sizes_ || at_sizes_->front().lean != lean) {
    auto made = std::make_shared<std::vector<Context>>();
    for (const Instance& instance : instances->all) {
      made->emplace_back(instance.graph, gpu, numerics, torch).lean = lean;
      made->back().instances = instances;
    }
    at_sizes_ = std::move(made);
  }
  return *at_sizes_;
}

}  // namespace stitch::plan
