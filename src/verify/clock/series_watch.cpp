#include "verify/clock/series_watch.h"

#include <algorithm>
#include <chrono>

#include "base/bulk.h"
#include "base/error_codes.h"
#include "reference/inputs/draw.h"
#include "verify/attempt.h"

namespace stitch::verifier {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int addresses_seen = 4;  // by the program
constexpr int zeros_of_all = 5, zeros_of_one = 15, longer_series = 6, series_of_one = 15;
constexpr double dear_draw = 4e-3;  // seconds: drawing hundreds of sets would take longer than all else
constexpr double seconds_to_judge = 0.5;
constexpr size_t least_judged = 4;
constexpr int least_compared = 8, compared_of_many = 8;  // calls of a series; one of so many of a long one
// Timed calls on other kinds of inputs than the task's: a program that is right there only while it is not
// timed is wrong. Where a draw is dear, fewer.
constexpr int most_planted = 64, most_dear_planted = 3, dear_series = 6;
constexpr int64_t most_kept_bytes = int64_t{256} << 20;
constexpr double around_a_python_call = 50e-6;  // seconds that the interpreter takes beside forward
constexpr uint64_t variations = uint64_t{1} << 20;

double quantile_of(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Result<void> SeriesWatch::prepare(runner::Candidate& candidate) {
  STITCH_CHECK(keeper_.connect(candidate));
  const int64_t mark = session_.arena.mark();
  std::vector<runner::TensorAt> inputs;
  for (const ManifestTensor& input : session_.task.signature.inputs) {
    runner::TensorAt at{{input.type.dtype, input.type.shape, {}}, -1};
    if (input.role == "state") {
      STITCH_TRY(Tensors state, find_tensors({input}, nullptr, session_.task.weights));
      STITCH_TRY(at.offset, session_.arena.allocate(input.type.bytes()));
      copy_bulk(state[0].bytes, session_.arena.bytes(at.offset, input.type.bytes()).data());
    }
    inputs.push_back(std::move(at));
  }
  std::vector<TensorType> outputs;
  for (const ManifestTensor& output : session_.task.signature.outputs)
    outputs.push_back({output.type.dtype, output.type.shape, {}});
  STITCH_CHECK(or_found(candidate.prepare_series(session_.large() ? 2 : addresses_seen, inputs, outputs),
                        "memory for timed calls was made"));
  session_.arena.release_to(mark);
  STITCH_CHECK(stage(1));
  for (int count : {1, shape_.slots}) STITCH_CHECK(once(candidate, count, false));
  return {};
}

Result<void> SeriesWatch::calibrate(runner::Candidate& candidate) {
  zero_of_one_.clear();
  zero_of_all_.clear();
  for (int i = 0; i < zeros_of_one; ++i) {
    STITCH_TRY(double seconds, once(candidate, 1, false));
    zero_of_one_.push_back(seconds);
  }
  for (int i = 0; i < zeros_of_all; ++i) {
    STITCH_TRY(double seconds, once(candidate, shape_.slots, false));
    zero_of_all_.push_back(seconds);
  }
  return {};
}

// From the first byte that is shown to the last that was read. The emulated GPU and its Python candidates
// work on the CPU: there it is the CPU time that the kernel charged the candidate's process, which doesn't
// depend on what else the machine does.
Result<double> SeriesWatch::once(runner::Candidate& candidate, int count, bool run) {
  const bool by_cpu_time = session_.options.device == runner::Device::emulated;
  const int64_t cpu_time = by_cpu_time ? candidate.cpu_time() : 0;
  const auto begin = Clock::now();
  STITCH_CHECK(keeper_.reveal(count));
  STITCH_CHECK(or_found(candidate.series(keeper_.slots(), {.count = count, .run = run}),
                        "calls ran one after the other"));
  STITCH_CHECK(keeper_.take(count));
  if (by_cpu_time) return static_cast<double>(candidate.cpu_time() - cpu_time) / 1e9;
  return since(begin);
}

Question SeriesWatch::question(const std::string& kind, uint64_t seed) const {
  return {.distribution = kind,
          .seed = seed,
          .once = true,
          .pytorchs_numbers = session_.draws_pytorchs_numbers()};
}

std::vector<Question> SeriesWatch::fresh_questions(int count) {
  std::vector<Question> out;
  for (int i = 0; i < count; ++i) {
    uint64_t seed = session_.unseen_seed();
    if (kind_ == "varied") seed = varied_base_ * variations + seed % variations;
    out.push_back(question(kind_, seed));
  }
  plant(out);
  return out;
}

// Of those kinds that were found to be in the model's domain, one among several calls.
void SeriesWatch::plant(std::vector<Question>& questions) {
  const bool dear = kind_ == "varied" || session_.large();
  if (questions.size() < 2 || planted_ >= (dear ? most_dear_planted : most_planted)) return;
  // Spread over all of the time, since the number of series is not known in advance.
  if (dear && random_() % dear_series != 0) return;
  std::vector<const Question*> kinds;
  for (const std::vector<Trial>* asked : {&session_.trials, &session_.others})
    for (const Trial& trial : *asked)
      if (trial.question.weights == Weights::task && trial.question.distribution != "task")
        kinds.push_back(&trial.question);
  if (kinds.empty()) return;
  if (planted_ == 0) first_kind_ = random_();
  const Question& known = *kinds[(first_kind_ + static_cast<size_t>(planted_++)) % kinds.size()];
  // Drawn in the same way: others of its kind may be outside of the domain.
  questions[random_() % questions.size()] =
      question(known.distribution, session_.unseen_seed() / parts * parts + known.seed % parts);
}

Result<void> SeriesWatch::stage(int count) {
  if (kind_ == "task" && draw_seconds_ > dear_draw && keeper_.can_vary()) {
    kind_ = "varied";
    varied_base_ = session_.unseen_seed() >> 24;  // 40 bits: what is left of 62 beside the variation
  }
  shown_ = fresh_questions(count);
  STITCH_TRY(draw_seconds_, keeper_.stage(shown_));
  return {};
}

Result<void> SeriesWatch::keep(int count, int wanted) {
  std::vector<int> order(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  std::ranges::shuffle(order, random_);
  std::ranges::stable_partition(order, [&](int slot) {
    return Kept{shown_[static_cast<size_t>(slot)], 0}.is_planted();
  });
  // Of gigabytes, one.
  const auto most =
      static_cast<size_t>(std::max<int64_t>(session_.large() ? 1 : static_cast<int64_t>(least_judged),
                                            most_kept_bytes / std::max<int64_t>(1, shape_.outputs_step)));
  for (int i = 0; i < std::min(count, wanted); ++i) {
    // One that was kept before may make room: every call has a chance, the last as the first.
    size_t place = kept_.size();
    if (place >= most) {
      place = random_() % most;
      if (random_() % 2 || kept_[place].suspect) continue;
    } else {
      kept_.push_back({{}, static_cast<int>(place)});
    }
    const int slot = order[static_cast<size_t>(i)];
    kept_[place].question = shown_[static_cast<size_t>(slot)];
    STITCH_CHECK(keeper_.keep(slot, kept_[place].number));
  }
  return {};
}

// Every timed call is compared with PyTorch's answer, as long as there is time for it. What no rounding
// explains is judged by float64, and so is the farthest of the others: leaving out a call now and then, or
// working in half precision in some of them, is found, however few are judged.
Result<void> SeriesWatch::keep_strange(int count) {
  const bool large = session_.large();
  const size_t enough = large ? 1 : 2;
  if (seconds_to_compare_ <= 0) return {};
  // Of gigabytes few are compared at all: some of the time is left for the last calls.
  if (large && seconds_to_compare_ < most_seconds_to_compare / 2 && random_() % 4 != 0) return {};
  // Others wait for the GPU meanwhile, and a sample is enough: a program that skips a twentieth of all calls
  // passes some hundred of them once in a hundred times, and gained a twentieth.
  const int most = std::max(least_compared, count / compared_of_many);
  const auto begin = Clock::now();
  auto strange = keeper_.strange(count, most, seconds_to_compare_);
  seconds_to_compare_ -= since(begin);
  if (!strange) seconds_to_compare_ = 0;  // no room for PyTorch's answer beside the candidate
  if (!strange) return {};
  constexpr double no_rounding = 0.02, farther = 1.5;
  size_t far = 0;
  for (const StrangeCall& call : *strange) {
    Kept suspect{shown_[static_cast<size_t>(call.slot)], static_cast<int>(kept_.size()), true};
    const bool is_far = call.distance > no_rounding && far < enough;
    const bool is_farthest = !large && !suspect.is_planted() && call.distance > farther * farthest_;
    if (!is_far && !is_farthest) continue;
    if (!suspect.is_planted()) farthest_ = std::max(farthest_, call.distance);
    far += is_far;
    kept_.push_back(std::move(suspect));
    STITCH_CHECK(keeper_.keep(call.slot, kept_.back().number));
  }
  if (far) seconds_to_compare_ = 0;
  return {};
}

Result<void> SeriesWatch::time(runner::Candidate& candidate, int count, Samples& samples) {
  for (int done = 0; done < count;) {
    const int now = std::min(count - done, shape_.slots);
    STITCH_CHECK(stage(now));
    runner::SeriesOptions options{
        .count = now, .timed = true, .flush_bytes = flush_bytes, .poison = session_.next_seed()};
    for (int i = 0; i < now; ++i) options.fillings.push_back(static_cast<runner::Filling>(random_() % 3));
    STITCH_CHECK(keeper_.reveal(now));
    STITCH_TRY(runner::SeriesTimes times,
               or_found(candidate.series(keeper_.slots(), options), "it was timed"));
    STITCH_CHECK(keeper_.take(now));
    if (!times.damage.empty())
      return found("out_of_bounds", format("a timed call wrote past its tensors: {}", times.damage));
    STITCH_TRY(bool intact, keeper_.intact(now));
    if (!intact) return found("inputs_changed", "a timed call wrote to its inputs");
    STITCH_CHECK(keep(now, keeper_.kept_each()));
    STITCH_CHECK(keep_strange(now));
    samples.wall_ns.insert(samples.wall_ns.end(), times.wall_ns.begin(), times.wall_ns.end());
    samples.event_ns.insert(samples.event_ns.end(), times.event_ns.begin(), times.event_ns.end());
    done += now;
  }
  return {};
}

// The least of several counts: other processes only ever add to it. A claim that is below gets more of them,
// which helps only an honest program on a busy machine.
Result<double> SeriesWatch::least_of(runner::Candidate& candidate, int count, int times, double enough) {
  constexpr int patience = 3;
  constexpr double most_seconds = 1;
  const auto begin = Clock::now();
  double least = 0;
  for (int i = 0; i < times || (i < patience * times && least > enough); ++i) {
    if (i > 1 && since(begin) > most_seconds) break;
    STITCH_CHECK(stage(count));
    STITCH_TRY(double seconds, once(candidate, count, true));
    STITCH_CHECK(keep(count, count > 1 ? 2 * keeper_.kept_each() : random_() % 4 == 0));
    STITCH_CHECK(keep_strange(count));
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

Result<Watched> SeriesWatch::watch(runner::Candidate& candidate, double claim, double seconds) {
  const int calls =
      static_cast<int>(std::clamp(seconds / std::max(claim, 1e-7), 1.0, static_cast<double>(shape_.slots)));
  const double one = quantile_of(zero_of_one_, 0.5), all = quantile_of(zero_of_all_, 0.5);
  auto of_these_calls = [&](double of_one, double of_all) {
    return shape_.slots > 1 ? of_one + (of_all - of_one) * (calls - 1) / (shape_.slots - 1.0) : of_one;
  };
  const double zero = of_these_calls(one, all);
  STITCH_TRY(double together, least_of(candidate, calls, longer_series, zero + calls * claim));
  STITCH_TRY(double single, least_of(candidate, 1, series_of_one, one + 2 * claim));
  const double around = session_.python ? around_a_python_call : 0;
  const double jitter_of_one = quantile_of(zero_of_one_, 1) - one,
               jitter_of_all = quantile_of(zero_of_all_, 1) - all;
  return Watched{.back_to_back = (together - zero) / calls,
                 .resolution = std::max(jitter_of_one, jitter_of_all) / calls,
                 .alone = single - one,
                 .alone_resolution = jitter_of_one,
                 .calls = calls,
                 .interpreter = around,
                 .whole = together,
                 .empty = of_these_calls(std::ranges::min(zero_of_one_), std::ranges::min(zero_of_all_)),
                 .around = shape_.slots > 1 ? std::max(0.0, all - one) / (shape_.slots - 1) : one};
}

Result<void> SeriesWatch::check(runner::Candidate& candidate, std::span<const Trial> trials) {
  constexpr int number = -1;  // kept beside those of timed calls
  for (const Trial& trial : trials) {
    shown_ = {trial.question};
    STITCH_CHECK(keeper_.stage(shown_));
    STITCH_CHECK(once(candidate, 1, true));
    STITCH_CHECK(keeper_.keep(0, number));
    for (size_t i = 0; i < session_.task.signature.outputs.size(); ++i) {
      STITCH_TRY(Comparison comparison, keeper_.judge(number, trial, i));
      if (!comparison.passed)
        return found(error_code::wrong, format("before timing, '{}' is wrong: {}",
                                               session_.task.signature.outputs[i].name, comparison.reason));
    }
  }
  return {};
}

Result<bool> SeriesWatch::judge(const Kept& kept) {
  STITCH_TRY(Trial trial, session_.reference.ask(kept.question));
  if (!trial.in_domain) return false;
  for (size_t i = 0; i < session_.task.signature.outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, keeper_.judge(kept.number, trial, i));
    if (!comparison.passed)
      return found("wrong_when_timed", format("a timed call on inputs of kind '{}' gives a wrong '{}': {}",
                                              kept.is_planted() ? kept.question.distribution : "task",
                                              session_.task.signature.outputs[i].name, comparison.reason));
  }
  return true;
}

Result<int> SeriesWatch::judge() {
  std::ranges::shuffle(kept_, random_);
  std::vector<const Kept*> suspects, planted, usual;
  for (const Kept& kept : kept_)
    (kept.suspect ? suspects : kept.is_planted() ? planted : usual).push_back(&kept);
  int judged = 0;
  for (const Kept* kept : suspects) {
    STITCH_TRY(bool counts, judge(*kept));
    judged += counts;
  }
  const auto begin = Clock::now();
  // Of the task's own kind and of others by turns.
  for (size_t i = 0; i < std::max(usual.size(), planted.size()); ++i) {
    if (judged >= static_cast<int>(least_judged) && since(begin) > seconds_to_judge) break;
    for (const std::vector<const Kept*>* kind : {&usual, &planted}) {
      if (i >= kind->size()) continue;
      STITCH_TRY(bool counts, judge(*(*kind)[i]));
      judged += counts;
    }
  }
  return judged;
}

}  // namespace stitch::verifier
