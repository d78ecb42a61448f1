#include "verify/clock/series_keeper.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "base/bulk.h"
#include "reference/torch_reference.h"
#include "verify/attempt.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

constexpr int64_t alignment = 256, most_compared = 1 << 20;

int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// This process over the host's arena.
class HostKeeper final : public SeriesKeeper {
 public:
  HostKeeper(Session& session, SeriesShape shape) : session_(session), shape_(std::move(shape)) {
    staged_.resize(static_cast<size_t>(shape_.slots * shape_.inputs_step));
    taken_.resize(static_cast<size_t>(shape_.slots * shape_.outputs_step));
  }

  Result<void> connect(runner::Candidate&) override { return {}; }

  Result<double> stage(std::span<const Question> questions) override {
    staged_about_.assign(questions.begin(), questions.end());
    const auto begin = std::chrono::steady_clock::now();
    for (size_t call = 0; call < questions.size(); ++call) {
      STITCH_TRY(Tensors inputs, session_.reference.draw(questions[call]));
      for (size_t i = 0; i < inputs.size(); ++i)
        if (shape_.inputs[i] >= 0)
          std::ranges::copy(
              inputs[i].bytes,
              staged_.begin() + static_cast<int64_t>(call) * shape_.inputs_step + shape_.inputs[i]);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(std::max<size_t>(1, questions.size()));
  }

  Result<void> reveal(int count) override {
    mark_ = session_.arena.mark();
    STITCH_TRY(inputs_at_, session_.arena.allocate(shape_.slots * shape_.inputs_step));
    STITCH_TRY(outputs_at_, session_.arena.allocate(shape_.slots * shape_.outputs_step));
    std::ranges::fill(session_.arena.bytes(outputs_at_, count * shape_.outputs_step), std::byte{0xff});
    copy_bulk(staged(count), shown(count).data());
    return {};
  }

  Result<void> take(int count) override {
    const int64_t size = count * shape_.outputs_step;
    copy_bulk(session_.arena.bytes(outputs_at_, size), taken_.data());
    // What was shown stays there until something else is.
    session_.arena.release_to(mark_);
    return {};
  }

  runner::Slots slots() const override {
    return {inputs_at_,    outputs_at_,    shape_.inputs_step, shape_.outputs_step,
            shape_.inputs, shape_.outputs, runner::Where::host};
  }

  Result<bool> intact(int count) override { return equal_bulk(staged(count), shown(count)); }

  Result<void> keep(int slot, int number) override {
    const auto begin = taken_.begin() + slot * shape_.outputs_step;
    kept_[number].assign(begin, begin + shape_.outputs_step);
    return {};
  }

  Result<Comparison> judge(int number, const Trial& trial, size_t output) override {
    const TensorType& type = session_.task.signature.outputs[output].type;
    const std::span<const std::byte> all = kept_.at(number);
    return judge_output(
        session_, trial, output,
        {{type.dtype, type.shape, {}},
         all.subspan(static_cast<size_t>(shape_.outputs[output]), static_cast<size_t>(type.bytes()))});
  }

  Result<std::vector<StrangeCall>> strange(int count, int most, double seconds) override {
    std::vector<StrangeCall> out;
    if (!session_.torch || is_drawn_here(session_.task.signature)) return out;
    std::mt19937_64 random(session_.next_seed());
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    order.resize(static_cast<size_t>(std::min(count, most)));
    const auto begin = std::chrono::steady_clock::now();
    for (int slot : order) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) break;
      std::vector<TorchReference::Sample> samples;
      for (size_t i = 0; i < shape_.outputs.size(); ++i) samples.push_back(sample(slot, i, random()));
      STITCH_TRY(double distance,
                 session_.torch->strangeness(staged_about_[static_cast<size_t>(slot)], samples));
      out.push_back({slot, distance});
    }
    std::ranges::sort(out, std::greater(), &StrangeCall::distance);
    return out;
  }

  int kept_each() const override { return 4; }  // a copy in this process
  std::string where() const override { return "the host's memory"; }

 private:
  std::span<const std::byte> staged(int count) const {
    return std::span(staged_).first(static_cast<size_t>(count * shape_.inputs_step));
  }
  std::span<std::byte> shown(int count) {
    return session_.arena.bytes(inputs_at_, count * shape_.inputs_step);
  }

  // A million elements, evenly spread; all of fewer.
  TorchReference::Sample sample(int slot, size_t output, uint64_t random) const {
    const TensorType& type = session_.task.signature.outputs[output].type;
    const int64_t size = size_of(type.dtype);
    TorchReference::Sample out;
    out.step = std::max<int64_t>(1, type.elements() / most_compared);
    out.start = static_cast<int64_t>(random % static_cast<uint64_t>(out.step));
    const auto base = taken_.begin() + slot * shape_.outputs_step + shape_.outputs[output];
    if (out.step == 1) out.bytes.assign(base, base + type.bytes());
    for (int64_t i = out.start; out.step > 1 && i < type.elements(); i += out.step)
      out.bytes.insert(out.bytes.end(), base + i * size, base + (i + 1) * size);
    return out;
  }

  Session& session_;
  SeriesShape shape_;
  std::vector<Question> staged_about_;
  std::vector<std::byte> staged_, taken_;
  std::map<int, std::vector<std::byte>> kept_;
  int64_t mark_ = 0, inputs_at_ = 0, outputs_at_ = 0;
};

}  // namespace

bool is_drawn_here(const Signature& signature) {
  return std::ranges::any_of(signature.inputs, [](const ManifestTensor& t) { return t.role == "seed"; });
}

SeriesShape series_shape(const Signature& signature, int most, int64_t bytes) {
  SeriesShape shape;
  for (const ManifestTensor& input : signature.inputs) {
    const bool stays = input.role == "state";
    shape.inputs.push_back(stays ? -1 : shape.inputs_step);
    if (!stays) shape.inputs_step += aligned(input.type.bytes());
  }
  for (const ManifestTensor& output : signature.outputs) {
    shape.outputs.push_back(shape.outputs_step);
    shape.outputs_step += aligned(output.type.bytes());
  }
  // In the arena, and a copy with the process that keeps them.
  const int64_t each = std::max<int64_t>(1, 2 * (shape.inputs_step + shape.outputs_step));
  shape.slots = static_cast<int>(std::clamp<int64_t>(bytes / each, 1, most));
  return shape;
}

std::unique_ptr<SeriesKeeper> host_keeper(Session& session, SeriesShape shape) {
  return std::make_unique<HostKeeper>(session, std::move(shape));
}

}  // namespace stitch::verifier
