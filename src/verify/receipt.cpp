#include "verify/receipt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "graph/folder.h"
#include "verify/measured.h"
#include "verify/signing_key.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

constexpr int receipt_version = 2;  // 1 was not signed
// What model_new.py loads.
constexpr const char* shipped_library = "build/libprogram.so";

fs::path folder_of(const fs::path& program) {
  std::error_code ec;
  return fs::is_directory(program, ec) ? program : program.parent_path();
}

// Every file of the program, by its path inside: all that a folder holds, or the one file; and those in
// `named`, which are headers beside a single file, or lie where a build would put its own.
Result<Json> hash_program(const fs::path& program, const std::set<std::string>& named) {
  std::error_code ec;
  std::set<std::string> files = named;
  if (fs::is_directory(program, ec)) {
    for (const auto& entry : fs::recursive_directory_iterator(program, ec))
      if (const fs::path file = entry.path().lexically_relative(program);
          entry.is_regular_file() && *file.begin() != "build")
        files.insert(file.generic_string());
  } else {
    files.insert(program.filename().string());
  }
  Json hashes = Json::object();
  for (const std::string& file : files) {
    const fs::path path = folder_of(program) / file;
    if (named.contains(file) && !fs::exists(path, ec)) continue;
    STITCH_TRY(hashes[file], sha256_of_file(path));
  }
  return hashes;
}

// What the compiler read in the program's folder, with its hashes.
Json read_in_folder(const build::FilesRead& read, const fs::path& program) {
  std::error_code ec;
  const fs::path folder = fs::weakly_canonical(folder_of(fs::absolute(program)), ec);
  Json out = Json::object();
  for (const auto& [path, hash] : read)
    // By its own name, though it may be a link; its folder as it really is.
    if (const fs::path file =
            (fs::weakly_canonical(path.parent_path(), ec) / path.filename()).lexically_relative(folder);
        !file.empty() && *file.begin() != "..")
      out[file.generic_string()] = hash;
  return out;
}

std::set<std::string> names_of(const Json& hashes) {
  std::set<std::string> out;
  for (const auto& [file, hash] : hashes.items()) out.insert(file);
  return out;
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

// What the signature is over: all of the document but the signature.
std::string signed_text(Json document) {
  document.erase("signature");
  return line_text(document);
}

Error unsigned_receipt(const fs::path& path, std::string message, std::string fix = {}) {
  return at(path.string(), user_error("receipt", std::move(message), std::move(fix)));
}

Result<void> check_signature(const Json& receipt, const ReceiptOptions& options, std::string& signed_by) {
  const auto key = parse_key(word(receipt, "key"));
  const auto signature = parse_signature(word(receipt, "signature"));
  if (!key || !signature || !is_signed_by(signed_text(receipt), *signature, *key))
    return unsigned_receipt(
        options.receipt, "this receipt was changed after it was written: its signature is of something else");
  signed_by = hex_of(*key);
  std::optional<KeyBytes> trusted = options.key;
  if (!trusted) {
    STITCH_TRY(trusted, own_public_key());
  }
  if (trusted == key) return {};
  if (options.key)
    return unsigned_receipt(
        options.receipt, format("this receipt is signed with the key {}, not with the one given", signed_by));
  return unsigned_receipt(
      options.receipt, format("this receipt is signed with the key {}, not by this installation", signed_by),
      "if you know whose key that is and trust them: --key " + signed_by);
}

Result<Json> read_receipt(const fs::path& path) {
  STITCH_TRY(std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json) return at(path.string(), json.error());
  const Json* version =
      json->is_object() && json->contains("stitch_receipt") ? &(*json)["stitch_receipt"] : nullptr;
  if (!version || !version->is_number_integer())
    return unsigned_receipt(path, "this is no receipt", "name a file that stitchcuda verify --receipt wrote");
  if (*version != receipt_version)
    return unsigned_receipt(path,
                            format("this receipt is of version {}, which isn't signed as version {} is",
                                   version->dump(), receipt_version),
                            "verify the program again with --receipt");
  return *std::move(json);
}

void compare_files(const Json& recorded, const Json& now, std::vector<std::string>& differences) {
  const Json& then = recorded.at("sha256");
  const auto read = recorded.at("read").get<std::set<std::string>>();
  auto left_out = [&](const std::string& file) { return is_about_program(file) && !read.contains(file); };
  for (const auto& [file, hash] : then.items()) {
    if (left_out(file)) continue;
    if (!now.contains(file))
      differences.push_back(format("the program's file '{}' is missing", file));
    else if (now[file] != hash)
      differences.push_back(format("the program's file '{}' has changed", file));
  }
  for (const auto& [file, hash] : now.items())
    if (!then.contains(file) && !left_out(file))
      differences.push_back(format("the program's file '{}' is new", file));
}

// The library that goes with a program must be the one that was judged.
void compare_shipped_library(const fs::path& program, const Json& receipt,
                             std::vector<std::string>& differences) {
  std::error_code ec;
  if (!fs::is_directory(program, ec) || !fs::exists(program / shipped_library, ec)) return;
  auto hash = sha256_of_file(program / shipped_library);
  if (!hash || *hash != word(receipt.at("program"), "library_sha256"))
    differences.push_back(format("'{}' is not the library that was verified", shipped_library));
}

// What the checker asks for and the receipt is not of.
void compare_request(const Json& receipt, const ReceiptOptions& options,
                     std::vector<std::string>& differences) {
  const Json& then = receipt.at("options");
  const std::string numerics = then.at("class").get<std::string>(),
                    device = then.at("device").get<std::string>();
  if (numerics != name(options.numerics))
    differences.push_back(format("it is of numerics class {}, checked is {} (--numerics {} checks for that)",
                                 numerics, name(options.numerics), numerics));
  const std::string_view here = options.device == runner::Device::cuda ? "cuda" : "emulated";
  if (device != here)
    differences.push_back(format("it was made on the {} device, checked is {}{}", device, here,
                                 device == "emulated" ? " (--device emulated checks for that)" : ""));
}

// Times and speedup again. What isn't timed here doesn't hold.
void compare_times(const Json& recorded, const Verdict& verdict, double tolerance, ReceiptCheck& out) {
  out.recorded_seconds = recorded.at("program").at("seconds").get<double>();
  const auto timing = timing_of(verdict);
  if (!timing) {
    out.differences.push_back("the receipt has times, and nothing was timed here");
    out.passed = false;
    return;
  }
  out.seconds = timing->seconds;
  if (std::fabs(out.seconds - out.recorded_seconds) > tolerance * out.recorded_seconds) {
    out.differences.push_back(format("a call takes {}, the receipt says {}", seconds_text(out.seconds),
                                     seconds_text(out.recorded_seconds)));
    // Faster is a difference, not a broken promise.
    if (!(out.seconds < out.recorded_seconds)) out.passed = false;
  }
  if (!recorded.contains("speedup")) return;
  const double claimed = recorded.at("speedup").get<double>();
  if (!timing->speedup) {
    out.differences.push_back(
        format("the receipt says {:.2f}x, and no baseline was timed here to hold it against", claimed));
    out.passed = false;
  } else if (const double seen = *timing->speedup; !(seen >= (1 - tolerance) * claimed)) {
    out.differences.push_back(
        format("it is {:.2f}x as fast as PyTorch, the receipt says {:.2f}x", seen, claimed));
    out.passed = false;
  }
}

}  // namespace

bool is_about_program(std::string_view file) {
  constexpr std::array<std::string_view, 8> names = {"README.md",    "verdict.json",       "ledger.json",
                                                     "receipt.json", "plan.json",          "report.html",
                                                     ".stitchcuda",  "weights.safetensors"};
  return std::ranges::find(names, file) != names.end();
}

Result<Json> receipt_document(const ReceiptParts& parts, const Verdict& verdict) {
  const Json compiled = read_in_folder(parts.read, parts.program);
  const std::set<std::string> read = names_of(compiled);
  STITCH_TRY(Json program, hash_program(parts.program, read));
  program.update(compiled);  // a file may have changed since
  // As it was judged: the file may have changed since.
  STITCH_TRY(std::string task,
             parts.task.text.empty() ? hash_task(parts.task.source) : sha256(parts.task.text));
  const fs::path place = parts.moves ? "." : fs::absolute(parts.program);
  const fs::path source = parts.moves ? parts.task.source.filename() : fs::absolute(parts.task.source);
  Json json = {{"stitch_receipt", receipt_version},
               {"program",
                {{"path", place.string()},
                 {"sha256", program},
                 {"read", read},
                 {"library_sha256", parts.library_hash}}},
               {"task", {{"path", source.string()}, {"sha256", task}}},
               {"options", options_of(parts.options, parts.task)},
               {"machine", machine()},
               {"verdict", to_json(verdict)}};
  STITCH_TRY(KeyBytes seed, signing_key());
  json["key"] = hex_of(public_key_of(seed));
  // As it will be read back: broken UTF-8 is replaced.
  STITCH_TRY(json, parse_json(line_text(json)));
  json["signature"] = hex_of(sign(signed_text(json), seed));
  return json;
}

Result<void> write_receipt(const fs::path& path, const ReceiptParts& parts, const Verdict& verdict) {
  STITCH_TRY(Json json, receipt_document(parts, verdict));
  return write_file(path, document_text(json));
}

Result<ReceiptCheck> check_receipt(const ReceiptOptions& options) {
  STITCH_TRY(Json receipt, read_receipt(options.receipt));
  ReceiptCheck out;
  STITCH_CHECK(check_signature(receipt, options, out.signed_by));
  try {
    auto now = [&](const fs::path& given, const char* what) {
      // One that is shipped with its program names no place of the machine it was made on.
      return given.empty() ? options.receipt.parent_path() / receipt.at(what).at("path").get<std::string>()
                           : given;
    };
    VerifyOptions again{.program = now(options.program, "program"),
                        .numerics = options.numerics,
                        .device = options.device,
                        .sanitizer = true};
    const fs::path source = now(options.task, "task");
    std::error_code missing;
    if (!fs::exists(source, missing))
      return at(
          options.receipt.string(),
          user_error("no_file", format("its task is not at {}", source.string()), "name it: --task FILE"));
    const Json& then = receipt.at("options");
    const std::string mode = then.at("mode").get<std::string>();
    const TaskOptions read{.model_class = then.at("model_class").get<std::string>(),
                           .mode = parse_mode(mode).value_or(Mode::as_written),
                           .python = options.python,
                           .limits = options.limits ? options.limits(again.program) : RewriteLimits{}};
    if (options.mode != Mode::as_written && options.mode != read.mode)
      return at(options.receipt.string(),
                user_error("mode",
                           format("this receipt is of mode {}, --{} asks for {} mode", mode,
                                  stitch::name(options.mode), stitch::name(options.mode)),
                           format("leave --{} out", stitch::name(options.mode))));
    const Json& recorded_program = receipt.at("program");
    STITCH_TRY(Json program, hash_program(again.program, names_of(recorded_program.at("sha256"))));
    compare_files(recorded_program, program, out.differences);
    compare_shipped_library(again.program, receipt, out.differences);
    STITCH_TRY(std::string task, hash_task(source));
    if (task != receipt.at("task").at("sha256").get<std::string>())
      out.differences.push_back("the task has changed");
    compare_request(receipt, options, out.differences);
    const Json& recorded = receipt.at("verdict");
    out.claims_speed = recorded.contains("timing");
    if (!out.differences.empty()) return out;
    if (out.claims_speed) again.baselines = then.at("baselines").get<std::vector<std::string>>();
    again.on_progress = options.on_progress;
    again.on_warning = options.on_warning;
    STITCH_TRY(Verdict verdict, verify(source, again, read));
    out.passed = verdict.passed();
    if (out.passed && out.claims_speed) compare_times(recorded["timing"], verdict, options.tolerance, out);
    out.verdict = std::move(verdict);
  } catch (const Json::exception& error) {
    return unsigned_receipt(options.receipt, format("this receipt can't be read: {}", error.what()));
  }
  return out;
}

}  // namespace stitch::verifier
