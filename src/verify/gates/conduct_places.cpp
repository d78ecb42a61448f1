// Where tensors lie is the caller's choice: aligned to their elements and no more, all of them or just one,
// and next to an inaccessible page. Asked of the emulated GPU, which no wrong address breaks.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "base/error_codes.h"
#include "base/machine/fair_time.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

// Of many inputs and outputs a few that it can't know stand for all, while that takes no longer than this.
constexpr size_t most_alone = 6;
constexpr std::chrono::seconds most_seconds_alone{2};

// False: it refused, as it may.
Result<bool> right_at(Session& session, Attempt& attempt, const runner::CallOptions& options,
                      std::string_view code, const std::string& where) {
  const Trial& trial = session.trials[0];
  auto observed = attempt.ask(trial, options);
  if (!observed && observed.error().code == error_code::refused) return false;
  if (!observed) return std::move(observed).error();
  for (size_t i = 0; i < observed->outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed->outputs[i]));
    if (!comparison.passed)
      return found(std::string(code), format("with {}, '{}' is wrong: {}", where,
                                             session.task.signature.outputs[i].name, comparison.reason));
  }
  return true;
}

// What a program does with vectors where it can, it has to do without them, too, or to refuse. It may look at
// one address and mean another: each alone.
Result<int> right_where_unaligned(Session& session, Attempt& attempt) {
  const Signature& signature = session.task.signature;
  int tried = 0;
  auto ask = [&](int only, const std::string& which) -> Result<void> {
    STITCH_TRY(bool answered,
               right_at(session, attempt, {.poison = session.next_seed(), .misalign = 1, .misaligned = only},
                        "unaligned", which + " one element past an aligned address"));
    tried += answered;
    return {};
  };
  STITCH_CHECK(ask(-1, "all tensors"));
  std::vector<size_t> order;
  for (size_t i = 0; i < signature.inputs.size() + signature.outputs.size(); ++i) order.push_back(i);
  if (order.size() < 2) return tried;
  std::ranges::shuffle(order, std::mt19937_64(session.next_seed()));
  order.resize(std::min(order.size(), most_alone));
  FairTime time(most_seconds_alone);
  for (size_t tensor : order) {
    if (!time.another()) break;
    const bool input = tensor < signature.inputs.size();
    const ManifestTensor& which =
        input ? signature.inputs[tensor] : signature.outputs[tensor - signature.inputs.size()];
    STITCH_CHECK(ask(static_cast<int>(tensor), format("'{}' alone", which.name)));
  }
  return tried;
}

bool ends_oddly(const Signature& signature) {
  constexpr int64_t vector_bytes = 16;
  auto odd = [](const ManifestTensor& tensor) { return tensor.type.bytes() % vector_bytes != 0; };
  return std::ranges::any_of(signature.parameters, odd) || std::ranges::any_of(signature.inputs, odd) ||
         std::ranges::any_of(signature.outputs, odd);
}

Error outside(const Error& crash, std::string_view beside) {
  return found("out_of_bounds",
               format("with memory that nobody may touch {} its tensors: {}", beside, crash.message));
}

// Reads outside of tensors change no result where they find something harmless. Here they find nothing.
Result<int> stays_inside(Session& session) {
  std::vector<std::pair<runner::Fence, const char*>> fences = {{runner::Fence::end, "behind"},
                                                               {runner::Fence::start, "before"}};
  if (ends_oddly(session.task.signature)) fences.emplace_back(runner::Fence::exact_end, "right behind");
  int tried = 0;
  std::optional<Attempt> attempt;  // an access outside of a tensor ends it
  auto create = [&](runner::Fence fence) -> Result<void> {
    if (attempt) return attempt->create_again(Weights::task, fence);
    STITCH_TRY(Attempt started, Attempt::start_fenced(session, fence));
    attempt.emplace(std::move(started));
    return {};
  };
  for (auto [fence, beside] : fences) {
    auto asked = create(fence);
    if (asked) {
      auto right = right_at(session, *attempt, {.poison = session.next_seed(), .fence = fence},
                            error_code::wrong, "other memory beside its tensors");
      if (!right) asked = std::move(right).error();
    }
    if (asked)
      ++tried;
    else if (asked.error().code == error_code::crashed)
      return outside(asked.error(), beside);
    else if (asked.error().code != error_code::refused)
      return std::move(asked).error();
  }
  return tried;
}

}  // namespace

Result<void> right_wherever_tensors_lie(Session& session, Attempt& attempt, Json& evidence) {
  const VerifyOptions& options = session.options;
  if (session.python || options.device != runner::Device::emulated || session.large() ||
      session.trials[0].held)
    return {};
  STITCH_TRY(int unaligned, right_where_unaligned(session, attempt));
  if (unaligned) evidence["unaligned"] = unaligned;
  auto answered = right_at(session, attempt, {.poison = session.next_seed(), .fence = runner::Fence::host},
                           error_code::wrong, "its tensors closed to host code");
  if (!answered && answered.error().code == error_code::crashed)
    return found("host_access",
                 "its host code touches tensors, which are the device's: " + answered.error().message);
  if (!answered) return std::move(answered).error();
  // A scratch that it puts back is seen by another reader of the input meanwhile.
  answered = right_at(session, attempt, {.poison = session.next_seed(), .fence = runner::Fence::read_only},
                      error_code::wrong, "inputs that can only be read");
  if (!answered && answered.error().code == error_code::crashed)
    return found("inputs_changed",
                 "it writes to its inputs, which can only be read: " + answered.error().message);
  if (!answered) return std::move(answered).error();
  // AddressSanitizer sees more by itself.
  if (options.quick || options.address_sanitizer) return {};
  STITCH_TRY(int fences, stays_inside(session));
  if (fences) evidence["fences"] = fences;
  return {};
}

}  // namespace stitch::verifier
