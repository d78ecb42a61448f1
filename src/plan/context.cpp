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

Context Context::of(std::shared_ptr<const Instances> others) const {
  Context out(others->all[0].graph, gpu, numerics, torch);
  out.lean = lean;
  out.own_gpu_ = own_gpu_;
  out.instances = std::move(others);
  return out;
}

const std::vector<Context>& Context::across() const {
  if (!across_) {
    auto made = std::make_shared<std::vector<Context>>();
    if (auto all = instances_at(*instances, sizes_across(instances->dimensions)))
      for (Instance& one : *all) {
        auto alone = std::make_shared<Instances>();
        alone->dimensions = instances->dimensions;
        alone->example = instances->example;
        alone->limits = instances->limits;
        alone->largest = one;
        alone->all.push_back(std::move(one));
        made->push_back(of(std::move(alone)));
      }
    across_ = std::move(made);
  }
  return *across_;
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

const Context& Context::writing(bool filled, int64_t widest) const {
  std::shared_ptr<const Context>& known = writing_[{filled, widest}];
  if (!known || known->lean != lean) {
    auto changed = std::make_shared<GpuSpec>(gpu);
    if (filled) changed->sms = 0;
    auto made = std::make_shared<Context>(graph, *changed, numerics, torch);
    made->lean = lean;
    made->widest_vector = widest;
    made->instances = instances;
    made->planned = planned;
    made->own_gpu_ = std::move(changed);
    known = std::move(made);
  }
  return *known;
}

}  // namespace stitch::plan
