#include "plan/regions/layout_chooser.h"

#include <algorithm>

#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::plan {

LayoutChooser::LayoutChooser(const Context& context, const Plan& plan, const Catalogue& catalogue,
                             LayoutWish wish)
    : context_(context), graph_(context.graph), plan_(plan), catalogue_(catalogue), wish_(std::move(wish)) {
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    for (ValueId id : region.reads) readers_[id].push_back(r);
    for (ValueId id : region.writes) writer_[id] = r;
    if (!loses_bits(region) && !stays_exact(region)) continue;
    if (const Technique* technique = technique_for(r)) chosen_[r] = technique;
    if (region.technique->may_round_result()) rounded_.insert(region.writes.begin(), region.writes.end());
  }
  fixed_.insert(graph_.outputs.begin(), graph_.outputs.end());
  fixed_.merge(constant_values(graph_));  // techniques pack weights as they take them
  for (const Update& update : graph_.updates) fixed_.insert(update.value);
}

bool LayoutChooser::loses_bits(const Region& region) const {
  return std::ranges::any_of(region.nodes, [&](int32_t n) { return wish_.convolutions.contains(n); });
}

bool LayoutChooser::stays_exact(const Region& region) const {
  return std::ranges::any_of(region.nodes, [&](int32_t n) { return wish_.exact.contains(n); });
}

Offer LayoutChooser::offer_for(const Region& region) const {
  if (stays_exact(region)) return {Arithmetic::exact, Order::channels_last};
  return {wish_.half() ? wish_.arithmetic : region.offer.arithmetic, Order::channels_last};
}

const Technique* LayoutChooser::technique_for(size_t r) const {
  const Region& region = plan_.regions[r];
  const Technique* own = region.technique;
  auto refused = [&](const Technique* technique) {
    auto found = refused_.find(r);
    return found != refused_.end() && found->second.contains(technique);
  };
  if (region.offer.rounds_to_half()) return nullptr;  // done already
  const Offer offer = offer_for(region);
  const bool owns = offers(*own, context_, region, offer) && !refused(own),
             gives_way = own->gives_way(context_, region);
  if (!owns && !gives_way) return nullptr;
  const bool exact = stays_exact(region);
  if (exact && own->takes_any_order()) return nullptr;  // it follows its neighbours
  // One that takes nothing but channels last, or writes so whatever it reads, is better at it than one that
  // copies.
  for (const Technique* other : catalogue_.all()) {
    if (refused(other)) continue;
    if (other == own && owns && !exact) return own;
    if (!gives_way || other->kind() != own->kind() || !other->accepts(context_, region) ||
        !offers(*other, context_, region, offer))
      continue;
    Region changed = region;
    changed.technique = other;
    changed.offer = offer;
    const bool alone = other->takes_any_order() ||
                       other->offers(context_, region).front().order == Order::channels_last ||
                       !other->accepts_storage(context_, plan_, changed);
    // A library in FP32 is not among them: its kernels for NHWC images are few.
    if (alone ? other->suits(context_, region, offer) : !exact && !owns && other->entry() == Entry::fast)
      return other;
  }
  return nullptr;
}

namespace {

// What a region takes, and what the regions beside it take to read and write the same values.
double seconds_with_neighbours(const Context& context, const Plan& plan, const Region& region) {
  const RegionEstimate own = estimate(context, plan, region);
  double others = 0;
  for (const auto* ids : {&region.reads, &region.writes})
    for (ValueId id : *ids)
      others +=
          static_cast<double>(context.graph.type(id).elements() * size_of(plan.storage[index_of(id)].dtype));
  const double starts = region.technique->rate(context, region).kernels * context.gpu.kernel_overhead;
  return own.seconds() - starts + others / (streaming_share * context.gpu.bandwidth);
}

// One that takes nothing but channels last, in the same bytes, may be there for its neighbours: a whole
// network that has one order transposes nothing.
bool loses(const Region& next, double seconds, const Region& before, double seconds_before) {
  const bool same_bits = next.offer.rounds_to_half() == before.offer.rounds_to_half();
  constexpr double tolerated = 1.02;
  return next.technique != before.technique && same_bits ? seconds > tolerated * seconds_before
                                                         : seconds >= seconds_before;
}

}  // namespace

Plan LayoutChooser::choose() {
  for (;;) {
    Plan next = plan_;
    for (const auto& [r, technique] : chosen_) {
      next.regions[r].offer = offer_for(plan_.regions[r]);
      next.regions[r].technique = technique;
    }
    assign(next);
    std::vector<size_t> losers;
    for (const auto& [r, technique] : chosen_)
      if (!technique->accepts_storage(context_, next, next.regions[r]) ||
          loses(next.regions[r], seconds_with_neighbours(context_, next, next.regions[r]), plan_.regions[r],
                seconds_with_neighbours(context_, plan_, plan_.regions[r])))
        losers.push_back(r);
    if (losers.empty()) return next;
    for (size_t r : losers) {
      refused_[r].insert(chosen_[r]);
      if (const Technique* technique = technique_for(r))
        chosen_[r] = technique;
      else
        chosen_.erase(r);
    }
  }
}

bool LayoutChooser::movable(ValueId id) const {
  const TensorType& type = graph_.type(id);
  auto writer = writer_.find(id);
  const bool narrow = type.dtype == DType::f16 || type.dtype == DType::bf16;
  if (writer == writer_.end() || fixed_.contains(id) ||
      (type.dtype != DType::f32 && (wish_.half() || !narrow)) || type.rank() < 3 || type.rank() > 5)
    return false;
  auto takes = [&](size_t r) { return chosen_.contains(r) || follows(r); };
  auto readers = readers_.find(id);
  return takes(writer->second) && (readers == readers_.end() || std::ranges::all_of(readers->second, takes));
}

std::set<ValueId> LayoutChooser::row_major_values() const {
  const int64_t element_bytes = wish_.half() ? 2 : 4;
  std::set<ValueId> out;
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    const Region& region = plan_.regions[r];
    auto found = chosen_.find(r);
    const Technique& technique = found == chosen_.end() ? *region.technique : *found->second;
    for (ValueId id : technique.row_major_values(
             context_, region, [&](ValueId value) { return movable(value); }, element_bytes))
      out.insert(id);
  }
  return out;
}

// From the chosen convolutions through everything that follows.
std::set<ValueId> LayoutChooser::reached(const std::set<ValueId>& row_major) const {
  std::set<ValueId> out;
  std::vector<size_t> open;
  std::set<size_t> seen;
  for (const auto& [r, technique] : chosen_) open.push_back(r), seen.insert(r);
  auto visit = [&](size_t r) {
    if (follows(r) && seen.insert(r).second) open.push_back(r);
  };
  while (!open.empty()) {
    const Region& region = plan_.regions[open.back()];
    open.pop_back();
    for (const auto* ids : {&region.reads, &region.writes})
      for (ValueId id : *ids) {
        if (!movable(id) || row_major.contains(id)) continue;
        out.insert(id);
        visit(writer_.at(id));
        if (auto readers = readers_.find(id); readers != readers_.end())
          for (size_t r : readers->second) visit(r);
      }
  }
  return out;
}

void LayoutChooser::assign(Plan& plan) const {
  const std::set<ValueId> row_major = row_major_values();
  for (ValueId id : reached(row_major))
    plan.storage[index_of(id)] = {wish_.half() && !keeps_bits(id) ? DType::f16 : graph_.type(id).dtype,
                                  channels_last_order(graph_.type(id).rank())};
  if (!wish_.half()) return;
  // Rounded here or by the convolutions that read it, or that wrote it: the same bits.
  for (ValueId id : row_major)
    if (movable(id) && !wish_.full_precision.contains(id) && (only_convolved(id) || is_rounded_already(id)))
      plan.storage[index_of(id)].dtype = DType::f16;
  // Exact until then: less than what TF32 loses before it multiplies.
  for (ValueId id : rounded_)
    if (!wish_.careful && !wish_.full_precision.contains(id) && movable(id))
      plan.storage[index_of(id)].dtype = DType::f16;
}

// What exact convolutions write and read, and no other reads: images have a mean, and what a batch norm
// takes it out of would keep few of ten bits. Other convolutions round what they read to as many anyway.
bool LayoutChooser::keeps_bits(ValueId id) const {
  if (wish_.full_precision.contains(id)) return true;
  const size_t writer = writer_.at(id);
  auto readers = readers_.find(id);
  if (!wish_.careful || chosen_.contains(writer) || readers == readers_.end()) return false;
  auto convolves_it = [&](size_t r) { return convolution_in(graph_, plan_.regions[r]) != nullptr; };
  return std::ranges::none_of(readers->second, [&](size_t r) { return chosen_.contains(r); }) &&
         (convolves_it(writer) || std::ranges::any_of(readers->second, convolves_it));
}

// As a library wrote it, in fp16: nothing was added.
bool LayoutChooser::is_rounded_already(ValueId id) const {
  const size_t writer = writer_.at(id);
  if (!chosen_.contains(writer) || plan_.regions[writer].nodes.size() != 1) return false;
  const Node& node = *convolution_in(graph_, plan_.regions[writer]);
  return node.operands.size() < 3 || node.operands[2] == ValueId::none;
}

bool LayoutChooser::only_convolved(ValueId id) const {
  auto readers = readers_.find(id);
  return readers != readers_.end() &&
         std::ranges::all_of(readers->second, [&](size_t r) { return chosen_.contains(r); });
}

}  // namespace stitch::plan
