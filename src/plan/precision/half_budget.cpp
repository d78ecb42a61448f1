#include "plan/precision/half_budget.h"

#include <algorithm>
#include <cmath>

#include "plan/cost/estimate.h"
#include "plan/precision/error_budget.h"
#include "plan/regions/layout_chooser.h"
#include "plan/regions/layouts.h"

namespace stitch::plan {

namespace {

// What can be had in fp16 or not: a convolution, or a value.
struct Choice {
  int32_t convolution = -1;
  ValueId value = ValueId::none;
  Expense expense;
};

class HalfBudget {
 public:
  HalfBudget(const Context& context, const Plan& plan, const Catalogue& catalogue, double share)
      : context_(context),
        graph_(context.graph),
        errors_(*context.torch.errors),
        plan_(plan),
        catalogue_(catalogue),
        share_(share),
        before_(*errors_of(context, plan)),
        all_(lay_out({Arithmetic::half, context.rounding.ten_bit_convolutions(), false, {}})) {}

  // Everything in fp16 that may be, where the measured errors leave room for all of it.
  Plan all_or_nothing() const {
    if (std::ranges::any_of(all_choices(), [](const Choice& each) {
          return std::ranges::any_of(each.expense.cost, [](double cost) { return !std::isfinite(cost); });
        }))
      return plan_;
    return within(all_) ? all_ : plan_;
  }

  Plan choose() const {
    const std::vector<Choice> choices = all_choices();
    std::vector<Expense> expenses;
    for (const Choice& each : choices) expenses.push_back(each.expense);
    std::vector<double> limits;
    for (double spent : before_.groups) limits.push_back(std::max(0.0, share_ - spent));
    // Neighbours depend on each other: what was added up one by one is looked at as a whole.
    for (int round = 0; round < 8; ++round) {
      LayoutWish wish{Arithmetic::half, {}, false, f16_values()};
      for (size_t i : choose_spending(expenses, limits)) {
        if (choices[i].convolution >= 0) wish.convolutions.insert(choices[i].convolution);
        wish.full_precision.erase(choices[i].value);
      }
      if (wish.convolutions.empty()) return plan_;
      Plan next = lay_out(wish);
      if (within(next)) return next;
      for (double& limit : limits) limit *= 0.7;
    }
    return plan_;
  }

 private:
  bool within(const Plan& plan) const { return stays_within(before_, *errors_of(context_, plan), share_); }

  Plan lay_out(const LayoutWish& wish) const {
    Plan out = LayoutChooser(context_, plan_, catalogue_, wish).choose();
    keep_row_major(context_, out, catalogue_, wish.convolutions);
    return out;
  }

  bool is_f16(const Plan& plan, ValueId id) const {
    return plan.storage[index_of(id)].dtype == DType::f16 && graph_.type(id).dtype == DType::f32;
  }

  std::set<ValueId> f16_values() const {
    std::set<ValueId> out;
    for (size_t v = 0; v < graph_.values.size(); ++v)
      if (is_f16(all_, static_cast<ValueId>(v))) out.insert(static_cast<ValueId>(v));
    return out;
  }

  std::vector<Choice> all_choices() const {
    std::vector<Choice> out;
    for (const Region& region : all_.regions)
      if (region.offer.rounds_to_half())
        if (const Node* node = convolution_in(graph_, region)) out.push_back(of_convolution(region, *node));
    for (ValueId id : f16_values()) out.push_back(of_value(id));
    return out;
  }

  // Beyond what it costs already, and with its result in fp16 once, whatever follows.
  Choice of_convolution(const Region& region, const Node& node) const {
    const auto found =
        std::ranges::find_if(plan_.regions, [&](const Region& each) { return each.nodes == region.nodes; });
    Choice out{.convolution = graph_.number_of(node), .value = ValueId::none, .expense = {}};
    if (found == plan_.regions.end()) return out;
    out.expense.gain =
        estimate(context_, plan_, *found).seconds() - estimate(context_, all_, region).seconds();
    const std::vector<double> now =
        operand_squares(errors_, graph_, node, found->technique->operand_precision(context_, *found));
    out.expense.cost = operand_squares(errors_, graph_, node, Precision::f16);
    for (size_t g = 0; g < now.size(); ++g)
      out.expense.cost[g] = std::max(0.0, out.expense.cost[g] - now[g]) + 0 * out.expense.cost[g];
    if (region.technique->rounds_product(context_, all_, region)) add_value(out.expense, node.results[0]);
    // cuDNN rounds a bias, too. One that was made of a batch norm is no value of the model's.
    if (node.operands.size() > 2 && node.operands[2] != ValueId::none &&
        region.offer.arithmetic == Arithmetic::half && errors_.values.contains(graph_[node.operands[2]].name))
      add_value(out.expense, node.operands[2]);
    // Its own weights and image may not fit fp16, either.
    for (ValueId id : {node.operands[0], node.operands[1], node.results[0]})
      if (!fits_half(errors_, graph_, id)) out.expense.cost.assign(now.size(), std::nan(""));
    return out;
  }

  // Convolutions that read it round it anyway, so that storing it so costs what others see of it.
  Choice of_value(ValueId id) const {
    Choice out{.value = id, .expense = {}};
    out.expense.cost.assign(errors_.groups.size(), 0);
    add_value(out.expense, id);
    double reads = 1;
    for (const Region& region : all_.regions) {
      if (std::ranges::find(region.reads, id) == region.reads.end()) continue;
      ++reads;
      const Node* node = region.offer.rounds_to_half() ? convolution_in(graph_, region) : nullptr;
      if (!node || node->operands[0] != id) continue;
      const auto* product = errors_.product(graph_[node->results[0]].name, node->module);
      for (size_t g = 0; product && !product->operands.empty() && g < out.expense.cost.size(); ++g)
        out.expense.cost[g] -= product->operands[0].groups[g].f16;
    }
    for (double& cost : out.expense.cost) cost = std::max(0.0, cost) + 0 * cost;
    if (!fits_half(errors_, graph_, id)) out.expense.cost.assign(out.expense.cost.size(), std::nan(""));
    out.expense.gain = reads * 2 * static_cast<double>(graph_.type(id).elements()) /
                       (streaming_share * context_.gpu.bandwidth);
    return out;
  }

  void add_value(Expense& expense, ValueId id) const {
    const auto* found = measured_value(errors_, graph_, id);
    for (size_t g = 0; g < expense.cost.size(); ++g)
      expense.cost[g] += found ? found->groups[g].f16 : std::nan("");
  }

  const Context& context_;
  const Graph& graph_;
  const MeasuredErrors& errors_;
  const Plan& plan_;
  const Catalogue& catalogue_;
  const double share_;  // of the squares
  const PlanErrors before_;
  const Plan all_;  // with all in fp16 that may be
};

bool may_choose(const Context& context, const Plan& plan) {
  return context.torch.errors && std::ranges::none_of(plan.regions, [](const Region& region) {
           return region.offer.rounds_to_half();
         });
}

Result<Plan> store_half_within(const Context& context, Plan plan, const Catalogue& catalogue, double share) {
  if (!may_choose(context, plan)) return plan;
  return HalfBudget(context, plan, catalogue, share).choose();
}

}  // namespace

// All of the budget where other inputs than the task's were measured, too: a few large roundings are as they
// were measured, and twice PyTorch's error is allowed where fp16 has its bits. What fails there is tried with
// room to spare.
Result<Plan> store_all_half(const Context& context, Plan plan, const Catalogue& catalogue) {
  if (!may_choose(context, plan)) return plan;
  constexpr int some = 3;
  return HalfBudget(context, plan, catalogue, context.torch.errors->kinds >= some ? 1 : 0.72)
      .all_or_nothing();
}

// Squares: 85 and 60 % of the error; 70 % where few kinds of inputs were measured, since others were seen to
// take 1.3 times as much.
Result<Plan> store_half_within_budget(const Context& context, Plan plan, const Catalogue& catalogue) {
  constexpr int many = 4;
  const bool measured_well = context.torch.errors && context.torch.errors->kinds >= many;
  return store_half_within(context, std::move(plan), catalogue, measured_well ? 0.72 : 0.5);
}

Result<Plan> store_half_within_half_the_budget(const Context& context, Plan plan,
                                               const Catalogue& catalogue) {
  return store_half_within(context, std::move(plan), catalogue, 0.36);
}

}  // namespace stitch::plan
