// One output of one trial, judged by the session's class.
#pragma once

#include "verify/session.h"

namespace stitch::verifier {

// The running variance beside a running mean that a forward pass renews; "" of anything else.
std::string variance_beside(const Graph& graph, std::string_view mean);

// Values that lie in the arena, and are not changed there meanwhile, are not copied.
Result<Comparison> judge_output(const Session& session, const Trial& trial, size_t output,
                                const TensorBytes& values);
// From a distance that was taken elsewhere.
Comparison judge_distance(const Session& session, const Trial& trial, size_t output, const Distance& own);
// How far PyTorch is off, where it can say.
std::optional<Distance> pytorch_distance(const Trial& trial, size_t output);

}  // namespace stitch::verifier
