#include "runner/start.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/process.h"
#include "build/build.h"
#include "build/compile_emulated/compile.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {

namespace {

// Where an interpreter finds its packages, so that a candidate's process finds the same.
struct PythonRoots {
  // Folders of installed packages, including those of .pth files and the user's site, and the one with torch.
  // Not the rest of sys.path, which may contain the task.
  std::vector<fs::path> packages;
  fs::path user_base;  // of the user's site, found through HOME; empty: not used
};

constexpr const char* question = R"(
import importlib.util, json, os, site, sys
packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)]
torch = importlib.util.find_spec("torch")
if torch and torch.origin:
    packages.append(os.path.dirname(os.path.dirname(torch.origin)))
print(json.dumps({"packages": sorted(set(packages)), "user_base": site.getuserbase() if site.ENABLE_USER_SITE else ""}))
)";

PythonRoots ask(const fs::path& python) {
  std::string answer;
  (void)run({{python.string(), "-c", question}, {}, std::chrono::seconds(20)},
            [&](std::string_view line) { answer = line; });
  auto json = parse_json(answer);
  if (!json || !json->is_object()) return {};
  PythonRoots out;
  for (const Json& path : json->value("packages", Json::array()))
    out.packages.emplace_back(path.get<std::string>());
  out.user_base = json->value("user_base", "");
  return out;
}

// Runs each interpreter once. Empty if it can't be run.
const PythonRoots& python_roots(const fs::path& python) {
  static std::mutex mutex;
  static std::map<fs::path, PythonRoots> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(python);
  if (found == known.end()) found = known.emplace(python, ask(python)).first;
  return found->second;
}

}  // namespace

namespace {

// The project's own Python package; its interpreter comes from the options.
fs::path python_package() {
  std::error_code ignored;
  std::vector<fs::path> homes;
  if (const char* home = std::getenv("STITCHCUDA_HOME")) homes.emplace_back(home);
  homes.push_back(executable_folder().parent_path() / "share/stitchcuda");
#ifdef STITCH_SOURCE_DIR
  homes.emplace_back(STITCH_SOURCE_DIR);
#endif
  for (const fs::path& home : homes)
    if (fs::is_directory(home / "python/stitchcuda_torch", ignored))
      return fs::weakly_canonical(home / "python", ignored);
  return homes.front() / "python";
}

constexpr int64_t most_disk = int64_t{1} << 30, most_disk_of_python = int64_t{8} << 30;
// A cooperative launch on the emulated GPU has an OS thread for each of up to 2,112 blocks.
constexpr int most_threads = 8192;

// For extensions that PyTorch compiles: ninja is next to the interpreter of a virtual environment that wasn't
// activated, and CUDA_HOME is set where the toolkit isn't found by itself.
void add_build_tools(const Options& options, Command& command, sandbox::Policy& policy) {
  const char* path = std::getenv("PATH");
  command.extra_environment["PATH"] =
      options.python.parent_path().string() + (path ? format(":{}", path) : "");
  if (options.device != Device::cuda || std::getenv("CUDA_HOME") || std::getenv("CUDA_PATH")) return;
  auto nvcc = build::find_nvcc();
  if (!nvcc) return;
  const fs::path home = nvcc->path.parent_path().parent_path();
  command.extra_environment["CUDA_HOME"] = home.string();
  if (home != "/usr") policy.readable.push_back(home);
}

// A tool is confined with its candidate. It starts it, talks to it over sockets, and finds its libraries in
// its own folder.
void allow_tool(const char* tool, sandbox::Policy& policy) {
  policy.may_start_processes = true;
  policy.own_network = true;
  std::error_code ignored;
  if (auto program = find_program(tool)) {
    policy.readable.push_back(program->parent_path());
    policy.readable.push_back(fs::weakly_canonical(*program, ignored).parent_path());
  }
}

// AddressSanitizer must be preloaded.
Result<std::string> sanitizer_library() {
  std::string found;
  STITCH_TRY(Finished finished, run({{"g++", "-print-file-name=libasan.so"}, {}, std::chrono::seconds(20)},
                                    [&](std::string_view line) { found = line; }));
  if (finished.exit_code != 0 || found.find('/') == std::string::npos)
    return work_error(error_code::no_sanitizer, "g++ has no AddressSanitizer on this machine",
                      "install libasan");
  std::error_code ignored;
  return fs::canonical(found, ignored).string();
}

}  // namespace

Command python_candidate_command(const fs::path& python) {
  // Inductor would start one process per core, each of which imports PyTorch.
  Command command = {{python.string(), "-m", "stitchcuda_torch.candidate"},
                     {{"PYTHONPATH", python_package().string()},
                      {"PYTHONDONTWRITEBYTECODE", "1"},
                      {"TORCHINDUCTOR_COMPILE_THREADS", "1"}}};
  if (const fs::path& base = python_roots(python).user_base; !base.empty())
    command.extra_environment["PYTHONUSERBASE"] = base.string();
  return command;
}

Result<fs::path> find_runner() {
  std::vector<fs::path> places = {executable_folder() / "stitch-runner",
                                  executable_folder().parent_path() / "libexec/stitchcuda/stitch-runner"};
#ifdef STITCH_RUNNER
  places.emplace_back(STITCH_RUNNER);
#endif
  for (const fs::path& place : places)
    if (auto program = find_program(place.string())) return *program;
  return work_error("runner",
                    format("the program stitch-runner is not next to this one ({})", places.front().string()),
                    "build or install StitchCUDA again, whole");
}

Result<Started> start_process(const Options& options, const fs::path& scratch) {
  Command command;
  sandbox::Policy policy;
  policy.readable = options.readable;
  policy.writable = {scratch};
  policy.kept_descriptors = 3;
  policy.gpu = options.device == Device::cuda;
  fs::path runtime;
  if (!options.python.empty()) {
    command = python_candidate_command(options.python);
    policy.readable.push_back(python_package());
    add_build_tools(options, command, policy);
    // A virtual environment's bin/python links outside it.
    std::error_code ignored;
    for (const fs::path& place : {options.python, fs::weakly_canonical(options.python, ignored)})
      if (fs::path prefix = place.parent_path().parent_path(); prefix != "/usr" && prefix != "/")
        policy.readable.push_back(prefix);
    const std::vector<fs::path>& packages = python_roots(options.python).packages;
    policy.readable.insert(policy.readable.end(), packages.begin(), packages.end());
    // It compiles its kernels itself.
    policy.may_start_processes = true;
  } else {
    STITCH_TRY(fs::path runner, find_runner());
    command.words = {runner.string()};
    if (options.device == Device::emulated) {
      STITCH_TRY(emulated::Installation installation, emulated::find_installation());
      runtime = installation.runtime;
      policy.readable.push_back(runtime);
    }
    // process_usage.h enforces the memory limit; RLIMIT_DATA, which makes allocations fail, is a second line.
    // AddressSanitizer and the GPU driver reserve terabytes that they never touch.
    if (options.device == Device::emulated && !options.address_sanitizer)
      policy.memory_limit = 2 * options.memory_limit + (int64_t{1} << 30);
  }
  if (options.address_sanitizer) {
    STITCH_TRY(std::string library, sanitizer_library());
    command.extra_environment["LD_PRELOAD"] = library;
    command.extra_environment["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=1";
  }
  if (!options.tool.empty()) {
    std::vector<std::string> around = {"compute-sanitizer", "--tool", options.tool, "--launch-timeout", "60"};
    command.words.insert(command.words.begin(), around.begin(), around.end());
    allow_tool("compute-sanitizer", policy);
    policy.readable.push_back(command.words[around.size()]);
  }
  // A second limit by the kernel, above what process_usage.h enforces.
  policy.group_memory = 2 * options.memory_limit + (int64_t{1} << 30);
  policy.group_threads = 2 * most_threads;
  ProcessLimits limits;
  limits.memory = options.memory_limit;
  limits.scratch = scratch;
  // Compiled programs write only drivers' kernel caches; Python builds its kernels there.
  limits.disk = options.python.empty() ? most_disk : most_disk_of_python;
  limits.threads = most_threads;
  limits.given_up = options.given_up;
  // PID 1 of a namespace can't end by a signal.
  limits.signals_as_codes =
      sandbox::has(sandbox::Wall::bubblewrap) ||
      (sandbox::has(sandbox::Wall::network_namespace) && policy.may_start_processes && !policy.gpu);
  if (!options.python.empty() && options.tool.empty() && !options.address_sanitizer &&
      sandbox::can_confine_forks()) {
    STITCH_TRY(const sandbox::ForkConfinement confinement, sandbox::confine_fork(command, policy));
    limits.group = confinement.group;
    if (auto lent = Process::start_lent(options.python, confinement, limits))
      return Started{*std::move(lent), runtime};
  }
  STITCH_TRY(command, sandbox::confine(std::move(command), policy));
  limits.group = sandbox::group_of(command);
  STITCH_TRY(Process process, Process::start(command, limits));
  return Started{std::move(process), runtime};
}

}  // namespace stitch::runner
