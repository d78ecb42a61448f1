#include "plan/steps.h"

#include <algorithm>
#include <array>
#include <optional>

#include "plan/buckets.h"
#include "plan/choose.h"
#include "plan/cost/estimate.h"
#include "plan/cost/live_memory.h"
#include "plan/document/difference.h"
#include "plan/plain_plan.h"
#include "plan/precision/half_budget.h"
#include "plan/regions/fusion.h"
#include "plan/regions/layouts.h"
#include "plan/regions/views.h"

namespace stitch::plan {

namespace {

constexpr std::array rules = {
    StepRule{"libraries",
             "cuBLASLt for products, cuDNN for convolutions, attention that keeps its scores out of memory, "
             "recurrences with their weights in registers or by cuDNN",
             choose_techniques},
    StepRule{
        "tensor cores",
        "FP32 products on fp16 tensor cores: each operand split in two for FP32's accuracy at a third of "
        "their rate, or in class tf32 scaled and rounded to its ten bits at all of it",
        use_tensor_cores, false, true},
    StepRule{
        "tensor cores in short sums",
        "the same with sums a quarter as long, where the error was too large: tensor cores truncate sums",
        use_tensor_cores_finely, false, true, true},
    StepRule{"views", "attention and depthwise convolutions read their inputs through views, without copies",
             absorb_views},
    StepRule{"epilogues", "element-wise work after a product is done before its result is stored",
             fuse_epilogues},
    StepRule{"loops", "chains of element-wise nodes and reductions become single kernels", fuse_loops},
    StepRule{"joined epilogues", "a kernel that only finishes a product is fused into it too",
             fuse_epilogues},
    StepRule{"half storage",
             "convolutions in fp16, which has TF32's mantissa; values between them take half the bytes, "
             "channels last",
             store_half, true},
    StepRule{"half storage before the last layers",
             "the same, but convolutions that no other one follows write FP32, as PyTorch's do: their "
             "rounding would dominate the error",
             store_half_before_last, true},
    StepRule{"half storage beside exact layers",
             "the same, but convolutions over few channels, which PyTorch computes in FP32, stay in FP32",
             store_half_beside_exact, true},
    StepRule{"half storage within the budget",
             "fp16 where it saves the most time for the error it adds: convolutions and values one by one, "
             "from measured errors",
             store_half_within_budget, true},
    StepRule{"half storage within half the budget", "the same with half of the error budget",
             store_half_within_half_the_budget, true, false, true},
    StepRule{"pools", "a pool that is the only reader of an fp16 convolution is fused into it", fuse_pools},
    StepRule{"channels last", "TF32 convolutions with channels last, without transposes between them",
             store_channels_last, false, true},
    StepRule{"gates", "a channel-wise multiplication of an image is fused into the convolution after it",
             fuse_gates},
    StepRule{
        "half operands",
        "values that only products read, which round them to ten bits, are stored in fp16: no conversions",
        store_half_operands, true},
    StepRule{"branches", "small independent kernels run concurrently", run_side_by_side},
    StepRule{"buckets", "in a program for ranges of sizes, other techniques where few or many rows want them",
             choose_by_size, false, true},
};

}  // namespace

std::span<const StepRule> all_steps() { return rules; }

bool is_open(const Context& context, const StepRule& rule) {
  return !context.torch.as_pytorch || !rule.rounds;
}

bool is_same_work(const Plan& of_one, const Region& one, const Plan& of_other, const Region& other) {
  auto stored = [&](ValueId id) { return of_one.storage[index_of(id)] == of_other.storage[index_of(id)]; };
  return one.nodes == other.nodes && one.technique == other.technique && one.offer == other.offer &&
         one.choices == other.choices && one.variants == other.variants && one.has_same_source(other) &&
         std::ranges::all_of(other.reads, stored) && std::ranges::all_of(other.writes, stored);
}

std::vector<std::string> changed_regions(const Plan& before, const Plan& after) {
  auto same = [&](const Region& a, const Region& b) {
    return a.section == b.section && a.branch == b.branch && is_same_work(before, a, after, b);
  };
  std::vector<std::string> out;
  for (const Region& region : after.regions)
    if (std::ranges::none_of(before.regions, [&](const Region& each) { return same(each, region); }))
      out.push_back(region.name);
  return out;
}

Result<Plan> first_plan(const Context& context, const Catalogue& catalogue) {
  STITCH_TRY(Plan plan, plain_plan(context, catalogue));
  if (context.torch.as_pytorch) {
    STITCH_TRY(plan, match_pytorch(context, std::move(plan), catalogue));
  }
  const std::vector<std::string> all = changed_regions({}, plan);
  return replace_declined(context, std::move(plan), all, catalogue);
}

namespace {

enum class Take : uint8_t { every_step, no_loss, gains_only };

bool worth(double gain, Take take) {
  return take == Take::every_step || gain > 0 || (take == Take::no_loss && gain == 0);
}

// What of a step gains by itself: large products on tensor cores, where splitting small ones costs more.
Result<Plan> gaining_part(const Context& context, const Plan& before, const Plan& after) {
  auto seconds = [&](const Plan& plan, const std::vector<std::string>& names) {
    double sum = 0;
    for (const Region& region : plan.regions)
      if (std::ranges::find(names, region.name) != names.end())
        sum += estimate(context, plan, region).seconds();
    return sum;
  };
  std::vector<Change> changes = difference(context.graph, before, after);
  std::erase_if(changes, [&](const Change& change) {
    return seconds(before, change.before) <= seconds(after, change.after);
  });
  return take_changes(context.graph, before, after, changes);
}

// What of a step can be written at all sizes of a call.
Result<Plan> writable_part(const Context& context, const Plan& before, const Plan& after,
                           const Catalogue& catalogue) {
  std::vector<Change> changes = difference(context.graph, before, after);
  std::erase_if(changes, [&](const Change& change) {
    return !replace_declined(context, after, change.after, catalogue);
  });
  STITCH_TRY(Plan part, take_changes(context.graph, before, after, changes));
  const std::vector<std::string> changed = changed_regions(before, part);
  return replace_declined(context, std::move(part), changed, catalogue);
}

// Steps that don't gain enough, by prediction, are left out.
Result<Plan> walk(const Context& context, Plan plan, const Catalogue& catalogue,
                  const std::function<bool(const StepRule&)>& wanted, Take take,
                  std::vector<Step>* left_out = nullptr) {
  for (const StepRule& rule : all_steps()) {
    if (!wanted(rule) || !is_open(context, rule)) continue;
    STITCH_TRY(Plan next, rule.apply(context, plan, catalogue));
    const std::vector<std::string> laid_out = changed_regions(plan, next);
    auto written = replace_declined(context, next, laid_out, catalogue);
    if (!written && context.takes_sizes()) {
      written = writable_part(context, plan, next, catalogue);
      if (!written) continue;
    }
    STITCH_TRY(next, std::move(written));
    STITCH_CHECK(check(context.graph, next));
    std::vector<std::string> changed = changed_regions(plan, next);
    if (changed.empty()) continue;
    double gain = estimate(context, plan) - estimate(context, next);
    // At the plan's own sizes there is nothing to gain.
    if (rule.apply == choose_by_size) gain = gain_across(context, plan, next);
    if (gain < 0 && take != Take::every_step) {
      STITCH_TRY(Plan part, gaining_part(context, plan, next));
      if (const double of_part = estimate(context, plan) - estimate(context, part);
          of_part > 0 && check(context.graph, part)) {
        gain = of_part;
        changed = changed_regions(plan, part);
        next = std::move(part);
      }
    }
    Step step{std::string(rule.name), std::string(rule.why), std::move(changed), gain};
    if (!worth(gain, take)) {
      if (left_out) left_out->push_back(std::move(step));
      continue;
    }
    next.steps.push_back(std::move(step));
    plan = std::move(next);
  }
  STITCH_CHECK(check_memory(context, plan));
  return plan;
}

}  // namespace

Result<Plan> plan_of_steps(const Context& context, const Catalogue& catalogue,
                           const std::function<bool(const StepRule&)>& wanted) {
  STITCH_TRY(Plan first, first_plan(context, catalogue));
  return walk(context, std::move(first), catalogue, wanted, Take::every_step);
}

Result<BestSteps> best_plan_of_steps(const Context& context, const Catalogue& catalogue,
                                     const std::function<bool(const StepRule&)>& wanted) {
  STITCH_TRY(const Plan first, first_plan(context, catalogue));
  // A step that gains nothing may make room for one that does, and a loss now and then, too. None of the
  // three lists is always the best one.
  std::optional<BestSteps> best;
  for (Take take : {Take::no_loss, Take::gains_only, Take::every_step}) {
    std::vector<Step> left_out;
    STITCH_TRY(Plan plan, walk(context, first, catalogue, wanted, take, &left_out));
    const double seconds = estimate(context, plan);
    if (!best || seconds < best->seconds) best = {std::move(plan), std::move(left_out), seconds};
  }
  return *std::move(best);
}

Result<Plan> make_plan(const Context& context, const Catalogue& catalogue) {
  STITCH_TRY(Plan first, first_plan(context, catalogue));
  return walk(
      context, std::move(first), catalogue, [](const StepRule&) { return true; }, Take::gains_only);
}

}  // namespace stitch::plan
