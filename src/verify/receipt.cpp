#include "verify/receipt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "device/gpu_detect.h"
#include "graph/folder.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

constexpr int receipt_version = 1;

// Every file of the program, by its path inside.
Result<Json> hash_program(const fs::path& program) {
  Json hashes = Json::object();
  std::error_code ec;
  std::vector<fs::path> files;
  if (fs::is_directory(program, ec)) {
    for (const auto& entry : fs::recursive_directory_iterator(program, ec))
      if (entry.is_regular_file() && *fs::relative(entry.path(), program).begin() != "build")
        files.push_back(entry.path());
  } else {
    files.push_back(program);
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    STITCH_TRY(std::string hash, sha256_of_file(file));
    hashes[files.size() == 1 ? file.filename().string() : fs::relative(file, program).generic_string()] =
        hash;
  }
  return hashes;
}

Result<std::string> hash_task(const fs::path& task) {
  std::error_code ec;
  return sha256_of_file(fs::is_directory(task, ec) ? task / std::string(graph_file) : task);
}

Json machine() {
  Json json = {{"cores", std::thread::hardware_concurrency()}};
  if (auto driver = detect_gpus()) {
    json["driver"] = driver->version;
    for (const DetectedGpu& gpu : driver->gpus) json["gpus"].push_back(gpu.name);
  }
  // Clocks as they are right after the last timed call.
  std::string clocks;
  auto asked =
      run({{"nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu", "--format=csv,noheader"},
           {},
           std::chrono::seconds(10)},
          [&](std::string_view line) { clocks += std::string(line); });
  if (asked && asked->exit_code == 0) json["clocks"] = clocks;
  return json;
}

Json options_of(const VerifyOptions& options, const Task& task) {
  return {{"class", name(options.numerics)},
          {"device", options.device == runner::Device::cuda ? "cuda" : "emulated"},
          {"model_class", task.options.model_class},
          {"mode", stitch::name(task.options.mode)},
          {"baselines", options.baselines},
          {"sanitizer", options.sanitizer},
          {"quick", options.quick}};
}

Result<Json> read_receipt(const fs::path& path) {
  STITCH_TRY(std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json) return at(path.string(), json.error());
  if (!json->is_object() || json->value("stitch_receipt", 0) != receipt_version)
    return at(path.string(), user_error("receipt", "this is no receipt",
                                        "name a file that stitchcuda verify --receipt wrote"));
  Json copy = *json;
  std::string recorded = copy.value("sha256", "");
  copy.erase("sha256");
  if (recorded != sha256(copy.dump()))
    return at(path.string(),
              user_error("receipt", "this receipt was changed after it was written: its own hash differs"));
  return *std::move(json);
}

void compare_hashes(std::string_view what, const Json& then, const Json& now,
                    std::vector<std::string>& differences) {
  for (const auto& [file, hash] : then.items()) {
    if (is_about_program(file)) continue;
    if (!now.contains(file))
      differences.push_back(format("{} '{}' is missing", what, file));
    else if (now[file] != hash)
      differences.push_back(format("{} '{}' has changed", what, file));
  }
  for (const auto& [file, hash] : now.items())
    if (!then.contains(file) && !is_about_program(file))
      differences.push_back(format("{} '{}' is new", what, file));
}

}  // namespace

bool is_about_program(std::string_view file) {
  constexpr std::array<std::string_view, 7> names = {"README.md",          "verdict.json", "ledger.json",
                                                     "receipt.json",       "report.html",  ".stitchcuda",
                                                     "weights.safetensors"};
  return std::ranges::find(names, file) != names.end();
}

Result<Json> receipt_document(const ReceiptParts& parts, const Verdict& verdict) {
  STITCH_TRY(Json program, hash_program(parts.program));
  // As it was judged: the file may have changed since.
  auto read = [&] { return hash_task(parts.task.source); };
  STITCH_TRY(std::string task, parts.task.text.empty() ? read() : sha256(parts.task.text));
  const fs::path place = parts.moves ? "." : fs::absolute(parts.program);
  const fs::path source = parts.moves ? parts.task.source.filename() : fs::absolute(parts.task.source);
  Json json = {
      {"stitch_receipt", receipt_version},
      {"program", {{"path", place.string()}, {"sha256", program}, {"library_sha256", parts.library_hash}}},
      {"task", {{"path", source.string()}, {"sha256", task}}},
      {"options", options_of(parts.options, parts.task)},
      {"machine", machine()},
      {"verdict", to_json(verdict)}};
  json["sha256"] = sha256(json.dump());
  return json;
}

Result<void> write_receipt(const fs::path& path, const Session& session, const Verdict& verdict) {
  STITCH_TRY(Json json, receipt_document({.program = session.options.program,
                                          .library_hash = session.built.hash,
                                          .options = session.options,
                                          .task = *session.task.opened},
                                         verdict));
  return write_file(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<ReceiptCheck> check_receipt(const ReceiptOptions& options) {
  STITCH_TRY(Json receipt, read_receipt(options.receipt));
  ReceiptCheck out;
  try {
    auto now = [&](const fs::path& given, const char* what) {
      // One that is shipped with its program names no place of the machine it was made on.
      return given.empty() ? options.receipt.parent_path() / receipt.at(what).at("path").get<std::string>()
                           : given;
    };
    VerifyOptions again{.program = now(options.program, "program")};
    const fs::path source = now(options.task, "task");
    std::error_code missing;
    if (!fs::exists(source, missing))
      return at(
          options.receipt.string(),
          user_error("no_file", format("its task is not at {}", source.string()), "name it: --task FILE"));
    STITCH_TRY(Json program, hash_program(again.program));
    compare_hashes("the program's file", receipt.at("program").at("sha256"), program, out.differences);
    STITCH_TRY(std::string task, hash_task(source));
    if (task != receipt.at("task").at("sha256").get<std::string>())
      out.differences.push_back("the task has changed");
    if (!out.differences.empty()) return out;
    const Json& then = receipt.at("options");
    STITCH_TRY(again.numerics, parse_numerics(then.at("class").get<std::string>()));
    again.device = then.at("device") == "cuda" ? runner::Device::cuda : runner::Device::emulated;
    const std::string mode = then.value("mode", std::string(stitch::name(Mode::as_written)));
    const TaskOptions read{.model_class = then.at("model_class").get<std::string>(),
                           .mode = parse_mode(mode).value_or(Mode::as_written),
                           .python = options.python};
    if (options.mode != Mode::as_written && options.mode != read.mode)
      return at(options.receipt.string(),
                user_error("mode",
                           format("this receipt is of mode {}, --{} asks for {} mode", mode,
                                  stitch::name(options.mode), stitch::name(options.mode)),
                           format("leave --{} out", stitch::name(options.mode))));
    again.sanitizer = then.at("sanitizer").get<bool>();
    again.quick = then.at("quick").get<bool>();
    again.on_progress = options.on_progress;
    again.on_warning = options.on_warning;
    STITCH_TRY(Verdict verdict, verify(source, again, read));
    out.passed = verdict.passed();
    const Json& recorded = receipt.at("verdict");
    if (recorded.contains("timing")) {
      out.recorded_seconds = recorded["timing"].at("program").value("seconds", 0.0);
      out.seconds = verdict.timing ? verdict.timing->at("program").value("seconds", 0.0) : 0;
      if (out.passed &&
          std::fabs(out.seconds - out.recorded_seconds) > options.tolerance * out.recorded_seconds) {
        out.differences.push_back(format("a call takes {}, the receipt says {}", seconds_text(out.seconds),
                                         seconds_text(out.recorded_seconds)));
        out.passed = out.seconds < out.recorded_seconds;  // faster is a difference, not a broken promise
      }
    }
    out.verdict = std::move(verdict);
  } catch (const Json::exception& error) {
    return at(options.receipt.string(),
              user_error("receipt", format("this receipt can't be read: {}", error.what())));
  }
  return out;
}

}  // namespace stitch::verifier
