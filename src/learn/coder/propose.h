// The compact Coder at work: a plan with its choices, and a Planner that proposes them after another one's
// steps.
#pragma once

#include <memory>

#include "agents/roles.h"
#include "base/file.h"
#include "learn/coder/decide.h"

namespace stitch::learn {

// Weights that are part of the program: --coder-weights sm_90 (coder/weights/README.md says how they were
// made).
inline constexpr std::string_view shipped_coder = "sm_90";
// Those, by their name; or a file that train wrote, for the features of this version.
Result<Committee> load_coder(const fs::path& place);

struct Proposed {
  plan::Plan plan;
  std::vector<std::string> changed;  // regions, by name
};
// A choice that the plan as a whole can't have is left out.
Result<Proposed> with_learned_choices(const plan::Context& context, plan::Plan plan,
                                      const Committee& committee);

// After the steps of `planner`: one step with the choices on top of the best plan. The Verifier decides.
std::unique_ptr<agents::Planner> learned_planner(std::unique_ptr<agents::Planner> planner,
                                                 Committee committee);

inline constexpr std::string_view learned_step = "learned choices";

}  // namespace stitch::learn
