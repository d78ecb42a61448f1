// Right on inputs it has never seen: the task's own kind under fresh seeds, then kinds that the task never
// draws, then all of it again with weights that make every input and parameter matter.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error_codes.h"
#include "base/machine/fair_time.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "reference/inputs/boundaries.h"
#include "reference/inputs/draw.h"
#include "reference/inputs/fade.h"
#include "reference/inputs/pointed.h"
#include "reference/torch_reference.h"
#include "verify/adequacy/told_apart.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"
#include "verify/numerics/order_of_equals.h"

namespace stitch::verifier {

namespace {

std::string describe(const Question& question) {
  std::string text = format("inputs of kind '{}'", question.distribution);
  return question.weights == Weights::task ? text : format("{}, {} weights", text, name(question.weights));
}

struct Tally {
  int trials = 0, outside = 0, nan_lost = 0, spread = 0;
  double worst = 0;  // the largest error over its budget
  double error = 0, pytorch = 0;
  std::map<size_t, std::set<size_t>> seen;  // by output: hashes of what earlier trials got
};

void skip(Tally& tally, Json& evidence, const Question& question, std::string_view why) {
  ++tally.outside;
  evidence["trials"].push_back(
      {{"weights", name(question.weights)}, {"distribution", question.distribution}, {"skipped", why}});
}

// Bit by bit what an earlier trial got, on inputs that other results are right for. Few different values say
// nothing: mistakes leave zeros and NaNs, and masks and positions are often the same.
bool is_earlier_result(Tally& tally, size_t output, const TensorBytes& values) {
  constexpr size_t enough = 8;
  if (!is_floating(values.type.dtype)) return false;
  const std::string_view bytes(reinterpret_cast<const char*>(values.bytes.data()), values.bytes.size());
  const auto size = static_cast<size_t>(size_of(values.type.dtype));
  std::set<std::string_view> different;
  for (size_t at = 0; at < bytes.size() && different.size() < enough; at += size)
    different.insert(bytes.substr(at, size));
  if (different.size() < enough) return false;
  return !tally.seen[output].insert(std::hash<std::string_view>()(bytes)).second;
}

// The same of a held trial, whose outputs have no bytes here: an earlier trial's truth is asked instead.
Result<bool> is_right_for_earlier(const Session& session, size_t output, const TensorBytes& values) {
  for (const Trial& earlier : session.trials) {
    STITCH_TRY(Comparison comparison, judge_output(session, earlier, output, values));
    if (comparison.passed) return true;
  }
  return false;
}

// KernelBench draws inputs and weights as the task does, and looks at results alone.
bool asks_kernelbench(const Session& session, const Question& question) {
  return session.options.kernelbench_compatible && question.weights == Weights::task &&
         question.distribution == "task";
}

// Fast products (Strassen's, Winograd's, by Fourier transforms) add up what a plain one keeps apart, and a
// NaN or an infinity spreads: cuDNN's do. So do sums by group as differences of running sums.
bool may_spread(const Session& session, const Trial& trial) {
  return trial.question.distribution == harsh::not_finite &&
         std::ranges::any_of(session.task.graph.nodes, [](const Node& node) {
           return is_product(node) || node.op == Op::scatter || node.op == Op::index_put;
         });
}

// The outputs.
Result<Tensors> check_trial(Session& session, Attempt& attempt, const Trial& trial, Tally& tally,
                            Json& evidence) {
  STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed()}));
  Json record = {{"weights", name(trial.question.weights)},
                 {"distribution", trial.question.distribution},
                 {"seed", format("{:016x}", trial.question.seed)},
                 {"outputs", Json::array()}};
  std::optional<Error> wrong;
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
    Json output = to_json(comparison);
    output["name"] = session.task.signature.outputs[i].name;
    if (asks_kernelbench(session, trial.question) && (trial.held || trial.pytorch.size() > 0) &&
        i < session.task.graph.outputs.size()) {
      STITCH_TRY(KernelBenchCheck check, judge_as_kernelbench(session, trial, i, observed.outputs[i]));
      output["kernelbench"] = {{"passed", check.passed}, {"outside", check.outside}};
      if (!check.passed && !wrong)
        wrong = found("kernelbench", format("KernelBench's allclose rejects {:.2f} % of '{}'",
                                            100 * check.outside, session.task.signature.outputs[i].name));
    }
    record["outputs"].push_back(output);
    bool earlier =
        observed.called.earlier_result || (!trial.held && is_earlier_result(tally, i, observed.outputs[i]));
    if (comparison.own.relative() >= tally.error) tally.error = comparison.own.relative();
    if (comparison.pytorch) tally.pytorch = std::max(tally.pytorch, comparison.pytorch->relative());
    if (comparison.own.nan_lost > 0 && tally.nan_lost++ == 0)
      session.notes.push_back(format("NaN in its inputs is lost on the way to '{}', where PyTorch has NaN",
                                     session.task.signature.outputs[i].name));
    if (comparison.passed) continue;
    if (trial.held && !earlier) {
      STITCH_TRY(earlier, is_right_for_earlier(session, i, observed.outputs[i]));
    }
    if (earlier) {
      wrong = found("stale", format("output '{}' on {} is the result of an earlier call",
                                    session.task.signature.outputs[i].name, describe(trial.question)));
      continue;
    }
    bool lost = comparison.own.not_finite > 0;
    if (lost && may_spread(session, trial)) {
      if (tally.spread++ == 0)
        session.notes.push_back(
            format("what isn't finite in its inputs spreads to elements of '{}' that are finite in PyTorch",
                   session.task.signature.outputs[i].name));
      continue;
    }
    wrong = found(lost ? "not_finite" : error_code::wrong,
                  format("output '{}' on {}: {}", session.task.signature.outputs[i].name,
                         describe(trial.question), comparison.reason));
  }
  evidence["trials"].push_back(std::move(record));
  ++tally.trials;
  if (!observed.called.damage.empty())
    return found("out_of_bounds", format("it wrote past its tensors: {}", observed.called.damage));
  if (wrong) return *wrong;
  return std::move(observed.outputs);
}

bool has_weights(const Signature& signature) {
  return !signature.parameters.empty() ||
         std::ranges::any_of(signature.inputs, [](const ManifestTensor& t) { return t.role == "state"; });
}

// A recurrence forgets: the first steps are less than rounding beside the last ones. A loop that was unrolled
// shows by its slices. Not where matrices are multiplied: what is left of the first steps is less than halves
// can hold, and honest programs multiply in halves.
bool goes_step_by_step(const Graph& graph, int64_t dimension) {
  constexpr int unrolled = 8;
  std::map<ValueId, int> slices;
  bool steps = false;
  for (const Node& node : graph.nodes) {
    if (is_product(node)) return false;
    if (node.op == Op::slice && node.attributes.integer("dim") == dimension)
      steps |= ++slices[node.operands[0]] >= unrolled;
  }
  return steps;
}

uint64_t count_inputs(const Session& session, bool floating) {
  return static_cast<uint64_t>(
      std::ranges::count_if(session.task.signature.inputs, [&](const ManifestTensor& tensor) {
        return tensor.role == "input" && is_floating(tensor.type.dtype) == floating;
      }));
}

// Whether values that tasks never draw make a difference to this one.
bool matters(const Session& session, std::string_view kind) {
  const Graph& graph = session.task.graph;
  auto any = [&](auto&& is) { return std::ranges::any_of(graph.nodes, is); };
  auto one_of = [&](std::initializer_list<Op> ops) {
    return any([&](const Node& node) { return std::ranges::find(ops, node.op) != ops.end(); });
  };
  if (kind == harsh::large)
    return one_of({Op::exp, Op::expm1, Op::sinh, Op::cosh, Op::tanh, Op::sigmoid, Op::gelu, Op::silu,
                   Op::mish, Op::softplus, Op::elu, Op::logsumexp, Op::logcumsumexp, Op::softmax,
                   Op::log_softmax, Op::attention, Op::rnn});
  // Neighbours that halves can't tell apart, too: who puts them in order, or takes the largest?
  if (kind == harsh::offset)
    return one_of({Op::sort, Op::topk, Op::argmax, Op::argmin, Op::var, Op::norm, Op::batch_norm,
                   Op::layer_norm, Op::group_norm, Op::rms_norm}) ||
           (one_of({Op::mean, Op::sum}) && one_of({Op::sub}));
  // A sort leaves equal elements in any order, unless it is asked for theirs: what is made of that may
  // differ.
  if (kind == harsh::ties)
    return one_of({Op::argmax, Op::argmin, Op::max_pool, Op::adaptive_max_pool, Op::eq, Op::ne, Op::lt,
                   Op::le, Op::gt, Op::ge, Op::sign, Op::sort, Op::topk}) &&
           !makes_use_of_positions(graph);
  if (kind == harsh::zeros)
    return one_of({Op::div, Op::reciprocal, Op::sqrt, Op::rsqrt, Op::log, Op::pow, Op::clamp, Op::var,
                   Op::norm, Op::batch_norm, Op::layer_norm, Op::group_norm, Op::rms_norm});
  if (kind == harsh::ends)
    return one_of({Op::amax, Op::amin, Op::argmax, Op::argmin, Op::max_pool, Op::adaptive_max_pool,
                   Op::logsumexp, Op::logcumsumexp, Op::softmax, Op::log_softmax, Op::attention, Op::cummax,
                   Op::cummin}) ||
           (!has_product(graph) && one_of({Op::topk}));  // behind a product it chooses experts
  if (kind == harsh::low)
    return matters(session, harsh::ends) || any([](const Node& node) {
             return node.op == Op::scatter && node.attributes.text("reduce").starts_with("am");
           });
  if (kind == harsh::small) return one_of({Op::expm1, Op::log1p});
  if (kind == harsh::patches)
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{harsh::large, harsh::zeros, harsh::ends},
        [&](std::string_view other) { return matters(session, other); });
  if (kind == harsh::uneven) return count_inputs(session, true) > 1;
  // Masks of floats, too, which the reference tells from numbers.
  // What a model makes of a row that keeps nothing is a matter of how it computes, unless it looks for that.
  if (kind == harsh::empty_rows)
    return matters(session, harsh::masks) &&
           (one_of({Op::is_nan, Op::any}) || (one_of({Op::clamp, Op::maximum}) && one_of({Op::div})));
  if (kind == harsh::masks) return count_inputs(session, false) > 0 || count_inputs(session, true) > 1;
  if (kind == harsh::prefix) return goes_step_by_step(graph, 0);
  if (kind == harsh::inner_prefix) return goes_step_by_step(graph, 1);
  // Whether NaN is the largest of all is a question of taste.
  if (one_of({Op::argmax, Op::argmin, Op::sort, Op::topk, Op::cummax, Op::cummin})) return false;
  // What libraries make of NaN (cuDNN's ReLU and pooling) is not the author's doing: PyTorch's operators, and
  // those that its objects call, whatever its manifest says.
  return !session.python && std::ranges::none_of(session.built.imports, [](const std::string& symbol) {
    return symbol.starts_with("cudnn") || symbol.starts_with("cublas");
  });
}

// The seed says which (draw.h).
uint64_t ways_to_draw(const Session& session, std::string_view kind) {
  // One sees some twenty steps before its end: they end in each part of the sequence.
  if (kind == harsh::prefix || kind == harsh::inner_prefix) return parts;
  // Each of a few inputs is the large one once.
  if (kind == harsh::uneven) return std::min(parts, count_inputs(session, true));
  // All that can be changed, then one after the other.
  if (kind == harsh::masks)
    return std::min(parts, 1 + count_inputs(session, false) + count_inputs(session, true) / 2);
  // Below three numbers that a maximum may start at, and above a minimum's; honest products compute in
  // halves, which end at 65504.
  if (kind == harsh::low) return has_product(session.task.graph) ? 1 : 4;
  // Everywhere, in some samples, in some channels.
  return kind == harsh::offset ? 3 : 1;
}

// `few` of each sort where an answer is costly.
std::vector<Question> questions(Session& session, bool few) {
  std::vector<Question> list;
  // Two: whatever answers every question with the first one's result is found by a quick look, too.
  int seeds = few ? 1 : session.options.quick ? 2 : 3;
  if (session.options.kernelbench_compatible) seeds = kernelbench_trials;
  for (int i = 0; i < seeds; ++i) list.push_back({Weights::task, "task", session.next_seed()});
  if (session.options.remember_trials && session.options.ask_unseen)
    list.push_back({.seed = session.unseen_seed(), .once = true});
  if (session.options.quick) return list;
  const bool moves_all = !session.torch || !session.torch->holds_trials();
  // Zeros are equals, too, whose order is anyone's.
  const bool has_an_order = makes_use_of_positions(session.task.graph) && !has_product(session.task.graph);
  for (const std::string& distribution : session.reference.distributions()) {
    // Patches are a little of each harsh kind: of gigabytes that has to do.
    if (few && distribution != "normal" && distribution != harsh::patches) continue;
    if (has_an_order && (distribution == "sparse" || distribution == harsh::zeros)) continue;
    if (harsh::is_harsh(distribution) && !matters(session, distribution)) continue;
    if (distribution == harsh::not_finite && !moves_all) continue;
    for (uint64_t part = 0; part < ways_to_draw(session, distribution); ++part)
      list.push_back({Weights::task, distribution, session.next_seed() / parts * parts + part});
    // A patch may lie where a program samples.
    if (distribution == harsh::patches && !few)
      list.push_back({Weights::task, distribution, session.next_seed()});
  }
  for (const auto& [kind, planted] : boundaries_of(session.task.graph))
    if (!few || kind == harsh::bounds) list.push_back({Weights::task, kind, session.next_seed()});
  if (!has_weights(session.task.signature)) return list;  // the same questions once more
  if (session.python && few) return list;
  list.push_back({Weights::reparameterised, "task", session.next_seed()});
  if (!few) list.push_back({Weights::reparameterised, "normal", session.next_seed()});
  // Epsilons behind other layers, which no inputs reach by themselves.
  if (!few && matters(session, harsh::zeros) && moves_all)
    list.push_back({Weights::faint, std::string(harsh::zeros), session.next_seed()});
  // First steps that a recurrence forgets, and the last class of a softmax behind a layer.
  if (!pointed_weights(session.task.graph).empty())
    list.push_back({Weights::pointed, "task", session.next_seed()});
  if (!bounded_weights(session.task.graph).empty())
    list.push_back({Weights::bounded, "task", session.next_seed()});
  if (!few && !tail_weights(session.task.graph).empty())
    list.push_back({Weights::tails, "task", session.next_seed()});
  return list;
}

std::vector<Question> all_questions(Session& session, bool few) {
  std::vector<Question> list = questions(session, few);
  for (Question& question : list) {
    question.own = asks_kernelbench(session, question);
    question.pytorchs_numbers = session.draws_pytorchs_numbers();
  }
  return list;
}

// The sensitivity of a held trial is not measured: it counts where PyTorch's own
// error is about what it is for the task's inputs.
bool is_calm(const Session& session, const Trial& trial) {
  constexpr double about = 4, nothing = 1e-6;
  if (session.trials.empty() || !is_sound(trial)) return false;
  for (size_t i = 0; i < trial.truth.size(); ++i) {
    const auto usual = pytorch_distance(session.trials[0], i), here = pytorch_distance(trial, i);
    if (!usual || !here) return false;
    if (here->relative() > std::max(about * usual->relative(), nothing)) return false;
  }
  return true;
}

// By the weights that were asked about: which outputs a trial has proved.
using Proved = std::map<Weights, std::vector<bool>>;

void note_unproven(Session& session, const Proved& proved) {
  for (const auto& [weights, outputs] : proved) {
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i]) names.push_back(session.task.signature.outputs[i].name);
    if (!names.empty()) session.notes.push_back(unproven_with(weights, names));
  }
}

bool has_nan(const TensorBytes& tensor) {
  if (!is_floating(tensor.type.dtype)) return false;
  const std::vector<double> values = as_doubles(tensor);
  return std::ranges::any_of(values, [](double x) { return std::isnan(x); });
}

// The task's own weights, if what they lead to isn't finite.
Result<void> note_nan_weights(Session& session, const Trial& trial) {
  std::vector<std::string> reached, where;
  for (size_t i = 0; i < trial.truth.size(); ++i) {
    if (!is_floating(trial.truth[i].type.dtype)) continue;
    const std::optional<Distance> pytorch = pytorch_distance(trial, i);
    if ((pytorch ? *pytorch : distance(trial.truth[i], trial.truth[i])).scattered)
      reached.push_back(format("'{}'", session.task.signature.outputs[i].name));
  }
  if (reached.empty()) return {};
  STITCH_TRY(Tensors parameters, session.reference.parameters(Weights::task));
  const Signature& signature = session.task.signature;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (has_nan(parameters[i])) where.push_back(format("'{}'", signature.parameters[i].data));
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    if (signature.inputs[i].role == "state" && has_nan(trial.inputs[i]))
      where.push_back(format("'{}'", signature.inputs[i].data));
  if (!where.empty())
    session.notes.push_back(
        format("NaN among the task's weights, in {}: what it reaches of {} proves nothing", join(where, ", "),
               join(reached, ", ")));
  return {};
}

// Kinds that no rule asks of this task, where they tell mutants of its graph apart that nothing else did.
Result<void> ask_for_what_is_left(Session& session, const std::vector<Question>& asked, Tally& tally,
                                  Json& evidence) {
  if (!session.adequacy || session.large()) return {};
  std::shared_ptr<Attempt> attempt;
  Weights weights = Weights::task;
  for (const Question& question : more_questions(session, asked)) {
    const size_t left = session.adequacy->left();
    if (left == 0 || session.adequacy->is_exhausted()) break;
    session.progress("correctness: " + describe(question));
    Result<Trial> trial = session.reference.ask(question);
    if (!trial && trial.error().code == error_code::forward) continue;
    if (!trial) return trial.error();
    if (!trial->in_domain || trial->held) continue;
    STITCH_CHECK(session.adequacy->take(session, *trial, {}, false));
    if (session.adequacy->left() == left) continue;
    if (!attempt || question.weights != weights) {
      weights = question.weights;
      STITCH_TRY(attempt, Attempt::of(session, weights));
    }
    STITCH_TRY(Tensors outputs, check_trial(session, *attempt, *trial, tally, evidence));
  }
  // What lies inside the class's error shows by direction, over enough calm trials: few elements of bf16 take
  // dozens. Larger weights move what curves by more.
  constexpr int most_calm = 64;
  constexpr std::chrono::seconds most_time{1};
  FairTime time(most_time);
  for (int left = most_calm; left > 0 && session.adequacy->wants_directions(left); --left) {
    if (session.adequacy->is_exhausted() || !time.another()) break;
    const bool own = left % 4 == 0 || !session.takes_weights || !has_weights(session.task.signature);
    weights = own ? Weights::task : Weights::reparameterised;
    STITCH_TRY(attempt, Attempt::of(session, weights));
    STITCH_TRY(Trial trial, session.reference.ask({.weights = weights, .seed = session.next_seed()}));
    if (!trial.in_domain || trial.held) continue;
    STITCH_TRY(Tensors outputs, check_trial(session, *attempt, trial, tally, evidence));
    STITCH_CHECK(session.adequacy->take(session, trial, outputs));
  }
  return {};
}

// The model raises, or a mild kind of inputs takes it where it has no number for an answer.
bool is_beyond(const Result<Trial>& asked, const Question& question) {
  if (!asked) return asked.error().code == error_code::forward;
  return !asked->in_domain && !asked->held && !is_harsh(question) && !overflows(*asked);
}

constexpr std::chrono::seconds costly_answer{10};
// Of graphs' mutants (Adequacy): a second or two of one core.
constexpr double work_for_adequacy = 1e9;

// Trials that timing repeats are kept, unless they are huge.
constexpr int64_t kept_bytes = int64_t{4} << 30;

}  // namespace

std::vector<Question> questions_of(Session& session) { return all_questions(session, session.large()); }

std::vector<Question> more_questions(Session& session, const std::vector<Question>& asked) {
  // Nothing that is large: honest programs store in halves, and rules know where hundreds are fair.
  const std::set<std::string_view> mild = {"normal",     "shifted",    "scaled",    "sparse",
                                           "waves",      "positive",   "outliers",  harsh::ties,
                                           harsh::zeros, harsh::small, harsh::masks};
  std::vector<std::string> kinds;
  for (const auto& [kind, planted] : boundaries_of(session.task.graph))
    if (harsh::is_exact(kind)) kinds.push_back(kind);
  for (const std::string& kind : session.reference.distributions())
    if (mild.contains(kind)) kinds.push_back(kind);
  std::vector<Question> out;
  for (Weights weights : {Weights::reparameterised, Weights::task}) {
    if (weights != Weights::task && (!session.takes_weights || !has_weights(session.task.signature)))
      continue;
    for (const std::string& kind : kinds) {
      const bool known = std::ranges::any_of(asked, [&](const Question& question) {
        return question.weights == weights && question.distribution == kind;
      });
      if (!known) out.push_back({weights, kind, session.next_seed()});
    }
  }
  return out;
}

std::string unproven_with(Weights weights, const std::vector<std::string>& outputs) {
  std::vector<std::string> quoted;
  for (const std::string& name : outputs) quoted.push_back(format("'{}'", name));
  return format("unproven with {}: {}; PyTorch or float64 is not finite there, or PyTorch is far off",
                weights == Weights::task ? "the task's own weights" : format("{} weights", name(weights)),
                join(quoted, ", "));
}

Result<Passed> correctness(Session& session, Json& evidence) {
  evidence["trials"] = Json::array();
  if (session.gpu) {
    session.progress("correctness: waiting for memory of the GPU");
    STITCH_TRY(MachineShare share,
               take_gpu_memory(session.task.graph, session.task.signature, session.gpu->memory));
    session.share.emplace(std::move(share));
  }
  Tally tally;
  Proved proved;
  if (!session.options.quick && !session.draws_pytorchs_numbers())
    session.adequacy = std::make_shared<Adequacy>(session.task.graph, work_for_adequacy);
  session.proved.assign(session.task.signature.outputs.size(), false);
  std::shared_ptr<Attempt> attempt;
  Weights weights = Weights::task;
  int64_t kept = 0;
  std::vector<Question> list =
      session.questions.empty() ? questions_of(session) : std::exchange(session.questions, {});
  for (size_t next = 0; next < list.size(); ++next) {
    evidence["kinds"] = list.size();
    Question question = list[next];
    // Whom the program calls is known only now.
    if (question.distribution == harsh::not_finite && !matters(session, question.distribution)) continue;
    if (question.weights != Weights::task && question.weights != Weights::mixed && !session.takes_weights)
      continue;
    session.progress("correctness: " + describe(question));
    if (!attempt || question.weights != weights) {
      weights = question.weights;
      STITCH_TRY(attempt, Attempt::of(session, weights));
      if (has_weights(session.task.signature) && !attempt->has_given_weights()) {
        if (weights != Weights::mixed) list.push_back({Weights::mixed, "task", session.next_seed()});
        session.takes_weights = false;
        continue;
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    Result<Trial> asked = session.reference.ask(question);
    // A model may raise on what it doesn't draw itself: a logarithm's loss, a factorisation, another mask.
    const bool own = question.weights == Weights::task && question.distribution == "task";
    if (session.torch && question.distribution != "task" && is_beyond(asked, question)) {
      question.distribution += harsh::in_range;
      asked = session.reference.ask(question);
    }
    if (!asked && !own && asked.error().code == error_code::forward) {
      skip(tally, evidence, question, "the model itself raises there");
      continue;
    }
    STITCH_TRY(Trial trial, std::move(asked));
    const bool costly = std::chrono::steady_clock::now() - begin > costly_answer;
    if (next == 0 && costly && is_random(session.task.signature) && !question.pytorchs_numbers) {
      list = all_questions(session, true);
      session.notes.push_back("the oracle takes long for an answer: fewer kinds of inputs");
    }
    if (trial.held && is_harsh(question) && !is_calm(session, trial)) trial.in_domain = false;
    if (next == 0) STITCH_CHECK(note_nan_weights(session, trial));
    std::vector<bool>& proved_here = proved.try_emplace(question.weights, trial.truth.size()).first->second;
    if (!trial.in_domain) {
      skip(tally, evidence, question,
           overflows(trial)     ? "PyTorch itself overflows there"
           : is_harsh(question) ? "PyTorch itself is not right there"
                                : "the model's result is not finite there");
      continue;
    }
    STITCH_TRY(Tensors outputs, check_trial(session, *attempt, trial, tally, evidence));
    kept += trial.inputs.bytes() + trial.truth.bytes() + trial.pytorch.bytes();
    if (question.distribution == harsh::not_finite) continue;
    if (session.adequacy) STITCH_CHECK(session.adequacy->take(session, trial, outputs));
    for (size_t i = 0; i < proved_here.size(); ++i) {
      proved_here[i] = proved_here[i] || proves(trial, i);
      session.proved[i] = session.proved[i] || proved_here[i];
    }
    // Timed calls repeat what the task draws.
    const bool usual = weights == Weights::task && !harsh::is_harsh(question.distribution);
    std::vector<Trial>& keeper = usual ? session.trials : session.others;
    if (keeper.size() < 2 || kept < kept_bytes) keeper.push_back(std::move(trial));
  }
  if (!session.takes_weights)
    session.notes.push_back(format("its parameters are not the task's by name and shape: tried with {}",
                                   attempt->has_given_weights() ? "other numbers for gains and shifts alone"
                                                                : "the task's weights alone"));
  if (session.python) evidence["other_weights"] = session.takes_weights;
  attempt.reset();
  STITCH_CHECK(ask_for_what_is_left(session, list, tally, evidence));
  note_unproven(session, proved);
  if (const std::string mutant = session.adequacy ? session.adequacy->nearer_to_a_mutant() : "";
      !mutant.empty()) {
    const std::string seen =
        format("its outputs are nearer to those of the graph with {} than to the truth", mutant);
    // How far honest tensor cores lean one way has not been measured on a GPU yet.
    if (session.options.device == runner::Device::cuda)
      session.notes.push_back(seen);
    else
      return found(error_code::wrong, seen);
  }
  std::string summary =
      format("{}, worst relative error {:.1e}", counted(tally.trials, "trial"), tally.error);
  if (tally.pytorch > 0) summary += format(" (PyTorch {:.1e})", tally.pytorch);
  if (tally.outside) summary += format(", {} outside the model's domain", counted(tally.outside, "kind"));
  return Passed{summary};
}

}  // namespace stitch::verifier
