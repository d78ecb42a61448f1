#include "reference/trial.h"

#include <algorithm>

namespace stitch::verifier {

void Tensors::add(TensorType type, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  tensors.push_back({std::move(type), *owner});
  owners.push_back(std::move(owner));
}

void Tensors::add(const TensorBytes& tensor, std::shared_ptr<const void> owner) {
  tensors.push_back(tensor);
  owners.push_back(std::move(owner));
}

int64_t Tensors::bytes() const {
  int64_t sum = 0;
  for (const TensorBytes& tensor : tensors) sum += tensor.type.bytes();
  return sum;
}

bool harsh::is_exact(std::string_view distribution) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{bounds, whole_numbers, tails, wide, not_numbers},
      [&](std::string_view kind) { return distribution.starts_with(kind); });
}

bool harsh::is_harsh(std::string_view distribution) {
  if (distribution.ends_with(in_range)) distribution.remove_suffix(in_range.size());
  return is_exact(distribution) || distribution.starts_with(far_angles) || distribution.starts_with(sizes) ||
         distribution == large || distribution == offset || distribution == ties || distribution == zeros ||
         distribution == ends || distribution == patches || distribution == prefix ||
         distribution == inner_prefix || distribution == low || distribution == small ||
         distribution == uneven || distribution == masks || distribution == empty_rows ||
         distribution == not_finite;
}

bool is_harsh(const Question& question) {
  return question.weights == Weights::pointed || question.weights == Weights::bounded ||
         question.weights == Weights::tails || harsh::is_harsh(question.distribution);
}

bool is_in_tails(const Question& question) {
  return question.weights == Weights::tails || question.distribution.starts_with(harsh::tails);
}

NotFinite not_finite_of(const Question& question) {
  if (question.distribution == harsh::not_finite) return NotFinite::any;
  return question.distribution.starts_with(harsh::not_numbers) ? NotFinite::nan_may_be_lost
                                                               : NotFinite::as_the_truth;
}

std::string_view name(Weights weights) {
  switch (weights) {
    case Weights::task: return "task";
    case Weights::reparameterised: return "reparameterised";
    case Weights::faint: return "faint";
    case Weights::pointed: return "pointed";
    case Weights::bounded: return "bounded";
    case Weights::tails: return "tails";
    case Weights::mixed: return "mixed";
  }
  return "";
}

std::optional<Distance> pytorch_distance(const Trial& trial, size_t output) {
  if (!trial.held && trial.pytorch.size() == 0) return std::nullopt;
  trial.pytorch_distances.resize(trial.truth.size());
  std::optional<Distance>& known = trial.pytorch_distances[output];
  if (!known) known = distance(trial.pytorch[output], trial.truth[output], not_finite_of(trial.question));
  return known;
}

}  // namespace stitch::verifier
