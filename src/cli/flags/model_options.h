// What every command that takes a model has in common: what --compat means, and warnings about the model.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"
#include "plan/precision/rounding.h"

namespace stitch {

class Progress;

// --compat: another evaluator that must accept the program. Empty: none.
Result<void> check_compatible(const std::string& with);
// What a plan then assumes about PyTorch, without running it.
Result<plan::ReferenceFacts> facts_for(const std::string& compatible, Numerics numerics);

// Each is said once: on stderr, or in the JSON document.
class Warnings {
 public:
  explicit Warnings(Console& console) : console_(console) {}
  void say(const std::string& text) { take(text, nullptr); }
  // About a model, if there is something to say.
  void say_mode(const TaskFacts& facts);
  // For as long as a progress line is drawn: above it.
  std::function<void(std::string_view)> above(Progress& progress);
  void add_to(Json& document) const;  // "warnings", if there were any

 private:
  void take(const std::string& text, Progress* progress);

  Console& console_;
  std::vector<std::string> said_;
};

}  // namespace stitch
