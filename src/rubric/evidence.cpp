#include "rubric/evidence.h"

#include <algorithm>

#include "base/terminal/line_diff.h"
#include "gpu/floor.h"

namespace stitch::rubric {

namespace {

bool is_heavy(Op op) {
  switch (op) {
    case Op::linear:
    case Op::matmul:
    case Op::einsum:
    case Op::conv:
    case Op::conv_transpose:
    case Op::attention:
    case Op::rnn: return true;
    default: return false;
  }
}

// What took longest before; without a profile, what has most to do by its kind.
std::string hottest_of(const CodeFacts& code, const Execution& run) {
  const KernelRun* longest = nullptr;
  for (const KernelRun& each : run.kernels)
    if (!longest || each.seconds > longest->seconds) longest = &each;
  if (longest)
    for (const KernelFacts& kernel : code.kernels)
      if (longest->name.find(kernel.name) != std::string::npos) return kernel.name;
  const KernelFacts* most = nullptr;
  for (const KernelFacts& kernel : code.kernels)
    if (kernel.at_work() && (!most || kernel.work > most->work)) most = &kernel;
  return most ? most->name : "";
}

const KernelFacts* find_kernel(const CodeFacts& code, std::string_view name) {
  auto found = std::ranges::find(code.kernels, name, &KernelFacts::name);
  return found == code.kernels.end() ? nullptr : &*found;
}

std::shared_ptr<const Change> change_of(const CodeFacts& after, const Before& before) {
  auto out = std::make_shared<Change>();
  out->before = facts_of(before.sources);
  out->before_run = before.run;
  out->feedback = read_feedback(before.feedback, out->before);
  out->identical = out->before.code_hash == after.code_hash;
  const DiffSize size = size_of(line_diff(out->before.code, after.code, 0));
  out->added = size.added;
  out->removed = size.removed;
  for (const KernelFacts& kernel : after.kernels) {
    const KernelFacts* then = find_kernel(out->before, kernel.name);
    if (!then)
      out->fresh.push_back(kernel.name);
    else if (then->hash != kernel.hash || then->at_work() != kernel.at_work())
      out->changed.push_back(kernel.name);
  }
  for (const KernelFacts& kernel : out->before.kernels)
    if (!find_kernel(after, kernel.name)) out->gone.push_back(kernel.name);
  out->hottest = hottest_of(out->before, before.run);
  return out;
}

}  // namespace

std::string_view name(Skill skill) { return skill == Skill::from_scratch ? "from scratch" : "from feedback"; }

Operator operator_named(std::string name, std::string op, double seconds) {
  const OpInfo* known = find_op(op);
  return {.name = std::move(name),
          .op = std::move(op),
          .seconds = seconds,
          .heavy = known && is_heavy(known->op)};
}

std::vector<Operator> operators_of(const Graph& graph, const GpuSpec& gpu,
                                   const std::map<std::string, double>& measured) {
  const GraphCost costs = cost(graph);
  const Floor floor = floor_of(graph, costs, gpu);
  std::vector<Operator> out;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (costs.nodes[n].bytes <= 0 && costs.nodes[n].flops <= 0) continue;  // a view
    const Family family = info(node.op).family;
    if (family == Family::view || family == Family::create || node.results.empty()) continue;
    Operator each = operator_named(graph[node.results[0]].name, std::string(info(node.op).name),
                                   gpu.kernel_overhead + floor.nodes[n].seconds());
    if (auto known = measured.find(each.name); known != measured.end()) each.seconds = known->second;
    out.push_back(std::move(each));
  }
  return out;
}

Evidence gather(const std::vector<Source>& sources, Execution run, std::vector<Operator> operators,
                const Before* before) {
  Evidence out;
  out.code = facts_of(sources);
  out.run = std::move(run);
  out.operators = std::move(operators);
  find_coverage(out);
  if (before) {
    out.skill = Skill::from_feedback;
    out.change = change_of(out.code, *before);
  }
  return out;
}

}  // namespace stitch::rubric
