#include "graph/mode.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "graph/folder.h"

namespace stitch {

namespace {

int64_t active(const TaskFacts& facts, const char* kind) {
  if (!facts || !facts->is_object() || !facts->contains("active")) return 0;
  const Json& counts = (*facts)["active"];
  auto found = counts.is_object() ? counts.find(kind) : counts.end();
  return counts.is_object() && found != counts.end() && found->is_number_integer() ? found->get<int64_t>()
                                                                                   : 0;
}

std::string count_of(int64_t count, std::string_view one, std::string_view many) {
  return format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string_view name(Mode mode) {
  return mode == Mode::train ? "train" : mode == Mode::eval ? "eval" : "as-written";
}

std::optional<Mode> parse_mode(std::string_view name) {
  for (Mode mode : {Mode::as_written, Mode::train, Mode::eval})
    if (stitch::name(mode) == name) return mode;
  return std::nullopt;
}

Result<TaskFacts> read_task_facts(const fs::path& folder) {
  fs::path path = folder / task_file;
  std::error_code ec;
  if (!fs::exists(path, ec)) return TaskFacts();
  STITCH_TRY(std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json) return at(path.string(), json.error());
  if (!json->is_object()) return at(path.string(), user_error("task_json", "this is not a JSON object"));
  return TaskFacts(std::make_shared<const Json>(*std::move(json)));
}

std::string mode_in(const TaskFacts& facts) {
  std::string mode = facts && facts->is_object() ? word(*facts, "mode") : "";
  return mode == "train" || mode == "eval" ? mode : "";
}

Result<void> check_mode(Mode asked, const TaskFacts& facts, std::string_view what) {
  const std::string there = mode_in(facts);
  if (asked == Mode::as_written || there == name(asked)) return {};
  const std::string is = there.empty() ? "has no recorded mode" : format("is in {} mode", there);
  return user_error("mode", format("{} {}, and {} mode is asked for", what, is, name(asked)),
                    format("ask for no mode, or make it again from the .py file in {} mode", name(asked)));
}

std::optional<std::string> mode_warning(const TaskFacts& facts) {
  const int64_t dropouts = active(facts, "dropouts"), norms = active(facts, "batch_norms");
  if (dropouts + norms <= 0) return std::nullopt;
  std::vector<std::string> parts;
  if (dropouts > 0) parts.push_back(count_of(dropouts, "dropout is random", "dropouts are random"));
  if (norms > 0)
    parts.push_back(
        count_of(norms, "batch norm uses the batch's statistics", "batch norms use the batch's statistics"));
  if (mode_in(facts) == "eval")
    return format("the model is in eval mode, but {}: its code asks for that", join(parts, ", "));
  return format("the model is in training mode: {}; --eval for inference", join(parts, ", "));
}

}  // namespace stitch
