#include "rubric/evidence.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

// Evidence as a document: for the LLM judge, and for people who ask why.

namespace {

constexpr size_t most_listed = 40;  // of anything: a prompt has an end

template <class List, class Write>
Json listed(const List& list, const Write& write) {
  Json out = Json::array();
  for (const auto& each : list) {
    if (out.size() == most_listed) {
      out.push_back(format("… and {} more", list.size() - most_listed));
      break;
    }
    out.push_back(write(each));
  }
  return out;
}

Json features_json(const Features& features) {
  Json out = Json::array();
  for (size_t i = 0; i < feature_count; ++i)
    if (features.has(static_cast<Feature>(i))) out.push_back(name(static_cast<Feature>(i)));
  return out;
}

Json code_json(const CodeFacts& code) {
  Json out = {{"interface", code.interface.empty() ? "none" : code.interface},
              {"language", code.python ? "Python" : "CUDA"},
              {"launches", code.launches}};
  out["kernels"] = listed(code.kernels, [](const KernelFacts& each) {
    Json one = {{"name", each.name},
                {"place", text(each.place)},
                {"work", name(each.work)},
                {"techniques", features_json(each.features)},
                {"at_work", each.at_work()}};
    if (!each.idle.empty()) one["idle"] = each.idle;
    if (each.strided) one["strided_access"] = true;
    if (each.single_thread) one["less_than_a_warp"] = true;
    if (each.single_block) one["one_block"] = true;
    return one;
  });
  out["library_calls"] = listed(code.libraries, [](const LibraryCall& each) {
    return Json{{"name", each.name}, {"place", text(each.place)}, {"fused_epilogue", each.fused}};
  });
  out["pytorch_calls"] = listed(code.torch, [](const TorchCall& each) {
    return Json{{"name", each.name}, {"place", text(each.place)}, {"in_a_loop", each.in_loop}};
  });
  out["signs"] = listed(code.signs, [](const Sign& each) {
    return Json{{"name", each.name},
                {"severity", name(each.severity)},
                {"what", each.what},
                {"place", text(each.place)}};
  });
  out["hazards"] = listed(code.hazards, [](const Hazard& each) {
    return Json{{"what", each.what}, {"place", text(each.place)}};
  });
  return out;
}

Json run_json(const Execution& run) {
  Json out = {{"outcome", name(run.outcome)}};
  auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  auto add_number = [&](const char* key, const std::optional<double>& value) {
    if (value) out[key] = *value;
  };
  add("gate", run.gate);
  add("code", run.code);
  add("reason", run.reason);
  add("bottleneck", run.bottleneck);
  add_number("seconds", run.seconds);
  add_number("speedup", run.speedup);
  add_number("floor_seconds", run.floor_seconds);
  if (!run.notes.empty()) out["notes"] = run.notes;
  if (!run.kernels.empty())
    out["device_time"] = listed(run.kernels, [](const KernelRun& each) {
      return Json{{"kernel", each.name}, {"count", each.count}, {"seconds", each.seconds}};
    });
  if (!run.regions.empty())
    out["regions"] = listed(run.regions, [](const RegionTime& each) {
      return Json{{"region", each.name}, {"seconds", each.seconds}, {"launches", each.launches}};
    });
  if (!run.resources.empty())
    out["resources"] = listed(run.resources, [](const KernelResources& each) {
      return Json{{"kernel", each.kernel},
                  {"registers", each.registers},
                  {"spill_bytes", each.spill_bytes},
                  {"shared_bytes", each.shared_bytes}};
    });
  return out;
}

}  // namespace

Json to_json(const Evidence& evidence) {
  Json out = {{"skill", name(evidence.skill)},
              {"run", run_json(evidence.run)},
              {"code", code_json(evidence.code)},
              {"coverage",
               {{"operators", evidence.operator_share},
                {"device_time", evidence.time_share},
                {"times", evidence.measured_times ? "measured" : "by the cost model"}}}};
  out["operators"] = listed(evidence.operators, [](const Operator& each) {
    return Json{{"name", each.name},
                {"op", each.op},
                {"pytorch_seconds", each.seconds},
                {"covered", each.covered},
                {"by", each.covered_by}};
  });
  if (evidence.change) {
    const Change& change = *evidence.change;
    out["change"] = {{"identical", change.identical},
                     {"lines_added", change.added},
                     {"lines_removed", change.removed},
                     {"kernels_changed", change.changed},
                     {"kernels_new", change.fresh},
                     {"kernels_gone", change.gone},
                     {"hottest_before", change.hottest},
                     {"asked_for", change.feedback.asks},
                     {"places_named", change.feedback.places},
                     {"before", {{"run", run_json(change.before_run)}, {"code", code_json(change.before)}}}};
  }
  return out;
}

}  // namespace stitch::rubric
