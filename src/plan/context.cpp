#include "plan/context.h"

namespace stitch::plan {

Context Context::having_seen(ReferenceFacts seen) const {
  Context out(graph, gpu, numerics, std::move(seen));
  out.lean = lean;
  out.instances = instances;
  out.planned = planned;
  out.own_gpu_ = own_gpu_;
  return out;
}

const std::vector<Context>& Context::at_sizes() const {
  if (!at_sizes_ || at_sizes_->front().lean != lean) {
    auto made = std::make_shared<std::vector<Context>>();
    made->reserve(instances->all.size());
    for (const Instance& instance : instances->all) {
      made->emplace_back(instance.graph, gpu, numerics, torch).lean = lean;
      made->back().instances = instances;
      made->back().planned = &made->front();
    }
    at_sizes_ = std::move(made);
  }
  return *at_sizes_;
}

const Context& Context::filled() const {
  if (!filled_ || filled_->lean != lean) {
    auto changed = std::make_shared<GpuSpec>(gpu);
    changed->sms = 0;
    auto made = std::make_shared<Context>(graph, *changed, numerics, torch);
    made->lean = lean;
    made->instances = instances;
    made->planned = planned;
    made->own_gpu_ = std::move(changed);
    filled_ = std::move(made);
  }
  return *filled_;
}

}  // namespace stitch::plan
