// The distance that PyTorch takes where the truth is, and the one taken here, are the same measure.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/machine/process.h"
#include "import/python.h"
#include "reference/numerics.h"

namespace stitch::verifier {

namespace {

// Writes pairs of tensors and a file of their distances, in pieces of 50 elements.
constexpr const char* script = R"(
import json, sys, torch
from stitchcuda_torch.base import safetensors
from stitchcuda_torch.reference import distances
distances.PIECE = 50
generator = torch.Generator().manual_seed(1)
special = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0], dtype=torch.float64)
def sprinkled(x, chance):
    places = torch.rand(x.shape, generator=generator) < chance
    return torch.where(places, special[torch.randint(4, x.shape, generator=generator)], x)
tensors, answers = {}, []
floats, integers = [torch.float64, torch.float32, torch.float16, torch.bfloat16], [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]
for case in range(400):
    shape = [(0,), (), (1,), (7, 11), (130,), (3, 5, 29)][case % 6]
    if case % 3:
        truth = torch.randn(shape, generator=generator, dtype=torch.float64) * 10.0 ** (case % 9 - 4)
        truth = sprinkled(truth, [0, 0, 0.02, 0.9][case // 6 % 4])
        values = sprinkled(truth + 1e-3 * truth * torch.randn(shape, generator=generator, dtype=torch.float64), [0, 0.02, 0][case // 24 % 3])
        values = values.to(floats[case // 2 % 4])
    else:
        truth = torch.randint(0, 2 + case % 5, shape, generator=generator).to(integers[case // 3 % 5])
        values = torch.where(torch.rand(shape, generator=generator) < 0.1, 1, truth.long()).to(integers[case // 3 % 4])
    tensors |= {f"value_{case}": values, f"truth_{case}": truth}
    answers.append(distances.distance(distances.of_tensor(values), truth).as_json())
safetensors.write(sys.argv[1] + "/tensors", tensors)
json.dump(answers, open(sys.argv[1] + "/answers", "w"))
)";

double number(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::infinity();
}

}  // namespace

TEST(Distances, AreTheSameInPython) {
  auto scratch = ScratchFolder::create("stitchcuda-distances");
  ASSERT_TRUE(scratch);
  auto python = find_python();
  ASSERT_TRUE(python) << python.error().text();
  Command command{.words = {python->string(), "-c", script, scratch->path().string()}};
  command.extra_environment["PYTHONPATH"] = (fs::path(STITCH_SOURCE_DIR) / "python").string();
  auto finished = run(command);
  ASSERT_TRUE(finished && finished->exit_code == 0) << finished->error_tail;
  auto tensors = Safetensors::open(scratch->path() / "tensors");
  ASSERT_TRUE(tensors) << tensors.error().text();
  auto answers = parse_json(*read_file(scratch->path() / "answers"));
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 400u);
  int scattered = 0, bad = 0, unequal = 0;
  for (size_t i = 0; i < answers->size(); ++i) {
    const Json& theirs = (*answers)[i];
    Distance ours = distance(*tensors->find(format("value_{}", i)), *tensors->find(format("truth_{}", i)));
    EXPECT_NEAR(number(theirs["error"]), ours.error, 1e-13 * ours.error) << i;
    EXPECT_NEAR(number(theirs["truth"]), ours.truth, 1e-13 * ours.truth) << i;
    EXPECT_EQ(number(theirs["largest"]), ours.largest) << i;
    EXPECT_EQ(theirs["worst"], ours.worst) << i;
    EXPECT_EQ(theirs["elements"], ours.elements) << i;
    EXPECT_EQ(theirs["not_finite"], ours.not_finite) << i;
    EXPECT_EQ(theirs["unequal"], ours.unequal) << i;
    EXPECT_EQ(theirs["first_bad"], ours.first_bad) << i;
    EXPECT_EQ(theirs["scattered"], ours.scattered) << i;
    scattered += ours.scattered;
    bad += ours.not_finite > 0;
    unequal += ours.unequal > 0;
  }
  EXPECT_GT(std::min({scattered, bad, unequal}), 20);
}

}  // namespace stitch::verifier
