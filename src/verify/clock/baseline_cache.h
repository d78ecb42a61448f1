// Baselines already measured for this task, class, PyTorch and GPU.
#pragma once

#include <optional>
#include <string>

#include "verify/session.h"

namespace stitch::verifier {

std::optional<Samples> cached_baseline(const Session& session, const std::string& kind);
// A cache that can't be written is no reason to fail.
void keep_baseline(const Session& session, const Samples& samples);

}  // namespace stitch::verifier
