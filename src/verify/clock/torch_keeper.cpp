// PyTorch's process over memory of its device: inputs are drawn there, and outputs read there.
#include <nlohmann/json.hpp>

#include "reference/torch_reference.h"
#include "verify/attempt.h"
#include "verify/clock/series_keeper.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

class TorchKeeper final : public SeriesKeeper {
 public:
  TorchKeeper(Session& session, SeriesShape shape) : session_(session), shape_(std::move(shape)) {
    for (size_t i = 0; i < shape_.inputs.size(); ++i)
      if (shape_.inputs[i] >= 0) offsets_.push_back(shape_.inputs[i]);
  }
  TorchKeeper(const TorchKeeper&) = delete;
  TorchKeeper& operator=(const TorchKeeper&) = delete;
  ~TorchKeeper() override { session_.torch->free_device_arena(); }

  Result<void> open() {
    STITCH_TRY(arena_, session_.torch->open_series({{"slots", shape_.slots},
                                                    {"inputs_at", 0},
                                                    {"inputs_step", shape_.inputs_step},
                                                    {"outputs_at", outputs_at()},
                                                    {"outputs_step", shape_.outputs_step}},
                                                   outputs_at() + shape_.slots * shape_.outputs_step));
    return {};
  }

  Result<void> connect(runner::Candidate& candidate) override {
    auto reply = candidate.share(*arena_);
    if (reply.failure) return work_error(std::string(cannot_share), reply.failure->message);
    return {};
  }

  Result<double> stage(std::span<const Question> questions) override {
    Json seeds = Json::array();
    Json kinds = Json::array();
    for (const Question& question : questions) {
      seeds.push_back(question.seed & seed_mask);
      kinds.push_back(question.distribution);
    }
    STITCH_TRY(Json answer, session_.torch->about_series({{"do", "stage"},
                                                          {"distributions", std::move(kinds)},
                                                          {"seeds", std::move(seeds)},
                                                          {"offsets", offsets_}}));
    can_vary_ = answer.at("free").get<bool>();
    return answer.at("seconds").get<double>() / static_cast<double>(questions.size());
  }

  Result<void> reveal(int count) override { return ask({{"do", "reveal"}, {"count", count}}); }
  Result<void> take(int count) override { return ask({{"do", "take"}, {"count", count}}); }

  runner::Slots slots() const override {
    return {0,
            outputs_at(),
            shape_.inputs_step,
            shape_.outputs_step,
            shape_.inputs,
            shape_.outputs,
            runner::Where::device};
  }

  Result<bool> intact(int count) override {
    STITCH_TRY(Json answer, session_.torch->about_series(
                                {{"do", "check_series"}, {"count", count}, {"keep", Json::array()}}));
    return answer.at("intact").get<bool>();
  }

  Result<void> keep(int slot, int number) override {
    return ask({{"do", "check_series"}, {"count", 0}, {"keep", Json::array({Json::array({slot, number})})}});
  }

  Result<Comparison> judge(int number, const Trial& trial, size_t output) override {
    const TensorType& type = session_.task.signature.outputs[output].type;
    if (trial.held) {
      STITCH_TRY(Distance own,
                 session_.torch->kept_distance(number, trial, output, type.dtype, shape_.outputs[output]));
      return judge_distance(session_, trial, output, own);
    }
    const int64_t mark = session_.arena.mark();
    STITCH_TRY(int64_t to, session_.arena.allocate(type.bytes()));
    STITCH_CHECK(ask({{"do", "fetch_kept"},
                      {"number", number},
                      {"offset", shape_.outputs[output]},
                      {"bytes", type.bytes()},
                      {"to", to}}));
    const std::span<const std::byte> there = session_.arena.bytes(to, type.bytes());
    const std::vector<std::byte> bytes(there.begin(), there.end());
    session_.arena.release_to(mark);
    return judge_output(session_, trial, output, {{type.dtype, type.shape, {}}, bytes});
  }

  Result<std::vector<StrangeCall>> strange(int count, int most, double seconds) override {
    return session_.torch->strange_calls(count, most, shape_.outputs, seconds, session_.next_seed());
  }
  bool can_vary() const override { return can_vary_; }
  std::string where() const override { return "the device's memory"; }

 private:
  int64_t outputs_at() const { return shape_.slots * shape_.inputs_step; }
  Result<void> ask(Json request) {
    STITCH_CHECK(session_.torch->about_series(std::move(request)));
    return {};
  }

  Session& session_;
  SeriesShape shape_;
  std::vector<int64_t> offsets_;  // of those that are drawn
  const runner::DeviceArena* arena_ = nullptr;
  bool can_vary_ = false;
};

}  // namespace

Result<std::unique_ptr<SeriesKeeper>> torch_keeper(Session& session, SeriesShape shape) {
  auto keeper = std::make_unique<TorchKeeper>(session, std::move(shape));
  STITCH_CHECK(keeper->open());
  return Result<std::unique_ptr<SeriesKeeper>>(std::move(keeper));
}

}  // namespace stitch::verifier
