// A Verifier that replays verdicts from before the run was killed. The real one is opened on the first new
// request.
#pragma once

#include <functional>

#include "agents/record/replay.h"
#include "agents/roles.h"

namespace stitch::agents {

using OpenVerifier = std::function<Result<std::unique_ptr<Verifier>>()>;

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay);

// Identifies a request: every file of the program except its weights and record, and how it is judged.
Result<std::string> judging_key(const fs::path& program, Judging judging);

}  // namespace stitch::agents
