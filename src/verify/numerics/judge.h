// One output of one trial, judged by the session's class.
#pragma once

#include "verify/session.h"

namespace stitch::verifier {

// The running variance beside a running mean that a forward pass renews; "" of anything else.
std::string variance_beside(const Graph& graph, std::string_view mean);

// Values that lie in the arena, and are not changed there meanwhile, are not copied.
Result<Comparison> judge_output(const Session& session, const Trial& trial, size_t output,
                                const TensorBytes& values);
// The same on this trial alone: where it is off by little, other draws might have excused it.
Result<Comparison> judge_at_once(const Session& session, const Trial& trial, size_t output,
                                 const TensorBytes& values);
Judging judging_of(const Session& session, const Trial& trial, size_t output);
// By KernelBench's own check, beside PyTorch's own output: of a trial that has it (Question::own).
Result<KernelBenchCheck> judge_as_kernelbench(const Session& session, const Trial& trial, size_t output,
                                              const TensorBytes& values);
// From a distance that was taken elsewhere.
Comparison judge_distance(const Session& session, const Trial& trial, size_t output, const Distance& own);
// Of few elements PyTorch's error varies from draw to draw, and with it what is allowed. Too far off by so
// little that its luck may be all there is to it?
bool may_be_luck(const Comparison& comparison);
// PyTorch's error as if it had been as far off on this draw as on that one.
Distance no_better_than(Distance pytorch, const Distance& on_another_draw);

}  // namespace stitch::verifier
