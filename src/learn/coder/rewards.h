// What a choice is worth: its speedup over the built-in Planner's choice as an execution, its code by the
// rubric, both into a reward of rubric/reward.h.
#pragma once

#include <map>
#include <memory>

#include "learn/coder/region_question.h"
#include "rubric/reward.h"

namespace stitch::learn {

// NaN where the time is unknown. The rubric reads the region's own program, each way of writing it once.
RewardOf reward_by(rubric::RewardKind kind, rubric::Skill skill);

}  // namespace stitch::learn
