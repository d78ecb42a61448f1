// A Verifier that does not judge again what was judged before the run was killed. The real one is opened when
// it is asked for the first time.
#pragma once

#include <functional>

#include "agents/replay.h"
#include "agents/roles.h"

namespace stitch::agents {

using OpenVerifier = std::function<Result<std::unique_ptr<Verifier>>()>;

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay);

// What is judged: every file of the program but its weights and its record, and how.
Result<std::string> judging_key(const fs::path& program, Judging judging);

}  // namespace stitch::agents
