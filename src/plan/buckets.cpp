#include "plan/buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "plan/cost/estimate.h"
#include "plan/ways.h"

namespace stitch::plan {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr int64_t endless = std::numeric_limits<int64_t>::max();
constexpr size_t most_buckets = 3;
constexpr double least_gain = 0.03;     // of the time, all over the ranges, by a further bucket
constexpr double least_part = 0.003;    // of a bucket's time, by one region's technique there
constexpr size_t wanted_instances = 6;  // as for the whole ranges

// A measure's value at every size across the ranges.
struct Measure {
  std::string formula;
  std::vector<int64_t> values;
  int64_t planned = 0;  // at the plan's own sizes
};

std::vector<Measure> measures_of(const Context& context) {
  std::vector<std::string> formulas, names;
  for (const Dimension& each : context.instances->dimensions) names.push_back(each.name);
  formulas = names;
  if (names.size() > 1) formulas.push_back(join(names, " * "));
  std::vector<Measure> out;
  for (const std::string& formula : formulas) {
    Measure measure{formula, {}, *evaluate_size(formula, context.sizes())};
    for (const Context& each : context.across())
      measure.values.push_back(*evaluate_size(formula, each.sizes()));
    out.push_back(std::move(measure));
  }
  return out;
}

// A region's techniques, the plan's own first, and what each takes at every size.
struct Costs {
  std::vector<Region> ways;
  std::vector<std::vector<double>> seconds;
};

Costs costs_of(const Context& context, const Plan& plan, const Region& region, const Catalogue& catalogue) {
  const std::vector<Context>& across = context.across();
  Costs out{{region}, {std::vector<double>(across.size(), never)}};
  for (size_t k = 0; k < across.size(); ++k) {
    out.seconds[0][k] = estimate(across[k], plan, region).seconds();
    for (const Way& way : ways_of(across[k], plan, region, catalogue)) {
      auto known = std::ranges::find_if(out.ways, [&](const Region& each) {
        return each.technique == way.technique && each.offer == way.offer;
      });
      if (known == out.ways.begin()) continue;
      // The cost model knows too little of where a technique is no good.
      if (!way.technique->suits(across[k], with_way(across[k], region, way), way.offer)) continue;
      if (known == out.ways.end()) {
        out.ways.push_back(with_way(across[k], region, way));
        out.seconds.emplace_back(across.size(), never);
        known = out.ways.end() - 1;
      }
      out.seconds[static_cast<size_t>(known - out.ways.begin())][k] =
          estimate(across[k], plan, *known).seconds();
    }
  }
  return out;
}

// Consecutive values of a measure, [first, end) of the sizes in its order.
struct Bucket {
  size_t first = 0, end = 0;
};

class Chooser {
 public:
  Chooser(const Context& context, Plan plan, const Catalogue& catalogue)
      : context_(context), plan_(std::move(plan)), catalogue_(catalogue), across_(context.across()) {}

  Result<Plan> choose() {
    if (across_.size() < wanted_instances) return plan_;
    const std::vector<bool> constant = constant_regions(context_.graph, plan_);
    whole_.assign(across_.size(), context_.gpu.launch_overhead);
    for (size_t r = 0; r < plan_.regions.size(); ++r) {
      const Region& region = plan_.regions[r];
      costs_.push_back(constant[r] || region.source ? Costs{}
                                                    : costs_of(context_, plan_, region, catalogue_));
      if (!costs_.back().ways.empty())
        for (size_t k = 0; k < across_.size(); ++k) whole_[k] += costs_.back().seconds[0][k];
    }
    // What can't be written is left out, which may leave too little.
    std::optional<Plan> best;
    double most = 0;
    for (const Measure& measure : measures_of(context_)) {
      const auto [buckets, gain] = divide(measure);
      if (buckets.size() < 2 || gain <= most) continue;
      Plan made = with_buckets(measure, buckets);
      const double real = gain_across(context_, plan_, made) / estimate(context_, plan_);
      if (real < least_gain || real <= most) continue;
      most = real;
      best = std::move(made);
    }
    return best ? *std::move(best) : plan_;
  }

 private:
  double part(size_t r, size_t way, const std::vector<size_t>& order, Bucket bucket) const {
    double out = 0;
    for (size_t i = bucket.first; i < bucket.end; ++i)
      out += costs_[r].seconds[way][order[i]] / whole_[order[i]];
    return out;
  }

  // The share of the time that the best techniques save in a bucket, summed over its sizes.
  double saved(const std::vector<size_t>& order, Bucket bucket) const {
    double out = 0;
    for (size_t r = 0; r < costs_.size(); ++r) {
      if (costs_[r].ways.size() < 2) continue;
      double least = never;
      for (size_t way = 0; way < costs_[r].ways.size(); ++way)
        least = std::min(least, part(r, way, order, bucket));
      out += part(r, 0, order, bucket) - least;
    }
    return out;
  }

  static std::vector<size_t> in_order(const Measure& measure) {
    std::vector<size_t> order(measure.values.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, {}, [&](size_t k) { return measure.values[k]; });
    return order;
  }

  static bool is_home(const Measure& measure, const std::vector<size_t>& order, Bucket bucket) {
    const bool first = bucket.first == 0, last = bucket.end == order.size();
    return (first || measure.values[order[bucket.first - 1]] < measure.planned) &&
           (last || measure.planned < measure.values[order[bucket.end]]);
  }

  // The division that saves the most, and its mean saving. A further bucket must be worth it.
  std::pair<std::vector<Bucket>, double> divide(const Measure& measure) const {
    const std::vector<size_t> order = in_order(measure);
    std::vector<size_t> starts = {0};  // of equal values
    for (size_t i = 1; i < order.size(); ++i)
      if (measure.values[order[i]] != measure.values[order[i - 1]]) starts.push_back(i);
    starts.push_back(order.size());
    const size_t parts = starts.size() - 1;
    auto worth = [&](size_t from, size_t to) {
      const Bucket bucket{starts[from], starts[to]};
      return is_home(measure, order, bucket) ? 0.0 : saved(order, bucket);
    };
    // best[count][to]: of the first `to` parts in `count` buckets.
    std::vector best(most_buckets + 1, std::vector<double>(parts + 1, -never));
    std::vector from(most_buckets + 1, std::vector<size_t>(parts + 1, 0));
    best[0][0] = 0;
    for (size_t begin = 0; begin < parts; ++begin)
      for (size_t end = begin + 1; end <= parts; ++end) {
        const double own = worth(begin, end);
        for (size_t count = 1; count <= most_buckets; ++count)
          if (best[count - 1][begin] + own > best[count][end]) {
            best[count][end] = best[count - 1][begin] + own;
            from[count][end] = begin;
          }
      }
    size_t chosen = 1;
    const auto sizes = static_cast<double>(order.size());
    for (size_t count = 2; count <= most_buckets; ++count)
      if (best[count][parts] > best[chosen][parts] + least_gain * sizes) chosen = count;
    std::vector<Bucket> out;
    for (size_t count = chosen, end = parts; count > 0; end = from[count--][end])
      out.insert(out.begin(), Bucket{starts[from[count][end]], starts[end]});
    return {out, best[chosen][parts] / sizes};
  }

  // Only where it was tried: up to the last size of the bucket, or from its first one on.
  static Variant variant_of(const Measure& measure, const std::vector<size_t>& order, Bucket bucket,
                            const Region& as) {
    Variant out{measure.formula, 0, endless, as.technique, as.offer, as.choices};
    if (bucket.first > 0) out.least = measure.values[order[bucket.first]];
    if (bucket.end < order.size()) out.most = measure.values[order[bucket.end - 1]];
    return out;
  }

  Plan with_buckets(const Measure& measure, const std::vector<Bucket>& buckets) const {
    const std::vector<size_t> order = in_order(measure);
    Plan out = plan_;
    for (const Bucket& bucket : buckets) {
      if (is_home(measure, order, bucket)) continue;
      for (size_t r = 0; r < costs_.size(); ++r) {
        std::vector<std::pair<double, size_t>> ways;
        for (size_t way = 1; way < costs_[r].ways.size(); ++way)
          ways.emplace_back(part(r, way, order, bucket), way);
        std::ranges::sort(ways);
        const double enough = least_part * static_cast<double>(bucket.end - bucket.first);
        for (const auto& [share, way] : ways) {
          if (part(r, 0, order, bucket) - share < enough) break;
          const Variant variant = variant_of(measure, order, bucket, costs_[r].ways[way]);
          if (!can_write(plan_.regions[r], variant)) continue;
          out.regions[r].variants.push_back(variant);
          break;
        }
      }
    }
    return out;
  }

  bool can_write(const Region& region, const Variant& variant) const {
    const auto instances = instances_of(context_, region, variant);
    if (!instances) return false;
    const Context context = context_.of(*instances);
    Region as = region;
    as.variants.clear();
    as.technique = variant.technique;
    as.offer = variant.offer;
    as.choices = variant.choices;
    return variant.technique->can_write(context, plan_, as).operator bool();
  }

  const Context& context_;
  const Plan plan_;
  const Catalogue& catalogue_;
  const std::vector<Context>& across_;
  std::vector<Costs> costs_;   // by region; none of those that stay
  std::vector<double> whole_;  // seconds of the plan at each size
};

// Regions of one bucket have the same: formulas are then found once.
std::shared_ptr<const Instances> made_of(const std::shared_ptr<const Instances>& whole,
                                         const std::vector<const Context*>& taken) {
  struct Known {
    std::weak_ptr<const Instances> whole;
    std::vector<Sizes> sizes;
    std::shared_ptr<const Instances> made;
  };
  static std::mutex mutex;
  static std::vector<Known> all;
  std::vector<Sizes> sizes;
  for (const Context* each : taken) sizes.push_back(each->sizes());
  std::lock_guard lock(mutex);
  std::erase_if(all, [](const Known& each) { return each.whole.expired(); });
  for (const Known& each : all)
    if (each.whole.lock() == whole && each.sizes == sizes) return each.made;
  auto out = std::make_shared<Instances>();
  out->dimensions = whole->dimensions;
  out->example = whole->example;
  out->limits = whole->limits;
  auto product = [](const Instance& of) {
    double out = 1;
    for (const auto& [name, size] : of.sizes) out *= static_cast<double>(size);
    return out;
  };
  for (const Context* each : taken) out->all.push_back(each->instances->all[0]);
  out->largest = *std::ranges::max_element(out->all, {}, product);
  all.push_back({whole, std::move(sizes), out});
  return out;
}

}  // namespace

Result<Plan> choose_by_size(const Context& context, Plan plan, const Catalogue& catalogue) {
  // Another technique may pack its weights another way, too.
  if (!context.takes_sizes() || context.lean) return plan;
  return Chooser(context, std::move(plan), catalogue).choose();
}

Plan at_sizes(Plan plan, const Sizes& sizes) {
  for (Region& region : plan.regions) region = region.at(sizes);
  return plan;
}

double gain_across(const Context& context, const Plan& before, const Plan& after) {
  double share = 0;
  for (const Context& each : context.across())
    share +=
        1 - estimate(each, at_sizes(after, each.sizes())) / estimate(each, at_sizes(before, each.sizes()));
  return context.across().empty()
             ? 0
             : share / static_cast<double>(context.across().size()) * estimate(context, before);
}

Result<std::shared_ptr<const Instances>> instances_of(const Context& context, const Region& region,
                                                      const Variant& variant) {
  struct Candidate {
    double away;  // from the middle of the bucket, in factors
    bool has_one;
    const Context* context;
  };
  std::vector<Candidate> within, beyond;
  double sum = 0, count = 0;
  auto measured = [&](const Context& at) { return *evaluate_size(variant.measure, at.sizes()); };
  auto is_within = [&](const Context& at) {
    return measured(at) >= variant.least && measured(at) <= variant.most;
  };
  for (const Context& each : context.across())
    if (is_within(each)) sum += std::log(static_cast<double>(measured(each))), ++count;
  if (count == 0) return at_region(region, format("no size lies within the borders of {}", variant.measure));
  for (const Context& each : context.across()) {
    // Of one element in a dimension, code may be simpler than it is elsewhere.
    const bool has_one = std::ranges::any_of(each.sizes(), [](const auto& size) { return size.second == 1; });
    (is_within(each) ? within : beyond)
        .push_back({std::abs(std::log(static_cast<double>(measured(each))) - sum / count), has_one, &each});
  }
  std::ranges::stable_sort(within, {},
                           [](const Candidate& each) { return std::pair(each.has_one, each.away); });
  std::ranges::stable_sort(beyond, {}, &Candidate::away);
  std::vector<const Context*> taken;
  for (const Candidate& each : within)
    if (taken.empty() || (!each.has_one && taken.size() < 2 * wanted_instances))
      taken.push_back(each.context);
  Region as = region;
  as.technique = variant.technique;
  as.offer = variant.offer;
  as.choices = variant.choices;
  for (const Candidate& each : beyond)
    if (taken.size() < wanted_instances && !each.has_one && variant.technique->accepts(*each.context, as))
      taken.push_back(each.context);
  // Few sizes say little of the others, unless they are all that there are.
  int64_t low = endless, high = 0;
  for (const Context& each : context.across())
    low = std::min(low, measured(each)), high = std::max(high, measured(each));
  const int64_t least = std::max(variant.least, low), most = std::min(variant.most, high);
  const bool all =
      context.instances->dimensions.size() == 1 ? std::ssize(within) == most - least + 1 : most == 1;
  if (all) {
    taken.clear();
    for (const Candidate& each : within) taken.push_back(each.context);
  }
  if (taken.size() < 3 && !all)
    return at_region(region, format("{} takes too few sizes", variant.technique->name()));
  return made_of(context.instances, taken);
}

std::string borders_text(const Variant& variant) {
  if (variant.least == 0) return format("{} <= {}", variant.measure, variant.most);
  if (variant.most == endless) return format("{} >= {}", variant.measure, variant.least);
  return format("{} <= {} <= {}", variant.least, variant.measure, variant.most);
}

std::vector<Border> borders_of(const Plan& plan) {
  std::set<Border> out;
  for (const Region& region : plan.regions)
    for (const Variant& each : region.variants) {
      if (each.least > 0) out.insert({each.measure, each.least - 1});
      if (each.most < endless) out.insert({each.measure, each.most});
    }
  return {out.begin(), out.end()};
}

}  // namespace stitch::plan
