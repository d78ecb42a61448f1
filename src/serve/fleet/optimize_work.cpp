#include "serve/fleet/optimize_work.h"

#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/text.h"
#include "serve/fleet/desk.h"
#include "serve/fleet/worker.h"
#include "serve/reward/tasks.h"

namespace stitch::serve {

namespace {

// Below a folder, without a way out of it.
bool is_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string::npos) return false;
  for (const fs::path& part : path)
    if (part == ".." || part == ".") return false;
  return true;
}

// Without what was built of it.
Json files_below(const fs::path& folder) {
  Json out = Json::object();
  size_t bytes = 0;
  std::error_code ec;
  for (auto it = fs::recursive_directory_iterator(folder, ec); !ec && it != fs::end(it); it.increment(ec)) {
    if (it->is_directory(ec) && it->path().filename() == "build") it.disable_recursion_pending();
    if (!it->is_regular_file(ec)) continue;
    bytes += it->file_size(ec);
    if (bytes > largest_program) return nullptr;
    if (auto text = read_file(it->path()))
      out[it->path().lexically_relative(folder).generic_string()] = to_base64(*text);
  }
  return out;
}

Json ended(const Error& error) {
  return {{"output", line_text(to_json(error))}, {"exit_code", 1}, {"files", Json::object()}};
}

Result<Json> optimized(const Json& payload, const std::string& python) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-bench"));
  const fs::path tasks = scratch.path() / "tasks", program = scratch.path() / "program";
  std::error_code ec;
  fs::create_directories(tasks, ec);
  for (const auto& [name, text] : payload.at("files").items()) {
    if (!is_inside(name)) return work_error("work", "a task's file name must be without folders");
    STITCH_CHECK(write_file(tasks / name, text.get<std::string>()));
  }
  auto flags = payload.at("flags").get<std::vector<std::string>>();
  if (!python.empty()) flags.insert(flags.end(), {"--python", python});
  const std::string task = payload.at("task").get<std::string>();
  if (!is_inside(task)) return work_error("work", "the task's file name must be without folders");
  const Command command =
      agents::optimize_command(tasks / task, program, flags, payload.at("seconds").get<int>(), 1);
  STITCH_TRY(Child child, Child::start(command));
  child.close_input();
  std::string output;
  while (auto line = child.read_line()) output += *line + '\n';
  const Finished finished = child.wait();
  Json files = files_below(program);
  Json out = {{"output", std::move(output)},
              {"exit_code", finished.exit_code},
              {"timed_out", finished.timed_out},
              {"error_tail", finished.error_tail}};
  if (files.is_null()) out["left_there"] = true;  // too large to be sent
  out["files"] = files.is_null() ? Json::object() : std::move(files);
  return out;
}

}  // namespace

Result<Json> optimize_payload(const agents::BenchTask& task, const agents::BenchOptions& options) {
  STITCH_TRY(auto files, files_of_task(task.path));
  return Json{{"kind", "optimize"},
              {"task", task.path.filename().string()},
              {"files", files},
              {"flags", agents::flags_of(task, options)},
              {"seconds", options.seconds_a_task}};
}

Json optimize_leased(const Json& payload, const std::string& python) {
  auto done = contained([&] { return optimized(payload, python); });
  Json out = done ? *std::move(done) : ended(done.error());
  out["machine"] = worker_name();
  return out;
}

bool is_optimize_result(const Json& result) {
  return result.is_object() && result.contains("output") && result["output"].is_string() &&
         result.contains("files") && result["files"].is_object() && !word(result, "machine").empty();
}

Json optimize_record(const agents::BenchTask& task, const Json& result, const agents::BenchOptions& options) {
  const fs::path program = options.out / "programs" / task.name;
  std::error_code ec;
  fs::create_directories(program, ec);
  for (const auto& [name, text] : result["files"].items()) {
    if (!is_inside(name) || !text.is_string()) continue;
    fs::create_directories((program / name).parent_path(), ec);
    (void)write_file(program / name, from_base64(text.get<std::string>()));
  }
  const std::string output = word(result, "output");
  (void)write_file(program.string() + ".json", output);
  Json record = agents::record_of(
      task,
      {output, result.value("exit_code", -1), result.value("timed_out", false), word(result, "error_tail")},
      options.seconds_a_task);
  record["machine"] = word(result, "machine");
  if (result.value("left_there", false)) record["program"] = "left on " + word(result, "machine");
  return record;
}

}  // namespace stitch::serve
