// Each region alone: it gets what it would get inside the program, rounded as its contract says, and must
// give what the oracle makes of exactly that. No error of one region hides in another's, and an output
// that says little end to end can't hide anything.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "verify/adequacy/told_apart.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/gates/region_questions.h"
#include "verify/numerics/discontinuity.h"
#include "verify/numerics/judge.h"
#include "verify/numerics/layout.h"

namespace stitch::verifier {

namespace {

using oracle::Tensor;

class RegionCheck {
 public:
  RegionCheck(Session& session, Attempt& attempt, const std::vector<ManifestRegion>& list)
      : session_(session), attempt_(attempt), graph_(session.task.graph), list_(list) {}

  // A region whose check proves nothing; empty: none.
  const std::string& weak() const { return weak_; }

  Result<void> run(const RegionQuestion& question, Json& evidence) {
    const ManifestRegion& region = list_[question.region];
    STITCH_TRY(Tensors outputs, call(region, question));
    for (size_t i = 0; i < question.writes.size(); ++i)
      STITCH_CHECK(judge(region, question, i, outputs[i], evidence));
    // Of jumps an honest program may lie on either side.
    if (session_.adequacy && !has_discontinuity(graph_, region.nodes))
      STITCH_CHECK(session_.adequacy->take_region(question.known, nodes_of(graph_, region), question.writes,
                                                  question.expected, question.judging));
    return {};
  }

 private:
  Result<Tensors> call(const ManifestRegion& region, const RegionQuestion& question) {
    STITCH_TRY(int set, attempt_.place(question.inputs));
    std::vector<TensorType> types;
    for (const Slot& slot : region.writes) types.push_back(slot.stored());
    runner::CallOptions options{.region = static_cast<int>(question.region), .poison = session_.next_seed()};
    STITCH_TRY(runner::Called called,
               or_found(attempt_.candidate().call(set, types, options), "region '" + region.name + "' ran"));
    if (!called.damage.empty())
      return found("out_of_bounds",
                   format("region '{}' wrote past its tensors: {}", region.name, called.damage));
    STITCH_TRY(Tensors outputs, attempt_.fetch(types));
    STITCH_CHECK(attempt_.drop(set));
    return outputs;
  }

  Result<void> judge(const ManifestRegion& region, const RegionQuestion& question, size_t i,
                     const TensorBytes& stored, Json& evidence) {
    const Slot& slot = region.writes[i];
    const Tensor& expected = question.expected[i];
    const Judging& judging = question.judging[i];
    const std::string_view where = text(question.asked);
    std::vector<std::byte> logical = from_storage(slot, stored.bytes);
    TensorBytes got{{slot.type.dtype, slot.type.shape, {}}, logical};
    DType dtype = expected.floating() ? DType::f64 : expected.dtype();
    STITCH_TRY(std::vector<std::byte> exact, exact_bytes(slot, expected));
    Comparison comparison = compare(got, {{dtype, expected.shape(), {}}, exact}, nullptr, judging);
    if (!comparison.passed && has_discontinuity(graph_)) {
      STITCH_TRY(comparison, across(question.known, slot, got, {{dtype, expected.shape(), {}}, exact},
                                    judging, comparison));
    }
    Json record = to_json(comparison);
    record["region"] = region.name;
    record["value"] = slot.value;
    if (!where.empty()) record["asked"] = where.substr(1);
    evidence["regions"].push_back(std::move(record));
    if (comparison.passed) {
      // Two more comparisons of everything, which matter only where the whole program proved nothing.
      if (where.empty() && !session_.unproven.empty())
        note_weakness(region, slot, question.known, {{dtype, expected.shape(), {}}, exact}, judging);
      return {};
    }
    return found(error_code::region_wrong, format("region '{}' alone gives a wrong '{}'{}: {}", region.name,
                                                  slot.value, where, comparison.reason));
  }

  // In float64, but for what the task's own fp16 can't hold: that is infinite in PyTorch, too.
  Result<std::vector<std::byte>> exact_bytes(const Slot& slot, const Tensor& expected) const {
    if (!expected.floating()) return expected.to_bytes(expected.dtype());
    if (graph_.type(graph_.find(slot.value)).dtype != DType::f16) return expected.to_bytes(DType::f64);
    STITCH_TRY(const Tensor narrow,
               Tensor::from_bytes(DType::f16, expected.shape(), expected.to_bytes(DType::f16)));
    Tensor exact(DType::f64, expected.shape());
    const double *rounded = narrow.data<double>(), *wide = expected.data<double>();
    for (int64_t e = 0; e < expected.elements(); ++e)
      exact.writable<double>()[e] = std::isinf(rounded[e]) ? rounded[e] : wide[e];
    return exact.to_bytes(DType::f64);
  }

  // Right all the same, where operands lie within rounding of a jump?
  Result<Comparison> across(const oracle::Known& known, const Slot& slot, const TensorBytes& got,
                            const TensorBytes& exact, const Judging& judging, const Comparison& before) {
    const ValueId id = graph_.find(slot.value);
    STITCH_TRY(auto variants,
               across_jumps(graph_, known, std::span(&id, 1), judging.numerics, session_.seed));
    std::vector<Tensor> others;
    for (std::vector<Tensor>& variant : variants) others.push_back(std::move(variant[0]));
    int64_t count = 0;
    const std::vector<std::byte> truth = truth_at_jumps(got, exact, others, before.largest_allowed, count);
    Comparison again = compare(got, {exact.type, truth}, nullptr, judging);
    again.at_jumps = count;
    return again.passed ? again : before;
  }

  // Would zeros, or something that the region reads, have passed without being exactly right?
  void note_weakness(const ManifestRegion& region, const Slot& result, const oracle::Known& known,
                     const TensorBytes& exact, const Judging& judging) {
    if (!is_floating(exact.type.dtype) || !weak_.empty()) return;
    if (distance(exact, exact).says_nothing()) weak_ = region.name;
    auto tell = [&](const TensorBytes& imitation) {
      const Comparison comparison = compare(imitation, exact, nullptr, judging);
      if (comparison.passed && comparison.own.error > 0) weak_ = region.name;
    };
    const std::vector<std::byte> zeros(exact.bytes.size());
    tell({exact.type, zeros});
    for (const Slot& slot : region.reads) {
      auto found = known.find(graph_.find(slot.value));
      if (slot.value == result.value || found == known.end() || found->second.shape() != exact.type.shape ||
          !found->second.floating())
        continue;
      const std::vector<std::byte> bytes = found->second.to_bytes(DType::f64);
      tell({exact.type, bytes});
    }
  }

  Session& session_;
  Attempt& attempt_;
  const Graph& graph_;
  const std::vector<ManifestRegion>& list_;
  std::string weak_;
};

// Where the whole program has already shown what it is worth the oracle gets a few seconds, where it could
// not, more. They are the machine's own where questions are put together while the program is built.
constexpr std::chrono::seconds usual_time{5}, time_for_weak_tasks{6};

Passed too_long(Session& session, double seconds) {
  if (session.weak)
    session.notes.push_back(
        "the task is weak and too large for the oracle: only the reparameterised weights prove something");
  return skipped(format("on the CPU the first region takes {}, and the task is {}", seconds_text(seconds),
                        session.weak ? "weak" : "not weak"));
}

// Weights that make every input and parameter matter.
Weights weights_for_regions(const Session& session) {
  return session.task.signature.parameters.empty() ? Weights::task : Weights::reparameterised;
}

Result<void> prepare(Reference& reference, const Signature& signature, Weights weights, uint64_t seed,
                     RegionQuestions& questions) {
  STITCH_TRY(Tensors inputs, reference.draw({weights, "task", seed}));
  STITCH_TRY(Tensors parameters, reference.parameters(weights));
  STITCH_CHECK(questions.take(signature.parameters, parameters));
  return questions.take(signature.inputs, inputs);
}

std::unique_ptr<RegionQuestions> region_questions(Session& session, const std::vector<ManifestRegion>& list,
                                                  std::chrono::duration<double> limit, bool besides) {
  return std::make_unique<RegionQuestions>(session.task, list, session.options.numerics, limit,
                                           session.next_seed(), besides);
}

struct Checked {
  Passed passed;
  bool all = false;  // every region, and each of them says something
};

}  // namespace

std::function<void(Reference&)> region_questions_ahead(Session& session) {
  auto package = load_package(session.options.program);
  if (!package || package->manifest.regions.empty() || session.options.quick) return [](Reference&) {};
  auto questions =
      region_questions(session, package->manifest.regions, time_for_weak_tasks, !session.large());
  if (questions->seconds_of(0) > questions->limit()) return [](Reference&) {};
  session.region_questions = std::make_shared<RegionQuestionsAhead>(std::move(questions));
  return [ahead = session.region_questions, &signature = session.task.signature,
          weights = weights_for_regions(session), seed = session.next_seed()](Reference& reference) {
    ahead->begin(
        [&](RegionQuestions& questions) { return prepare(reference, signature, weights, seed, questions); });
  };
}

std::string wrong_region(Session& session) {
  const std::vector<ManifestRegion>& list = session.manifest.regions;
  auto look = [&]() -> Result<void> {
    STITCH_TRY(std::shared_ptr<Attempt> attempt, Attempt::of(session, Weights::task));
    auto questions = region_questions(session, list, usual_time, false);
    STITCH_CHECK(
        prepare(session.reference, session.task.signature, Weights::task, session.next_seed(), *questions));
    RegionCheck check(session, *attempt, list);
    Json evidence;
    for (;;) {
      STITCH_TRY(std::optional<RegionQuestion> question, questions->next());
      if (!question) return {};
      const std::string& name = list[question->region].name;
      session.progress("which region is wrong: " + name);
      if (auto right = check.run(*question, evidence); !right)
        return user_error(
            right.error().code == error_code::region_wrong ? error_code::region_wrong : "unknown", name);
    }
  };
  auto looked = look();
  return !looked && looked.error().code == error_code::region_wrong ? looked.error().message : std::string();
}

namespace {

Result<Checked> regions_alone(Session& session, Json& evidence) {
  const std::vector<ManifestRegion>& list = session.manifest.regions;
  if (list.empty()) return Checked{skipped("the program names no regions")};
  if (session.options.quick) return Checked{skipped("quick checks only")};
  if (!session.has_the_form()) return Checked{skipped("the graph has another form at these sizes")};
  const Weights weights = weights_for_regions(session);
  std::shared_ptr<RegionQuestionsAhead> ahead = std::exchange(session.region_questions, nullptr);
  if (ahead && ahead->questions().regions() != list) ahead.reset();
  std::unique_ptr<RegionQuestions> here;
  if (!ahead) {
    here = region_questions(session, list, session.weak ? time_for_weak_tasks : usual_time, !session.large());
    if (double first = here->seconds_of(0); first > here->limit()) return Checked{too_long(session, first)};
    STITCH_CHECK(prepare(session.reference, session.task.signature, weights, session.next_seed(), *here));
  }
  STITCH_TRY(std::shared_ptr<Attempt> attempt, Attempt::of(session, weights));
  RegionCheck check(session, *attempt, list);
  size_t done = 0, faint = 0, extreme = 0;
  for (;;) {
    STITCH_TRY(std::optional<RegionQuestion> question, ahead ? ahead->next() : here->next());
    if (!question) break;
    session.progress("region " + list[question->region].name);
    STITCH_CHECK(check.run(*question, evidence));
    ++(question->asked == RegionAsked::as_in_the_model ? done
       : question->asked == RegionAsked::faint         ? faint
                                                       : extreme);
  }
  std::string summary = counted(static_cast<int64_t>(done), "region") + " right alone";
  if (done < list.size())
    summary = format("{} of {} regions right alone in the time there was", done, list.size());
  if (faint) summary += format(", {} on faint rows too", faint);
  if (extreme) summary += format(", {} with extremes at the ends", extreme);
  if (!check.weak().empty() && !session.unproven.empty())
    session.notes.push_back(
        format("region '{}' alone proves little: its result is nearly what it is given", check.weak()));
  return Checked{Passed{summary}, done == list.size() && check.weak().empty()};
}

}  // namespace

Result<Passed> regions(Session& session, Json& evidence) {
  for (size_t i = 0; i < session.proved.size() && session.unproven.empty(); ++i)
    if (!session.proved[i]) session.unproven = format("NaN for '{}'", session.task.signature.outputs[i].name);
  STITCH_TRY(Checked alone, regions_alone(session, evidence));
  // Of gigabytes fewer questions are asked.
  const bool measured = session.adequacy && !session.large();
  if (const std::string what = measured ? session.adequacy->untested() : ""; !what.empty())
    return found(std::string(inconclusive_code), what + ": it may be left out");
  if (session.unproven.empty() || session.options.quick) return alone.passed;
  if (alone.passed.skipped || !alone.all)
    return found(
        std::string(inconclusive_code),
        format("{} would have passed everything that was asked, and {}", session.unproven,
               alone.passed.skipped ? alone.passed.summary : "not every region could be checked alone"));
  return alone.passed;
}

}  // namespace stitch::verifier
