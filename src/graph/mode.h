// Training or evaluation mode of a model's graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"

namespace stitch {

// as_written: as the constructor leaves the model, usually in training mode.
enum class Mode : uint8_t { as_written, train, eval };
std::string_view name(Mode mode);  // as-written, train, eval
std::optional<Mode> parse_mode(std::string_view name);

// task.json: what is known about the model besides its graph; null: no such file.
using TaskFacts = std::shared_ptr<const Json>;
Result<TaskFacts> read_task_facts(const fs::path& folder);
// "train" or "eval", or empty where `facts` do not say.
std::string mode_in(const TaskFacts& facts);

// Whether `what` ("this graph") has the mode that a flag asks for. The error names both.
Result<void> check_mode(Mode asked, const TaskFacts& facts, std::string_view what);
// A warning about active dropout or batch statistics, which are rarely wanted in a deployed model.
std::optional<std::string> mode_warning(const TaskFacts& facts);

}  // namespace stitch
