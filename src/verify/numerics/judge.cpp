#include "verify/numerics/judge.h"

#include <algorithm>
#include <numeric>

#include "base/bulk.h"
#include "graph/cost.h"
#include "reference/sensitivity.h"
#include "reference/torch_reference.h"
#include "verify/numerics/discontinuity.h"
#include "verify/numerics/order_of_equals.h"

namespace stitch::verifier {

std::string variance_beside(const Graph& graph, std::string_view mean) {
  for (const Node& node : graph.nodes)
    if (node.op == Op::batch_norm && node.results.size() == 3 && graph[node.results[1]].name == mean)
      return graph[node.results[2]].name;
  return "";
}

namespace {

double least_truth(const Session& session, const Trial& trial, size_t output) {
  const std::vector<ManifestTensor>& outputs = session.task.signature.outputs;
  if (outputs[output].role != "update") return 0;
  const std::string variance = variance_beside(session.task.graph, outputs[output].name);
  for (size_t i = 0; !variance.empty() && i < outputs.size(); ++i) {
    if (outputs[i].name != variance) continue;
    std::optional<Distance> known = pytorch_distance(trial, i);
    return least_truth_of_means(known ? *known : distance(trial.truth[i], trial.truth[i]));
  }
  return 0;
}

// How many numbers the longest sum of this node has, by and large: which dimension it goes along hardly
// matters here.
int64_t summands(const Graph& graph, const Node& node) {
  if (node.operands.empty() || node.operands[0] == ValueId::none) return 0;
  const TensorType& from = graph.type(node.operands[0]);
  const int64_t all = from.elements();
  auto each_of = [&](size_t axis) {
    return from.rank() > static_cast<int>(axis) ? all / std::max<int64_t>(1, from.shape[axis]) : all;
  };
  switch (node.op) {
    case Op::sum:
    case Op::mean:
    case Op::var:
    case Op::norm:
    case Op::logsumexp: return all / std::max<int64_t>(1, graph.type(node.results[0]).elements());
    case Op::softmax:
    case Op::log_softmax:
    case Op::cumsum:
    case Op::logcumsumexp: return from.shape.empty() ? 1 : std::ranges::max(from.shape);
    case Op::batch_norm: return each_of(1);
    case Op::layer_norm:
    case Op::group_norm:
    case Op::rms_norm: return each_of(0);
    default: return 0;
  }
}

// An honest FP32 sum of thousands of like numbers, one after the other, is off by more than 1e-5: 1.2e-5 were
// seen of 5000 exponentials. PyTorch's blocks of sums are closer, and no measure for it.
double floor_of(const Graph& graph) {
  constexpr double per_summand = 0x1p-28, most = 2e-5;
  int64_t longest = 0;
  for (const Node& node : graph.nodes) longest = std::max(longest, summands(graph, node));
  return std::clamp(per_summand * static_cast<double>(longest), Judging{}.floor, most);
}

}  // namespace

Judging judging_of(const Session& session, const Trial& trial, size_t output) {
  Judging judging{.numerics = session.options.numerics, .floor = floor_of(session.task.graph)};
  if (output < trial.sensitivity.size()) judging.sensitivity = trial.sensitivity[output];
  judging.least_truth = least_truth(session, trial, output);
  judging.not_finite = not_finite_of(trial.question);
  // Where weights are faint, biases are most of an output: PyTorch's own error is no measure for ten bits any
  // more (ResNet-18 on an H200: 4.0e-5 where PyTorch has 1.1e-5), and an epsilon shows by far more than this.
  constexpr double of_ten_bits = 1e-3;
  // So it is where a recurrence adds up what a hundred steps rounded, and what it forgets shows by more, too;
  // and where a shift of hundreds is stored in ten bits.
  const Weights weights = trial.question.weights;
  const bool far = weights == Weights::pointed || weights == Weights::bounded;
  if ((weights == Weights::faint || far) && judging.numerics != Numerics::strict) {
    judging.floor = std::max(judging.floor, of_ten_bits);
    // GoogLeNet on an H200: of a logit whose bias is next to nothing, fp16 leaves a third.
    judging.biases_prevail = weights == Weights::faint;
  }
  // Halves before a GELU leave a fiftieth of its tail, another form of it takes a fifth.
  if (is_in_tails(trial.question)) judging.floor = 0x1p-4;
  return judging;
}

namespace {

// The reference reads them in an arena: `ask` of their place.
template <class Ask>
auto in_an_arena(const Session& session, const TensorBytes& values, Ask ask)
    -> decltype(ask(runner::Place{})) {
  if (std::optional<int64_t> offset = session.torch->on_device(values.bytes))
    return ask(runner::Place{*offset, runner::Where::device});
  int64_t mark = session.arena.mark();
  std::optional<int64_t> offset = session.arena.offset_of(values.bytes);
  if (!offset) {
    STITCH_TRY(offset, session.arena.allocate(std::ssize(values.bytes)));
    copy_bulk(values.bytes, session.arena.bytes(*offset, std::ssize(values.bytes)).data());
  }
  auto answer = ask(runner::Place{*offset});
  session.arena.release_to(mark);
  return answer;
}

Result<Distance> distance_of_held(const Session& session, const Trial& trial, size_t output,
                                  const TensorBytes& values) {
  return in_an_arena(session, values, [&](runner::Place place) {
    return session.torch->distance_to(trial, output, values.type.dtype, place);
  });
}

// The oracle's, on the CPU: not where that would take long.
constexpr double most_flops = 2e9;
constexpr int64_t most_bytes = int64_t{1} << 27;

constexpr uint64_t most_draws = 8;

using Alternatives = std::vector<std::vector<oracle::Tensor>>;

// What float64 makes of the same inputs when every weight is off by as much as a result may be: of tokens
// whose experts nearly tie, some go elsewhere.
Result<Alternatives> with_moved_weights(const Session& session, const Trial& trial, double unit) {
  Alternatives out;
  for (uint64_t draw = 0; draw < most_draws; ++draw) {
    Question question = trial.question;
    question.moved_weights = unit;
    question.moved_by = draw;
    question.once = true;
    STITCH_TRY(const Trial moved, session.reference.ask(question));
    std::vector<oracle::Tensor>& outputs = out.emplace_back();
    for (const TensorBytes& tensor : moved.pytorch.tensors) {
      STITCH_TRY(oracle::Tensor one,
                 oracle::Tensor::from_bytes(tensor.type.dtype, tensor.type.shape, tensor.bytes));
      outputs.push_back(std::move(one));
    }
  }
  return out;
}

Result<std::shared_ptr<const Alternatives>> alternatives(const Session& session, const Trial& trial,
                                                         double unit) {
  const TaskGraph& task = session.task;
  if (trial.across_jumps) return trial.across_jumps;
  if (cost(task.graph).total.flops > most_flops) {
    if (trial.pytorch.size() == 0 || trial.truth.bytes() > most_bytes) return trial.across_jumps;
    STITCH_TRY(Alternatives made, with_moved_weights(session, trial, unit));
    trial.across_jumps = std::make_shared<const Alternatives>(std::move(made));
    return trial.across_jumps;
  }
  STITCH_TRY(Tensors parameters, session.reference.parameters(trial.question.weights));
  STITCH_TRY(oracle::Known known, oracle_values(task, parameters, trial.inputs));
  std::vector<ValueId> wanted = task.graph.outputs;
  for (const Update& update : task.graph.updates) wanted.push_back(update.value);
  STITCH_TRY(auto made,
             across_jumps(task.graph, known, wanted, session.options.numerics, trial.question.seed));
  trial.across_jumps = std::make_shared<const Alternatives>(std::move(made));
  return trial.across_jumps;
}

// Positions after a sort, of which equal elements may be in any order; the truth itself where it is none.
Result<std::vector<std::byte>> truth_of_positions(const Session& session, const Trial& trial, size_t output,
                                                  const TensorBytes& values, int64_t& count) {
  const Graph& graph = session.task.graph;
  const Node* node = output < graph.outputs.size() ? ordering_of(graph, graph.outputs[output]) : nullptr;
  if (!node || cost(graph).total.flops > most_flops) return std::vector<std::byte>();
  STITCH_TRY(Tensors parameters, session.reference.parameters(trial.question.weights));
  STITCH_TRY(oracle::Known known, oracle_values(session.task, parameters, trial.inputs));
  STITCH_TRY(auto ordered, oracle::evaluate(graph, known, std::span(&node->operands[0], 1)));
  // Each position by its own number: where it went from there.
  Ordering ordering{ordered[0], node->attributes.integer("dim"), graph.type(node->results[1]).shape, {}};
  oracle::Tensor numbers(DType::i64, ordering.shape);
  std::iota(numbers.writable<int64_t>(), numbers.writable<int64_t>() + numbers.elements(), int64_t{0});
  known.insert_or_assign(node->results[1], numbers);
  STITCH_TRY(auto places, oracle::evaluate(graph, std::move(known), std::span(&graph.outputs[output], 1)));
  if (places[0].floating()) return std::vector<std::byte>();
  ordering.places.assign(places[0].data<int64_t>(), places[0].data<int64_t>() + places[0].elements());
  return truth_among_equals(values, trial.truth[output], ordering, count);
}

// `known`: PyTorch's distance.
Result<Comparison> judge_by(const Session& session, const Trial& trial, size_t output,
                            const TensorBytes& values, const std::optional<Distance>& known) {
  if (!trial.counts(output)) return Comparison{.passed = true};
  const Judging judging = judging_of(session, trial, output);
  const TensorBytes* pytorch = known ? &trial.pytorch[output] : nullptr;
  Comparison comparison = compare(values, trial.truth[output], pytorch, judging, known ? &*known : nullptr);
  if (comparison.own.unequal > 0) {
    int64_t others = 0;
    STITCH_TRY(const std::vector<std::byte> truth,
               truth_of_positions(session, trial, output, values, others));
    if (others > 0) comparison = compare(values, {trial.truth[output].type, truth}, pytorch, judging);
  }
  if (comparison.passed || !has_discontinuity(session.task.graph)) return comparison;
  STITCH_TRY(auto others, alternatives(session, trial, comparison.budget));
  if (!others) return comparison;
  std::vector<oracle::Tensor> of_output;
  for (const std::vector<oracle::Tensor>& variant : *others) of_output.push_back(variant[output]);
  int64_t count = 0;
  const std::vector<std::byte> truth =
      truth_at_jumps(values, trial.truth[output], of_output, comparison.largest_allowed, count);
  if (count == 0) return comparison;
  Comparison again =
      compare(values, {trial.truth[output].type, truth}, pytorch, judging, known ? &*known : nullptr);
  again.at_jumps = count;
  return again.passed ? again : comparison;
}

// Another draw of the trial's kind.
Result<Trial> drawn_again(const Session& session, const Trial& trial, uint64_t number,
                          double moved_weights = 0) {
  Question question = trial.question;
  question.moved_weights = moved_weights;
  question.moved_by = number;
  question.seed += number * 0x9e37'79b9'7f4a'7c15;
  question.once = true;
  return session.reference.ask(question);
}

// PyTorch's distance on another draw.
Result<std::optional<Distance>> on_another_draw(const Session& session, const Trial& trial, size_t output,
                                                uint64_t number) {
  STITCH_TRY(Trial other, drawn_again(session, trial, number));
  std::optional<Distance> pytorch = pytorch_distance(other, output);
  if (!pytorch || !other.in_domain || pytorch->not_finite > 0) return std::optional<Distance>();
  pytorch->truth = std::max(pytorch->truth, least_truth(session, other, output));
  return pytorch;
}

// What rounding does to a softmax that nearly ties depends on where it falls, and one try says little of it:
// on harsh inputs PyTorch itself is near the truth in one draw (4.9e-3 of a decoder in bf16) and far off in
// the next (0.13).
Result<Comparison> judge_by_more_roundings(const Session& session, const Trial& trial, size_t output,
                                           const TensorBytes& values, Comparison comparison) {
  constexpr double little = 4;
  const Distance& own = comparison.own;
  if (comparison.passed || own.not_finite > 0 || own.unequal > 0) return comparison;
  const std::string_view kind = trial.question.distribution;
  if (trial.pytorch.size() > 0) {
    if (!harsh::is_harsh(kind) || harsh::is_exact(kind) || kind == harsh::not_finite) return comparison;
  } else if (output >= trial.sensitivity.size() || own.relative() > little * comparison.budget ||
             own.largest > little * comparison.largest_allowed ||
             cost(session.task.graph).total.flops > most_flops) {
    return comparison;
  }
  Trial moved = trial;
  moved.sensitivity.resize(trial.truth.size());
  for (uint64_t draw = 1; draw <= most_draws && !comparison.passed; ++draw) {
    STITCH_TRY(const std::vector<double> sensitivity, session.reference.movement(trial, draw));
    if (sensitivity[output] <= moved.sensitivity[output]) continue;
    moved.sensitivity[output] = sensitivity[output];
    STITCH_TRY(comparison, judge_by(session, moved, output, values, pytorch_distance(trial, output)));
  }
  return comparison;
}

// Strikes out what rounding explains, going by PyTorch on this trial, or by the oracle where there is none.
Result<void> strike_out_rounding(const Session& session, const Trial& trial, size_t output,
                                 std::vector<SmallSlice>& unsure) {
  const TaskGraph& task = session.task;
  const TensorBytes& truth = trial.truth[output];
  auto strike_out = [&](const TensorBytes& honest) {
    std::erase_if(unsure, [&](const SmallSlice& slice) { return is_rounding(slice, honest, truth); });
  };
  if (trial.pytorch.size() > 0) {
    strike_out(trial.pytorch[output]);
    return {};
  }
  STITCH_TRY(Tensors parameters, session.reference.parameters(trial.question.weights));
  STITCH_TRY(oracle::Known known, oracle_values(task, parameters, trial.inputs));
  std::vector<ValueId> wanted = task.graph.outputs;
  for (const Update& update : task.graph.updates) wanted.push_back(update.value);
  STITCH_TRY(auto rounded, rounded_everywhere(task.graph, std::move(known), std::span(&wanted[output], 1),
                                              session.options.numerics, trial.question.seed));
  const std::vector<std::byte> bytes = rounded[0].to_bytes(DType::f64);
  strike_out({truth.type, bytes});
  return {};
}

// A slice that is small by itself and one whose sums cancel look alike in one draw. Where they cancel,
// rounding leaves as much of an honest program's, in one draw or another; or with weights that are rounded
// otherwise, since theirs is the same in all draws: of GoogLeNet's thousand logits PyTorch has a few right by
// chance. Not asked on harsh inputs: rows of zeros are exact in a plain product, and rounding in Strassen's
// and by Fourier transforms.
Result<Comparison> judge_unsure(const Session& session, const Trial& trial, size_t output,
                                Comparison comparison) {
  const bool calm = !is_harsh(trial.question) && trial.question.weights != Weights::faint;
  const Graph& graph = session.task.graph;
  const bool costly = trial.pytorch.size() == 0 && cost(graph).total.flops > most_flops;
  if (!comparison.passed || !calm || costly) return comparison;
  const double unit = coarsest_rounding(graph, 0, graph.nodes.size(), session.options.numerics);
  for (uint64_t draw = 1; draw <= most_draws && !comparison.unsure.empty(); ++draw) {
    const bool by_weights = trial.pytorch.size() > 0 && draw > most_draws / 2;
    STITCH_TRY(Trial other, drawn_again(session, trial, draw, by_weights ? unit : 0));
    if (other.in_domain) STITCH_CHECK(strike_out_rounding(session, other, output, comparison.unsure));
  }
  if (comparison.unsure.empty()) return comparison;
  comparison.passed = false;
  comparison.reason = reason_of(comparison.unsure[0]) + " and where no sums cancel";
  return comparison;
}

}  // namespace

bool may_be_luck(const Comparison& comparison) {
  constexpr int64_t many_elements = 10'000;
  constexpr double little = 4;
  const Distance& own = comparison.own;
  return !comparison.passed && comparison.pytorch && own.elements <= many_elements && own.not_finite == 0 &&
         own.unequal == 0 && (own.relative() > comparison.budget || comparison.by_one_element) &&
         own.relative() <= little * comparison.budget && own.largest <= little * comparison.largest_allowed;
}

Distance no_better_than(Distance pytorch, const Distance& on_another_draw) {
  constexpr double amplified = 0.1;  // from there on more is allowed than this is about
  const double relative = std::min(on_another_draw.relative(), amplified);
  pytorch.error = std::max(pytorch.error, relative * pytorch.truth);
  if (on_another_draw.rms() > 0)
    pytorch.largest =
        std::max(pytorch.largest, on_another_draw.largest / on_another_draw.rms() * pytorch.rms());
  return pytorch;
}

Result<KernelBenchCheck> judge_as_kernelbench(const Session& session, const Trial& trial, size_t output,
                                              const TensorBytes& values) {
  const double tolerance = kernelbench_tolerance(values.type.dtype);
  if (!trial.held) return kernelbench_allclose(values, trial.pytorch[output], tolerance);
  STITCH_TRY(double outside, in_an_arena(session, values, [&](runner::Place place) {
               return session.torch->outside_of_own(trial, output, values.type.dtype, place, tolerance);
             }));
  return KernelBenchCheck{outside == 0, outside};
}

Result<Comparison> judge_at_once(const Session& session, const Trial& trial, size_t output,
                                 const TensorBytes& values) {
  return judge_by(session, trial, output, values, pytorch_distance(trial, output));
}

Result<Comparison> judge_output(const Session& session, const Trial& trial, size_t output,
                                const TensorBytes& values) {
  std::optional<Distance> known = pytorch_distance(trial, output), held;
  if (trial.held) {
    STITCH_TRY(held, distance_of_held(session, trial, output, values));
  }
  auto judged = [&]() -> Result<Comparison> {
    if (!held) return judge_by(session, trial, output, values, known);
    return conclude(*held, known, trial.truth[output].type, judging_of(session, trial, output));
  };
  STITCH_TRY(Comparison comparison, judged());
  // EfficientNet-B2 in training mode on an H200, variances of two samples each: 2.23e-4 in a draw on which
  // PyTorch's error allowed 2.20e-4.
  if (!held) {
    STITCH_TRY(comparison, judge_by_more_roundings(session, trial, output, values, std::move(comparison)));
  }
  if (!may_be_luck(comparison))
    return held ? comparison : judge_unsure(session, trial, output, std::move(comparison));
  known->truth = std::max(known->truth, least_truth(session, trial, output));
  for (uint64_t draw = 1; draw <= most_draws && !comparison.passed; ++draw) {
    STITCH_TRY(std::optional<Distance> other, on_another_draw(session, trial, output, draw));
    if (!other) continue;
    known = no_better_than(*known, *other);
    STITCH_TRY(comparison, judged());
  }
  return comparison;
}

Comparison judge_distance(const Session& session, const Trial& trial, size_t output, const Distance& own) {
  return conclude(own, pytorch_distance(trial, output), trial.truth[output].type,
                  judging_of(session, trial, output));
}

}  // namespace stitch::verifier
