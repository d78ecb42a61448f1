#include "verify/stopwatch.h"

#include <algorithm>
#include <cstring>

#include "verify/judge.h"
#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

constexpr int64_t checked_whole = int64_t{16} << 20, page = 1 << 16;
constexpr size_t pages = 32, pages_kept = 4096;

}  // namespace

Result<void> Stopwatch::place(size_t most_sets) {
  for (size_t which = 0; which < std::min(session_.trials.size(), most_sets); ++which) {
    STITCH_TRY(Trial trial, answered(which));
    STITCH_TRY(int set, attempt_.place(trial));
    sets_.push_back({set, {}});
    STITCH_CHECK(judge(which));
  }
  return {};
}

Result<void> Stopwatch::judge() {
  for (size_t which = 0; which < sets_.size(); ++which) STITCH_CHECK(judge(which));
  return {};
}

Result<void> Stopwatch::judge(size_t which) {
  Placed& placed = sets_[which];
  STITCH_TRY(Observed observed, attempt_.call(placed.set, {.poison = session_.next_seed()}));
  placed.outputs.resize(observed.outputs.size());
  std::optional<Trial> trial;
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    Verified& known = placed.outputs[i];
    const std::span<const std::byte> output = observed.outputs[i].bytes;
    const bool judged = !known.ranges.empty();
    if (!judged) known.ranges = pages_of(std::ssize(output));
    STITCH_TRY(std::vector<std::byte> bytes, read(output, known.ranges));
    if (judged && bytes == known.bytes) continue;
    known.bytes = std::move(bytes);
    if (!trial) {
      STITCH_TRY(trial, answered(which));
    }
    STITCH_TRY(Comparison comparison, judge_output(session_, *trial, i, observed.outputs[i]));
    if (comparison.passed) continue;
    known = {};
    return found("wrong", format("before timing, '{}' is wrong: {}", session_.task.signature.outputs[i].name,
                                 comparison.reason));
  }
  return {};
}

Result<void> Stopwatch::time(int count, Samples& samples) {
  for (int i = 0; i < count; ++i) {
    size_t which = random_() % sets_.size();
    runner::CallOptions options{.poison = session_.next_seed(), .timed = true, .flush_bytes = flush_bytes};
    STITCH_TRY(runner::Called called,
               or_found(attempt_.candidate().call(sets_[which].set, attempt_.output_types(), options),
                        "it was timed"));
    if (!called.damage.empty())
      return found("out_of_bounds", format("a timed call wrote past its tensors: {}", called.damage));
    STITCH_CHECK(check(which));
    samples.wall_ns.push_back(called.wall_ns);
    samples.event_ns.push_back(called.event_ns);
  }
  return {};
}

// Small outputs whole, large ones on secret pages: equal to what was judged, or judged again.
Result<void> Stopwatch::check(size_t which) {
  const std::vector<Verified>& outputs = sets_[which].outputs;
  const int64_t mark = session_.arena.mark();
  std::vector<runner::OutputPiece> pieces;
  std::vector<std::vector<size_t>> numbers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    numbers.push_back(chosen(outputs[i].ranges.size()));
    runner::OutputPiece piece{.output = static_cast<int>(i)};
    int64_t total = 0;
    for (size_t number : numbers[i]) {
      piece.ranges.push_back(outputs[i].ranges[number]);
      total += piece.ranges.back().end - piece.ranges.back().begin;
    }
    STITCH_TRY(piece.offset, session_.arena.allocate(total));
    pieces.push_back(std::move(piece));
  }
  STITCH_CHECK(or_found(attempt_.candidate().fetch_outputs(pieces), "timed outputs were fetched"));
  std::vector<size_t> changed;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!holds(pieces[i], outputs[i], numbers[i])) changed.push_back(i);
  session_.arena.release_to(mark);
  for (size_t i : changed) STITCH_CHECK(judge_again(which, i));
  return {};
}

// Whether what was fetched is what was judged.
bool Stopwatch::holds(const runner::OutputPiece& piece, const Verified& verified,
                      const std::vector<size_t>& numbers) {
  int64_t at = piece.offset;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const int64_t size = piece.ranges[k].end - piece.ranges[k].begin;
    const std::byte* judged = verified.bytes.data() + static_cast<int64_t>(numbers[k]) * size;
    const auto got = session_.arena.bytes(at, size);
    if (std::memcmp(got.data(), judged, static_cast<size_t>(size)) != 0) return false;
    at += size;
  }
  return true;
}

// What the reference was made to let go of, it answers again.
Result<Trial> Stopwatch::answered(size_t which) {
  const Trial& trial = session_.trials[which];
  if (trial.truth.size()) return trial;
  return session_.reference.ask(trial.question);
}

Result<void> Stopwatch::judge_again(size_t which, size_t output) {
  STITCH_TRY(Trial trial, answered(which));
  int64_t mark = session_.arena.mark();
  STITCH_TRY(Tensors outputs, attempt_.fetch_outputs(sets_[which].set));
  STITCH_TRY(Comparison comparison, judge_output(session_, trial, output, outputs[output]));
  session_.arena.release_to(mark);
  if (comparison.passed) return {};
  return found("wrong_when_timed", format("a timed call gives a wrong '{}': {}",
                                          session_.task.signature.outputs[output].name, comparison.reason));
}

// All of an output, or many of its pages.
std::vector<runner::Range> Stopwatch::pages_of(int64_t size) {
  if (size <= checked_whole) return {{0, size}};
  std::vector<runner::Range> ranges = {{size - page, size}};
  while (ranges.size() < pages_kept) {
    int64_t begin = static_cast<int64_t>(random_() % static_cast<uint64_t>(size - page));
    ranges.push_back({begin, begin + page});
  }
  return ranges;
}

// Wherever it lies: here, or with the reference on the device.
Result<std::vector<std::byte>> Stopwatch::read(std::span<const std::byte> output,
                                               std::span<const runner::Range> ranges) {
  std::vector<std::byte> out;
  if (auto there = session_.torch ? session_.torch->on_device(output) : std::nullopt) {
    int64_t total = 0, mark = session_.arena.mark();
    for (const runner::Range& range : ranges) total += range.end - range.begin;
    STITCH_TRY(int64_t offset, session_.arena.allocate(total));
    STITCH_CHECK(session_.torch->fetch(*there, ranges, offset));
    const std::span<const std::byte> bytes = session_.arena.bytes(offset, total);
    out.assign(bytes.begin(), bytes.end());
    session_.arena.release_to(mark);
    return out;
  }
  for (const runner::Range& range : ranges)
    out.insert(out.end(), output.begin() + range.begin, output.begin() + range.end);
  return out;
}

// Of the ranges kept: the first, and some others.
std::vector<size_t> Stopwatch::chosen(size_t count) {
  std::vector<size_t> numbers = {0};
  while (numbers.size() < std::min(pages, count)) numbers.push_back(random_() % count);
  return numbers;
}

}  // namespace stitch::verifier
