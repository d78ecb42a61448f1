#include "agents/llm/region_brief.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "code/catalogue.h"
#include "code/model_lines.h"
#include "code/names.h"
#include "code/rewritten.h"
#include "code/written.h"
#include "llm/answers.h"
#include "notes/note.h"

namespace stitch::agents {

namespace {

struct Spelling {
  Op op;
  std::string_view pytorch;  // "{}": the number of spatial dimensions
};
// Where it is not torch.NAME. Ops without one function of PyTorch's keep the graph's name.
constexpr std::array spellings = {
    Spelling{Op::gelu, "F.gelu"},
    Spelling{Op::silu, "F.silu"},
    Spelling{Op::mish, "F.mish"},
    Spelling{Op::softplus, "F.softplus"},
    Spelling{Op::elu, "F.elu"},
    Spelling{Op::leaky_relu, "F.leaky_relu"},
    Spelling{Op::hardsigmoid, "F.hardsigmoid"},
    Spelling{Op::hardswish, "F.hardswish"},
    Spelling{Op::is_nan, "torch.isnan"},
    Spelling{Op::is_inf, "torch.isinf"},
    Spelling{Op::cast, "torch.Tensor.to"},
    Spelling{Op::shift_left, "torch.bitwise_left_shift"},
    Spelling{Op::shift_right, "torch.bitwise_right_shift"},
    Spelling{Op::linear, "F.linear"},
    Spelling{Op::conv, "F.conv{}d"},
    Spelling{Op::conv_transpose, "F.conv_transpose{}d"},
    Spelling{Op::max_pool, "F.max_pool{}d"},
    Spelling{Op::avg_pool, "F.avg_pool{}d"},
    Spelling{Op::adaptive_max_pool, "F.adaptive_max_pool{}d"},
    Spelling{Op::adaptive_avg_pool, "F.adaptive_avg_pool{}d"},
    Spelling{Op::resize, "F.interpolate"},
    Spelling{Op::attention, "F.scaled_dot_product_attention"},
    Spelling{Op::batch_norm, "F.batch_norm"},
    Spelling{Op::layer_norm, "F.layer_norm"},
    Spelling{Op::group_norm, "F.group_norm"},
    Spelling{Op::rms_norm, "F.rms_norm"},
    Spelling{Op::pad, "F.pad"},
    Spelling{Op::expand, "torch.Tensor.expand"},
    Spelling{Op::strided_view, "torch.as_strided"},
    Spelling{Op::iota, "torch.arange"},
    Spelling{Op::grouped_matmul, "grouped_matmul"},
    Spelling{Op::rnn, "rnn"},
    Spelling{Op::slice, "slice"},
    Spelling{Op::update_slice, "update_slice"},
    Spelling{Op::index, "index"},
};

// "%conv1.weight" is conv1_weight.
std::string python_name(const Graph& graph, ValueId id) {
  return id == ValueId::none ? "None" : code::identifier(graph[id].name);
}

// What notes on it are called: operators' own names lead to other subjects ("conv" to transposed ones).
std::string_view subject_of(plan::Kind kind) {
  switch (kind) {
    case plan::Kind::product: return "product tensor cores mma tiles";
    case plan::Kind::convolution: return "implicit gemm tensor cores channels";
    case plan::Kind::attention: return "flash attention online softmax tensor cores";
    case plan::Kind::recurrence: return "persistent recurrences";
    case plan::Kind::loop:
    case plan::Kind::any: break;
  }
  return "";
}
std::string_view subject_of(Limit limit) {
  switch (limit) {
    case Limit::at_floor:
    case Limit::launches: return "prologue epilogue fusion";
    case Limit::conversions: return "channels last layout";
    case Limit::memory: return "vectorised loads bytes in flight";
    case Limit::arithmetic: return "tensor cores pipeline";
  }
  return "";
}

// By what it computes and by what limits it.
std::string notes_text(const Situation& now, const LlmBrain& brain, const plan::Plan& plan,
                       const plan::Region& region) {
  if (!brain.notes) return "none\n";
  const Graph& graph = now.context.graph;
  std::string subject(subject_of(plan::kind_of(graph, region)));
  if (subject.empty())
    for (int32_t n : region.nodes)
      if (const OpInfo& op = info(graph.node(n).op);
          op.family != Family::pointwise && op.family != Family::view && op.family != Family::create)
        subject += std::string(op.name) + " ";
  const Limit limit = limit_of(now.context, plan, region, time_of(now, plan, region).seconds);
  const auto within = notes::architecture_named(now.context.gpu.architecture.name);
  std::string out;
  std::set<const notes::Note*> seen;
  for (const std::string& question : {subject, std::string(subject_of(limit))}) {
    size_t left = 2;
    for (const notes::Hit& hit : notes::search(*brain.notes, question, 4, within ? *within : std::string()))
      if (left > 0 && out.size() < share_of_prompt(brain, 0.1) && seen.insert(hit.note).second) {
        out += format("### {}\nWhen: {}\n{}\n", hit.note->title, hit.note->when, hit.note->body);
        --left;
      }
  }
  return out.empty() ? "none\n" : out;
}

std::string present_source(const plan::Region& region, const code::RegionRequest& request) {
  if (region.source) return region.source->text;
  if (region.technique->takes_source()) return "none: it has not been written yet\n";
  auto code = code::technique_of(region).write(request);
  if (!code) return code.error().message;
  std::string out = code->includes + code->source;
  for (const code::Member& member : code->members)
    out += format("\n// {} is a {}, made once when the program is created:\n{}\n", member.name, member.type,
                  member.create);
  return out;
}

const plan::Source* source_in(const Draft& draft, const std::string& region) {
  auto found = std::ranges::find(draft.plan.regions, region, &plan::Region::name);
  return found == draft.plan.regions.end() ? nullptr : found->source.get();
}

// The function to define, with what the source to start from declares.
std::string required_now(const Situation& now, const std::string& region,
                         const code::RegionRequest& request) {
  const plan::Source* source =
      now.base < 0 ? nullptr : source_in(*now.siblings[static_cast<size_t>(now.base)].draft, region);
  return code::required_function(request, source ? *source : plan::Source());
}

}  // namespace

std::string pytorch_name(Op op, size_t spatial) {
  auto other = std::ranges::find(spellings, op, &Spelling::op);
  std::string out =
      other != spellings.end() ? std::string(other->pytorch) : "torch." + std::string(info(op).name);
  if (const size_t at = out.find("{}"); at != std::string::npos) out.replace(at, 2, std::to_string(spatial));
  return out;
}

std::string region_in_pytorch(const Graph& graph, const plan::Region& region) {
  std::string out;
  for (const std::string& line : code::model_lines(graph, region)) out += "# " + line + "\n";
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    const size_t rank = graph.type(node.results[0]).shape.size(), spatial = rank > 2 ? rank - 2 : 0;
    std::vector<std::string> results, arguments;
    for (ValueId id : node.results) results.push_back(python_name(graph, id));
    for (ValueId id : node.operands) arguments.push_back(python_name(graph, id));
    for (const auto& [key, value] : node.attributes) arguments.push_back(format("{}={}", key, text(value)));
    out += format("{} = {}({})  # {}\n", join(results, ", "), pytorch_name(node.op, spatial),
                  join(arguments, ", "), text(graph.type(node.results[0])));
  }
  return out;
}

std::string hardware_text(const GpuSpec& gpu) {
  return format(
      "{} ({}): {} multiprocessors, at most {} of shared memory per block, {} registers per multiprocessor, "
      "L2 {}, "
      "{:.2f} TB/s copy bandwidth, FP32 {:.0f} TFLOP/s, fp16 tensor cores {:.0f} TFLOP/s, about {} per "
      "kernel inside a CUDA graph",
      gpu.name, gpu.architecture.name, gpu.sms, bytes_text(static_cast<double>(gpu.shared_per_block)),
      gpu.registers_per_sm, bytes_text(gpu.l2), gpu.bandwidth * 1e-12, gpu.fp32 * 1e-12,
      gpu.tensor_fp16 * 1e-12, seconds_text(gpu.kernel_overhead));
}

std::string numerics_text(Numerics numerics) {
  switch (numerics) {
    case Numerics::strict: return "strict: as accurate as PyTorch in FP32 without TF32";
    case Numerics::standard:
      return "default: the error against float64 at most twice PyTorch's (TF32 in convolutions, FP32 in "
             "products)";
    case Numerics::tf32:
      return "tf32: the error against float64 at most twice PyTorch's with TF32 everywhere";
    case Numerics::half: return "half: the error against float64 at most twice PyTorch's autocast";
  }
  return "";
}

std::string feedback_text(const Feedback& feedback) {
  std::string out = format("Outcome: {}.\n", name(feedback.outcome));
  if (feedback.report) {
    out += llm::quoted(format("gate {}", feedback.report->gate), feedback.report->summary);
    if (feedback.report->evidence && !feedback.report->evidence->empty())
      out += llm::quoted_json("evidence", *feedback.report->evidence, 12000);
  }
  if (!feedback.suggestion.empty()) out += llm::quoted("suggestion", feedback.suggestion);
  return out;
}

std::string siblings_text(const Situation& now, const std::string& region) {
  if (now.siblings.empty()) return "none\n";
  std::string out;
  for (size_t i = 0; i < now.siblings.size(); ++i) {
    const Sibling& each = now.siblings[i];
    out += format("- try {}: {}", i + 1, name(each.feedback.outcome));
    if (each.seconds > 0) out += format(", {} a call", seconds_text(each.seconds));
    if (each.feedback.report) out += format(" ({})", shorten(printable(each.feedback.report->summary), 200));
    out += '\n';
    if (each.draft)
      for (const std::string& refused : each.draft->refused_changes)
        out += format("  a change that can't be made: {}\n", shorten(printable(refused), 400));
  }
  if (now.base < 0) return out;
  const Draft& base = *now.siblings[static_cast<size_t>(now.base)].draft;
  if (const plan::Source* source = source_in(base, region))
    out += llm::quoted(format("source of try {}, to start from", now.base + 1), source->text,
                       code::is_graph(source->text) ? "graph" : "cuda");
  if (!base.changes.empty())
    out += llm::quoted(format("changes of the plan in try {}", now.base + 1), base.changes, "json");
  return out;
}

Result<RegionBrief> brief_of(const Situation& now, const plan::Plan& plan, const std::string& region,
                             const Proposal& step, const LlmBrain& brain) {
  auto found = std::ranges::find(plan.regions, region, &plan::Region::name);
  if (found == plan.regions.end())
    return user_error("plan", format("no region '{}' to write", shorten(printable(region), 60)));
  STITCH_TRY(std::vector<code::RegionRequest> requests, code::requests_of(now.context, plan));
  const code::RegionRequest& request = requests[static_cast<size_t>(found - plan.regions.begin())];
  const Graph& graph = now.context.graph;
  const std::string present = present_source(*found, request);
  RegionBrief out{.region = region, .function = code::required_name(request), .values = {}};
  out.values = {
      // First what other regions' prompts have, too: servers keep what prompts begin with.
      {"contract", code::contract_of_written(request) + "Its tensors:\n" + code::describe_places(request)},
      {"function_signature", required_now(now, region, request)},
      {"subgraph_pytorch", llm::quoted("the region in PyTorch", region_in_pytorch(graph, *found), "python")},
      {"subgraph_text", llm::quoted("the region as a graph", code::graph_of_region(request), "graph")},
      {"builtin_source", llm::quoted("the current code", present, "cuda", share_of_prompt(brain, 0.25))},
      {"facts", facts_of(now, plan, *found)},
      {"choices", choices_of(now.context, plan, *found, code::catalogue())},
      {"notes", notes_text(now, brain, plan, *found)},
      {"feedback", now.siblings.empty() ? "none\n" : feedback_text(now.siblings.back().feedback)},
      {"siblings", siblings_text(now, region)},
      {"hardware", hardware_text(now.context.gpu)},
      {"numerics", numerics_text(now.context.numerics)},
      {"idea", step.idea.empty() ? "none" : llm::quoted("the Planner's idea", step.idea)},
  };
  return out;
}

}  // namespace stitch::agents
