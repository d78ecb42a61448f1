#include "plan/choose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "plan/cost/estimate.h"
#include "plan/cost/live_memory.h"
#include "plan/precision/error_budget.h"
#include "plan/regions/layouts.h"
#include "plan/regions/views.h"
#include "plan/ways.h"

namespace stitch::plan {

namespace {

// The first offer by which the technique rounds operands as PyTorch does; where that doesn't matter, its
// first.
std::optional<Offer> offer_of(const Context& context, const Technique& technique, const Region& region) {
  const std::vector<Offer> all = technique.offers(context, region);
  const Node* convolution = convolution_in(context.graph, region);
  const bool recurrent = technique.kind() == Kind::recurrence;
  if (!context.torch.as_pytorch || (!convolution && !recurrent)) return all.front();
  // cuDNN's recurrences follow the switch of the convolutions.
  const bool tf32 = recurrent ? context.rounding.follows_pytorch()
                              : context.rounding.is_tf32_in_pytorch(context.graph.number_of(*convolution));
  for (const Offer& offer : all) {
    Region changed = region;
    changed.technique = &technique;
    changed.offer = offer;
    if (technique.operand_precision(context, changed) == (tf32 ? Precision::tf32 : Precision::f32))
      return offer;
  }
  return std::nullopt;
}

}  // namespace

namespace {

void choose_technique(const Context& context, const Catalogue& catalogue, Region& region) {
  const Kind kind = kind_of(context.graph, region);
  for (const Technique* technique : catalogue.all()) {
    if (technique->kind() != kind || technique->entry() != Entry::fast) continue;
    if (!technique->accepts(context, region)) continue;
    const std::optional<Offer> offer = offer_of(context, *technique, region);
    if (!offer || !technique->suits(context, region, *offer)) continue;
    region.technique = technique;
    region.offer = *offer;
    break;
  }
}

}  // namespace

Result<Plan> choose_techniques(const Context& context, Plan plan, const Catalogue& catalogue) {
  for (Region& region : plan.regions) choose_technique(context, catalogue, region);
  return take_views(context, std::move(plan));
}

Result<Plan> match_pytorch(const Context& context, Plan plan, const Catalogue& catalogue) {
  for (Region& region : plan.regions)
    if (const Kind kind = kind_of(context.graph, region);
        kind == Kind::convolution || kind == Kind::recurrence || kind == Kind::loop)
      choose_technique(context, catalogue, region);
  return take_views(context, std::move(plan));
}

namespace {

struct Truncated {
  Region* region;
  TruncatedSums sums;
  Region before;  // the technique and offer it had
};

const Node& product_in(const Graph& graph, const Region& region) {
  for (int32_t n : region.nodes)
    if (const Node& node = graph.node(n);
        node.op == Op::linear || node.op == Op::matmul || node.op == Op::einsum)
      return node;
  throw Bug("a product has one");
}

// Tensor cores cut sums off towards zero. Measured on an H200: sums of 1024 products of positive numbers are
// off by 5.5e-6, of numbers that balance, as weights do, by a quarter of that, and in proportion to their
// length. Errors add up from layer to layer, all the way where nothing normalises or is added in between
// (seventeen layers of 1024 were off by 1.9e-5). Of centred rows it is less: 2.4e-6 for 4096 inputs from 0 to
// 1, where 4.4e-6 would have been expected.
int64_t guessed_longest_sums(const Graph& graph, const std::vector<Truncated>& chosen) {
  constexpr double most_in_a_row = 5120;
  bool damped = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op == Op::add || node.op == Op::layer_norm || node.op == Op::batch_norm ||
           node.op == Op::group_norm || node.op == Op::attention || node.op == Op::softmax;
  });
  // What a subtraction and a threshold leave of a result is small, and has all of its error.
  bool thinned =
      !damped && std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == Op::sub; });
  int64_t longest = thinned ? 1024 : 4096;
  auto in_a_row = [&] {
    double sum = 0;
    for (const Truncated& each : chosen)
      if (!damped || each.sums.length > 2048)
        sum +=
            (each.sums.centred ? centred_part : 1) * std::min(each.sums.length, static_cast<double>(longest));
    return sum;
  };
  const int64_t least = damped ? 2048 : 128;
  while (longest > least && in_a_row() > most_in_a_row) longest /= 2;
  return longest;
}

// Where all of them were measured, by several kinds of inputs or weights, nothing is guessed: spend_on_sums
// shortens what is too long (seventeen layers of 1024 may be summed whole where the last one is most of the
// output).
int64_t longest_sums(const Context& context, const std::vector<Truncated>& chosen) {
  constexpr int64_t longest = 4096;
  constexpr int kinds = 2;
  auto is_measured = [&](const Truncated& each) {
    return std::isfinite(cut_off_error(*context.torch.errors, context.graph,
                                       product_in(context.graph, *each.region), each.sums, longest));
  };
  if (context.torch.errors && context.torch.errors->kinds >= kinds &&
      std::ranges::all_of(chosen, is_measured))
    return longest;
  return guessed_longest_sums(context.graph, chosen);
}

// What was measured shortens single sums further, those first that are most of the error; where even the
// shortest are too coarse, a region stays as it was.
void spend_on_sums(const Context& context, std::vector<Truncated>& chosen, double allowed) {
  if (!context.torch.errors) return;
  constexpr int64_t shortest = 128;
  auto error_of = [&](const Truncated& each) {
    return cut_off_error(*context.torch.errors, context.graph, product_in(context.graph, *each.region),
                         each.sums, static_cast<double>(each.region->choices.at(each.sums.knob)));
  };
  std::vector<double> errors;
  for (const Truncated& each : chosen) {
    const double error = error_of(each);
    errors.push_back(std::isnan(error) ? 0 : error);  // not measured: as the lengths above have it
  }
  while (std::accumulate(errors.begin(), errors.end(), 0.0) > allowed) {
    const auto worst = static_cast<size_t>(std::ranges::max_element(errors) - errors.begin());
    Truncated& each = chosen[worst];
    int64_t& length = each.region->choices.at(each.sums.knob);
    // A length over the whole sum changes nothing.
    length = std::min(length, static_cast<int64_t>(each.sums.length)) / 2;
    length = std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(length, 1)));
    if (length >= shortest) {
      errors[worst] = error_of(each);
      continue;
    }
    *each.region = each.before;
    errors[worst] = 0;
  }
}

// A program should take no more memory than PyTorch does: weights once, and beside them what is left of the
// workspace of PyTorch's products (32 MB) when the program's code, its graph and its library's workspace have
// theirs (14 MB on an H200) and operands are split. The largest weights first: a second call of a library
// costs each product about the same.
void save_memory(const Context& context, const std::vector<Truncated>& chosen) {
  const double beside = context.lean ? 0 : 8 << 20;
  struct Saving {
    Leaner leaner;
    std::vector<Region*> regions;  // that share the weight
  };
  std::map<ValueId, Saving> of_weights;
  double bytes = 0;
  for (const Truncated& each : chosen)
    if (auto leaner = each.region->technique->leaner(context, *each.region)) {
      Saving& saving = of_weights.try_emplace(leaner->weight, Saving{*leaner, {}}).first->second;
      if (saving.regions.empty()) bytes += leaner->bytes;
      saving.regions.push_back(each.region);
    }
  std::vector<const Saving*> all;
  for (const auto& [weight, saving] : of_weights) all.push_back(&saving);
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Saving* each) { return each->leaner.bytes; });
  for (const Saving* saving : all) {
    if (bytes <= beside) return;
    for (Region* region : saving->regions) region->choices[saving->leaner.knob] = saving->leaner.value;
    bytes -= saving->leaner.bytes;
  }
}

// The same for what is split on every run, where a region would hold more than the model run node by node.
void save_scratch(const Context& context, const Plan& plan, const std::vector<Truncated>& chosen) {
  const LiveMemory live = live_memory(context, plan);
  const int64_t allowed = context.lean ? 0 : memory_allowed(context.graph);
  if (live.peak <= allowed) return;
  for (const Truncated& each : chosen)
    if (live.at[static_cast<size_t>(each.region - plan.regions.data())] > allowed)
      if (auto leaner = each.region->technique->leaner(context, *each.region))
        each.region->choices[leaner->knob] = leaner->value;
}

// In place of what the region has: the first technique that suits it.
std::optional<Truncated> take_approximate(const Context& context, const Plan& plan, Region& region,
                                          const Catalogue& catalogue, bool exact) {
  const Kind kind = kind_of(context.graph, region);
  for (const Technique* technique : catalogue.all()) {
    if (technique->kind() != kind || technique->entry() != Entry::approximate) continue;
    if (!technique->accepts(context, region) || !technique->accepts_storage(context, plan, region)) continue;
    const Offer offer = technique->offers(context, region).front();
    if (!technique->suits(context, region, offer)) continue;
    const auto sums = technique->truncated_sums(context, region);
    if (exact && (!sums || technique->added_error(context, region) > 0)) continue;
    const Region before = region;
    region.technique = technique;
    region.offer = offer;
    if (sums) return Truncated{&region, *sums, before};
    break;
  }
  return std::nullopt;
}

// Techniques that add noise of their own do so as long as all of it is a third of what is allowed, in
// squares; the noisiest regions then take others.
void spend_on_noise(const Context& context, const Plan& plan, std::vector<Truncated>& chosen,
                    const Catalogue& catalogue) {
  // Where sums are short all the same, nothing is won: every one of them is a pass over the result.
  constexpr int64_t shortest = 1024;
  constexpr double least_budget = 1e-5;
  const double allowed = longest_sums(context, chosen) < shortest ? 0 : 0.33;
  auto noise_of = [&](const Truncated& each) {
    const double part = each.region->technique->added_error(context, *each.region);
    if (part == 0) return 0.0;
    const double unmeasured = part * part / least_budget / least_budget;
    if (!context.torch.errors) return unmeasured;
    const std::vector<double> squares =
        noise_squares(*context.torch.errors, context.graph, product_in(context.graph, *each.region), part);
    const double most = squares.empty() ? std::nan("") : *std::ranges::max_element(squares);
    return std::isfinite(most) ? most : unmeasured;
  };
  std::vector<double> noise;
  for (const Truncated& each : chosen) noise.push_back(noise_of(each));
  while (std::accumulate(noise.begin(), noise.end(), 0.0) > allowed) {
    const auto worst = static_cast<size_t>(std::ranges::max_element(noise) - noise.begin());
    Region& region = *chosen[worst].region;
    region = chosen[worst].before;
    noise[worst] = 0;
    if (auto other = take_approximate(context, plan, region, catalogue, true)) chosen[worst] = *other;
  }
  std::erase_if(chosen,
                [&](const Truncated& each) { return each.region->technique == each.before.technique; });
}

Result<Plan> approximate(const Context& context, Plan plan, const Catalogue& catalogue, int64_t finer) {
  // Of the error that is allowed: half of its square. Seen on an H200: 0.43 to 0.63 where 0.55 was expected.
  constexpr double for_sums = 0.7;
  std::vector<Truncated> chosen;
  for (Region& region : plan.regions)
    if (region.technique->gives_way(context, region))
      if (auto taken = take_approximate(context, plan, region, catalogue, finer > 1))
        chosen.push_back(*taken);
  spend_on_noise(context, plan, chosen, catalogue);
  const int64_t longest = longest_sums(context, chosen) / finer;
  for (const Truncated& each : chosen)
    each.region->choices[each.sums.knob] =
        each.sums.balanced ? longest : std::min<int64_t>(longest, 1024 / finer);
  spend_on_sums(context, chosen, for_sums / static_cast<double>(finer));
  save_memory(context, chosen);
  save_scratch(context, plan, chosen);
  return plan;
}

}  // namespace

Result<Plan> use_tensor_cores(const Context& context, Plan plan, const Catalogue& catalogue) {
  return approximate(context, std::move(plan), catalogue, 1);
}

Result<Plan> use_tensor_cores_finely(const Context& context, Plan plan, const Catalogue& catalogue) {
  return approximate(context, std::move(plan), catalogue, 4);
}

Result<Plan> replace_declined(const Context& context, Plan plan, const std::vector<std::string>& regions,
                              const Catalogue& catalogue) {
  for (Region& region : plan.regions) {
    if (std::ranges::find(regions, region.name) == regions.end()) continue;
    const auto written = region.technique->can_write(context, plan, region);
    if (written) continue;
    std::optional<Region> best;
    double least = std::numeric_limits<double>::infinity();
    for (const Way& way : ways_of(context, plan, region, catalogue)) {
      Region other = with_way(context, region, way);
      const double seconds = estimate(context, plan, other).seconds();
      if (seconds >= least || !way.technique->can_write(context, plan, other)) continue;
      best = std::move(other);
      least = seconds;
    }
    if (!best) return written.error();
    region = *std::move(best);
  }
  return plan;
}

}  // namespace stitch::plan
