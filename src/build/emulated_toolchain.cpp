// Compiles programs for the emulated GPU. Rewriting and compiling read untrusted sources, so both run in a
// sandboxed process (compile_emulated/).
#include <nlohmann/json.hpp>
#include <set>

#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "build/toolchain.h"

namespace stitch::build {

namespace {

Result<fs::path> find_tool() {
  std::vector<fs::path> places = {
      executable_folder() / "stitch-compile-emulated",
      executable_folder().parent_path() / "libexec/stitchcuda/stitch-compile-emulated"};
#ifdef STITCH_COMPILE_EMULATED
  places.emplace_back(STITCH_COMPILE_EMULATED);
#endif
  for (const fs::path& place : places)
    if (auto program = find_program(place.string())) return *program;
  return work_error(
      "no_compiler",
      format("stitch-compile-emulated was not found beside stitchcuda ({})", places[0].string()),
      "reinstall StitchCUDA");
}

Result<std::string> hash_of_folder(const fs::path& folder) {
  std::error_code failed;
  std::set<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file(failed)) paths.insert(entry.path());
  Sha256 sum;
  for (const fs::path& path : paths) {
    STITCH_TRY(std::string hash, sha256_of_file(path));
    sum.add_field(path.lexically_relative(folder).string());
    sum.add_field(hash);
  }
  return sum.hex();
}

// Objects are built with -march=native.
std::string processor() {
#if defined(__x86_64__)
  auto text = read_file("/proc/cpuinfo");
  const size_t at = text ? text->find("flags") : std::string::npos;
  if (at != std::string::npos) return text->substr(at, text->find('\n', at) - at);
#endif
  return "any";
}

class EmulatedToolchain final : public Toolchain {
 public:
  static Result<std::unique_ptr<Toolchain>> create(const BuildRequest& request) {
    auto out = std::make_unique<EmulatedToolchain>();
    STITCH_TRY(out->tool_, find_tool());
    STITCH_TRY(out->installation_, emulated::find_installation());
    std::optional<fs::path> compiler = find_program("g++");
    if (!compiler) compiler = find_program("clang++");
    if (!compiler)
      return work_error("no_compiler", "no C++ compiler (g++, clang++) is on the PATH", "install g++");
    STITCH_TRY(std::string version, version_of(*compiler));
    STITCH_TRY(std::string tool, sha256_of_file(out->tool_));
    STITCH_TRY(std::string headers, hash_of_folder(out->installation_.headers));
    for (const fs::path& folder : request.include_dirs)
      out->options_.insert(out->options_.end(), {"--include", folder.string()});
    Sha256 sum;
    for (const std::string& part : {std::string("emulated/1"), version, tool, headers, processor()})
      sum.add_field(part);
    if (request.address_sanitizer) out->options_.emplace_back("--asan");
    if (request.count_accesses) out->options_.emplace_back("--count-accesses");
    sum.add_field(format("{} {}", request.address_sanitizer, request.count_accesses));
    // Sources other than regions are host code that runs once: optimising it took half of a build.
    const std::set<fs::path> regions(request.shareable.begin(), request.shareable.end());
    for (const fs::path& source : request.sources)
      if (!request.optimise || (!regions.empty() && !regions.contains(source)))
        out->not_optimised_.insert(source);
    // The runtime's path is part of the library.
    sum.add_field(out->installation_.runtime.string());
    out->identity_ = sum.hex();
    return Result<std::unique_ptr<Toolchain>>(std::move(out));
  }

  std::string identity() const override { return identity_; }
  std::string flags_of(const fs::path& source) const override {
    return not_optimised_.contains(source) ? "--no-optimise" : "";
  }

  Result<Compiled> compile(const fs::path& source, const fs::path& object, const Work& work) const override {
    const std::string list = object.string() + ".read";
    std::vector<std::string> words = {"object", "--source", source.string(), "--out", object.string(),
                                      "--read", list};
    if (std::string flag = flags_of(source); !flag.empty()) words.push_back(std::move(flag));
    STITCH_CHECK(run_tool(std::move(words), work));
    STITCH_TRY(std::string text, read_file(list));
    Compiled out;
    for (const std::string& line : split(text, '\n'))  // HASH PATH
      if (const size_t space = line.find(' '); space != line.npos)
        out.read.emplace(line.substr(space + 1), line.substr(0, space));
    return out;
  }

  Result<void> link(const std::vector<fs::path>& objects, const fs::path& library,
                    const Work& work) const override {
    std::vector<std::string> words = {"library", "--out", library.string()};
    for (const fs::path& object : objects) words.insert(words.end(), {"--object", object.string()});
    return run_tool(std::move(words), work);
  }

 private:
  Result<void> run_tool(std::vector<std::string> words, const Work& work) const {
    words.insert(words.begin(), tool_.string());
    words.insert(words.end(), options_.begin(), options_.end());
    STITCH_TRY(CompilerRun run,
               run_compiler(std::move(words), work, {tool_, installation_.headers, installation_.runtime}));
    if (run.exit_code == 0) return {};
    // Its last line is an Error; earlier output doesn't matter.
    const size_t last = run.output.rfind("\n{", run.output.size());
    auto json = parse_json(std::string_view(run.output).substr(last == std::string::npos ? 0 : last + 1));
    if (!json || !json->is_object() || !json->contains("error") || !json->at("error").is_object())
      return build_failure(run.output, work.scratch.string(), run.exit_code);
    const Json& told = json->at("error");
    Error error = user_error(told.value("code", ""), told.value("message", ""), told.value("fix", ""));
    error.where = told.value("where", "");
    if (told.value("exit_code", 2) == 1) error.blame = Error::Blame::work;
    if (error.code == error_code::compile_timeout) return build_took_too_long(0);
    if (error.code == error_code::compile)
      return build_failure(std::string_view(error.message).substr(error.message.find('\n') + 1),
                           work.scratch.string(), run.exit_code);
    if (error.blame == Error::Blame::user) error.code = "build_failed";
    return error;
  }

  fs::path tool_;
  emulated::Installation installation_;
  std::vector<std::string> options_;
  std::set<fs::path> not_optimised_;
  std::string identity_;
};

}  // namespace

Result<std::unique_ptr<Toolchain>> emulated_toolchain(const BuildRequest& request) {
  return EmulatedToolchain::create(request);
}

}  // namespace stitch::build
