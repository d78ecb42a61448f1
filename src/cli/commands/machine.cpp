// What the doctor finds out about the machine. Nothing here takes longer than a few seconds: no library is
// loaded to learn its version, and torch is not imported.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine/parallel.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "cli/commands/doctor.h"
#include "gpu/gpu_detect.h"
#include "gpu/gpu_spec.h"
#include "import/python.h"
#include "sandbox/sandbox.h"

namespace stitch {

namespace {

using enum Check::State;
constexpr auto patience = std::chrono::seconds(20);

Check present(std::string group, std::string name, std::string found) {
  return {std::move(group), std::move(name), there, std::move(found), {}, {}};
}

// The whole stdout of a program that went well.
std::optional<std::string> output_of(std::vector<std::string> words) {
  std::string text;
  auto finished = run({.words = std::move(words), .extra_environment = {}, .time_limit = patience},
                      [&](std::string_view line) { text += std::string(line) + '\n'; });
  if (!finished || finished->exit_code != 0) return std::nullopt;
  return text;
}

std::string first_line(const std::string& text) { return trim(split(text, '\n').front()); }

// ---- the machine

std::optional<double> memory_bytes() {
  auto text = read_file("/proc/meminfo");
  if (!text) return std::nullopt;
  for (const std::string& line : split(*text, '\n'))
    if (line.starts_with("MemTotal:"))
      if (auto kib = parse_integer(trim(line.substr(9, line.rfind(' ') - 9))))
        return static_cast<double>(*kib) * 1024;
  return std::nullopt;
}

// A container may have less than the machine.
std::optional<double> memory_limit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (auto text = read_file(path))
      if (auto bytes = parse_integer(trim(*text)); bytes && *bytes < (int64_t{1} << 50))
        return static_cast<double>(*bytes);
  return std::nullopt;
}

void examine_host(std::vector<Check>& out) {
  out.push_back(present("Machine", "CPU", format("{} cores", core_count())));
  double memory = memory_bytes().value_or(0);
  if (auto limit = memory_limit()) memory = std::min(memory, *limit);
  out.push_back(present("Machine", "memory", bytes_text(memory)));
  std::error_code ec;
  fs::path here = fs::current_path(ec);
  fs::space_info space = fs::space(here, ec);
  if (ec) return;
  Check disk =
      present("Machine", "disk",
              format("{} free in {}", bytes_text(static_cast<double>(space.available)), here.string()));
  if (space.available < 2'000'000'000) {
    disk.state = missing;
    disk.cost = "a build may not fit";
    disk.fix = "free 2 GB, or run in a folder on another disk";
  }
  out.push_back(std::move(disk));
}

// ---- the GPU and its tools

// Folders that may hold a CUDA toolkit, the likeliest first.
std::vector<fs::path> cuda_folders() {
  std::vector<fs::path> out;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (const char* value = std::getenv(name); value && *value) out.emplace_back(value);
  std::error_code ec;
  if (auto nvcc = find_program("nvcc")) {
    fs::path real = fs::canonical(*nvcc, ec);
    if (!ec) out.push_back(real.parent_path().parent_path());
  }
  out.emplace_back("/usr/local/cuda");
  out.emplace_back("/opt/cuda");
  std::erase_if(out, [&](const fs::path& folder) { return !fs::is_directory(folder, ec); });
  return out;
}

std::optional<fs::path> tool(const char* name) {
  if (auto found = find_program(name)) return found;
  std::error_code ec;
  for (const fs::path& folder : cuda_folders())
    for (const char* sub : {"bin", "compute-sanitizer", "extras/compute-sanitizer"})
      if (fs::exists(folder / sub / name, ec)) return folder / sub / name;
  for (const auto& version : fs::directory_iterator("/opt/nvidia/nsight-compute", ec))
    if (fs::exists(version.path() / name, ec)) return version.path() / name;
  return std::nullopt;
}

std::vector<fs::path> header_folders() {
  std::vector<fs::path> out;
  for (const fs::path& cuda : cuda_folders()) {
    out.push_back(cuda / "include");
    out.push_back(cuda / "extras/CUPTI/include");
  }
  out.insert(out.end(), {"/usr/local/include", "/usr/include", "/usr/include/x86_64-linux-gnu",
                         "/usr/include/aarch64-linux-gnu"});
  return out;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::path& cuda : cuda_folders()) {
    for (const char* sub : {"lib64", "lib", "extras/CUPTI/lib64"}) out.push_back(cuda / sub);
    for (const auto& target : fs::directory_iterator(cuda / "targets", ec))
      out.push_back(target.path() / "lib");
  }
  if (const char* paths = std::getenv("LD_LIBRARY_PATH"))
    for (const std::string& path : split(paths, ':'))
      if (!path.empty()) out.emplace_back(path);
  out.insert(out.end(), {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/lib",
                         "/usr/lib64", "/usr/lib"});
  return out;
}

std::optional<fs::path> find_header(const std::string& name) {
  std::error_code ec;
  for (const fs::path& folder : header_folders())
    if (fs::exists(folder / name, ec)) return folder / name;
  return std::nullopt;
}

// libNAME.so, libNAME.so.9, ...
std::optional<fs::path> find_library(const std::string& name) {
  std::error_code ec;
  for (const fs::path& folder : library_folders())
    for (const auto& entry : fs::directory_iterator(folder, ec))
      if (entry.path().filename().string().starts_with("lib" + name + ".so")) return entry.path();
  return std::nullopt;
}

// "9.19.0" from #defines PREFIX_MAJOR and so on in a header.
std::string header_version(const fs::path& header, const std::vector<std::string>& defines) {
  auto text = read_file(header);
  if (!text) return {};
  std::vector<std::string> parts;
  for (const std::string& define : defines)
    for (const std::string& line : split(*text, '\n')) {
      if (!line.starts_with("#define " + define + " ")) continue;
      parts.push_back(trim(line.substr(define.size() + 9)));
      break;
    }
  return parts.size() == defines.size() ? join(parts, ".") : std::string();
}

Check library(const std::string& name, const std::string& header, const std::string& file,
              const std::string& version, std::string cost, std::string fix) {
  auto found_header = find_header(header);
  auto found_library = find_library(file);
  if (found_header && found_library)
    return present("CUDA", name, (version.empty() ? "" : version + "  ") + found_library->string());
  std::string half = found_header ? "header without library" : found_library ? "library without header" : "";
  return {"CUDA", name, missing, half, std::move(cost), std::move(fix)};
}

bool examine_gpu(std::vector<Check>& out) {
  auto driver = detect_gpus();
  if (!driver) {
    bool no_gpu = driver.error().code == error_code::no_driver || driver.error().code == error_code::no_gpu;
    out.push_back(
        {"CUDA", "GPU", missing, driver.error().message,
         "programs run on the emulated device, times are estimates",
         no_gpu ? "run where there is an NVIDIA GPU and its driver" : "reinstall or restart the driver"});
    return false;
  }
  for (const DetectedGpu& gpu : driver->gpus) {
    std::string known =
        find_gpu(gpu.name)
            ? ""
            : ", not in the built-in table: its rates are derived from what the driver reports";
    out.push_back(present(
        "CUDA", "GPU",
        format("{}, {}, {} SMs, compute capability {}{}", gpu.name,
               bytes_text(static_cast<double>(gpu.memory_bytes)), gpu.sms, gpu.compute_capability, known)));
  }
  out.push_back(present("CUDA", "driver",
                        format("{}{}CUDA up to {}", driver->version, driver->version.empty() ? "" : ", ",
                               driver->cuda_version)));
  return true;
}

void examine_cuda(std::vector<Check>& out) {
  bool gpu = examine_gpu(out);
  if (auto nvcc = tool("nvcc")) {
    std::string version = "unknown version";
    if (auto text = output_of({nvcc->string(), "--version"}))
      if (size_t at = text->find("release "); at != std::string::npos)
        version = text->substr(at + 8, text->find(',', at) - at - 8);
    out.push_back(present("CUDA", "nvcc", version + "  " + nvcc->string()));
  } else {
    out.push_back(
        {"CUDA", "nvcc", gpu ? needed : missing, "",
         gpu ? "no program can be built for the GPU" : "programs are built for the emulated device only",
         "install the CUDA toolkit 13, or set CUDA_HOME to it"});
  }
  std::string cublas = "", cudnn = "";
  if (auto header = find_header("cublas_api.h"))
    cublas = header_version(*header, {"CUBLAS_VER_MAJOR", "CUBLAS_VER_MINOR", "CUBLAS_VER_PATCH"});
  if (auto header = find_header("cudnn_version.h"))
    cudnn = header_version(*header, {"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"});
  out.push_back(library("cuBLASLt", "cublasLt.h", "cublasLt", cublas,
                        "matrix products use our own kernels only", "install the CUDA toolkit with cuBLAS"));
  out.push_back(library("cuDNN", "cudnn.h", "cudnn", cudnn, "convolutions use our own kernels only",
                        "install cuDNN 9 for CUDA 13 into the CUDA folder"));
  out.push_back(library("CUPTI", "cupti.h", "cupti", "", "profiles have no timeline of kernels and gaps",
                        "install the CUDA toolkit with CUPTI"));
  if (auto ncu = tool("ncu")) {
    Check check = present("CUDA", "ncu", ncu->string());
    auto parameters = read_file("/proc/driver/nvidia/params");
    if (parameters && parameters->find("RmProfilingAdminOnly: 1") != std::string::npos && ::geteuid() != 0) {
      check.state = missing;
      check.cost = "the driver restricts counters to root, so profiles have no hardware counters";
      check.fix = "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    }
    out.push_back(std::move(check));
  } else {
    out.push_back({"CUDA", "ncu", missing, "", "hardware counters are read with CUPTI alone",
                   "install Nsight Compute"});
  }
  if (auto sanitizer = tool("compute-sanitizer"))
    out.push_back(present("CUDA", "compute-sanitizer", sanitizer->string()));
  else
    out.push_back({"CUDA", "compute-sanitizer", missing, "",
                   "races and invalid accesses are only checked on the emulated device",
                   "install the CUDA toolkit with compute-sanitizer"});
}

// ---- Python

// Versions from the packages' metadata; torch's CUDA from its version file, because importing it takes
// seconds.
constexpr const char* python_probe = R"(
import importlib.metadata, importlib.util, json, os, platform
found = {"python": platform.python_version()}
for package in ("torch", "torchvision", "transformers", "einops"):
    try: found[package] = importlib.metadata.version(package)
    except Exception: pass
try:
    names = {}
    folder = os.path.dirname(importlib.util.find_spec("torch").origin)
    exec(open(os.path.join(folder, "version.py")).read(), names)
    found["torch"] = names.get("__version__", found.get("torch"))
    found["cuda"] = names.get("cuda")
except Exception: pass
print(json.dumps(found))
)";

void examine_python(std::vector<Check>& out, bool gpu) {
  constexpr const char* no_import = "Python models can't be imported; saved graphs still work";
  auto python = find_python();
  if (!python) {
    out.push_back({"Python", "python", needed, python.error().message, no_import, python.error().fix});
    return;
  }
  auto text = output_of({python->string(), "-c", python_probe});
  auto found = text ? parse_json(*text) : Result<Json>(work_error("python", "it doesn't run"));
  if (!found || !found->is_object()) {
    out.push_back({"Python", "python", needed, python->string() + " doesn't run", no_import,
                   "set STITCHCUDA_PYTHON to a Python 3.10 or newer that has torch"});
    return;
  }
  auto version = [&](const char* key) {
    return found->contains(key) && (*found)[key].is_string() ? (*found)[key].get<std::string>()
                                                             : std::string();
  };
  out.push_back(present("Python", "python", version("python") + "  " + python->string()));
  std::string pip = python->string() + " -m pip install ";
  if (version("torch").empty()) {
    out.push_back({"Python", "torch", needed, "", no_import, pip + "torch"});
  } else if (gpu && version("cuda").empty()) {
    out.push_back({"Python", "torch", missing, version("torch") + ", built without CUDA",
                   "PyTorch baselines can't be timed on the GPU", "install a torch built for CUDA 13"});
  } else {
    std::string cuda = version("cuda").empty() ? "without CUDA" : "for CUDA " + version("cuda");
    out.push_back(present("Python", "torch", version("torch") + ", built " + cuda));
  }
  for (const char* package : {"torchvision", "transformers", "einops"}) {
    if (!version(package).empty())
      out.push_back(present("Python", package, version(package)));
    else
      out.push_back({"Python", package, missing, "", "models that use it can't be imported", pip + package});
  }
}

// ---- building and running what was generated

void examine_compilers(std::vector<Check>& out) {
  bool any = false;
  for (const char* name : {"g++", "clang++"}) {
    auto path = find_program(name);
    if (!path) continue;
    any = true;
    auto text = output_of({path->string(), "--version"});
    out.push_back(present("Building", name, text ? first_line(*text) : path->string()));
  }
  if (!any)
    out.push_back({"Building", "C++ compiler", needed, "",
                   "no program can be built, not even for the emulated device",
                   "install g++ 12 or newer (apt-get install g++)"});
  if (auto cmake = find_program("cmake")) {
    auto text = output_of({cmake->string(), "--version"});
    out.push_back(present("Building", "cmake", text ? first_line(*text) : cmake->string()));
  } else {
    out.push_back({"Building", "cmake", missing, "", "generated programs can't be rebuilt with CMake here",
                   "install cmake 3.22 or newer"});
  }
}

// Each wall is tried, not guessed at: distributions have many switches.
void examine_sandbox(std::vector<Check>& out) {
  const std::vector<sandbox::Wall>& walls = sandbox::walls();
  auto stands = [&](sandbox::Wall wall) { return std::ranges::find(walls, wall) != walls.end(); };
  out.push_back(present("Sandbox", "confinement", sandbox::describe_walls()));
  if (const std::vector<std::string> open = sandbox::unbounded(); !open.empty())
    out.push_back(present("Sandbox", "not limited", join(open, "; ")));
  if (!sandbox::can_confine_tools())
    out.push_back(
        {"Sandbox", "tools", missing, "",
         "compute-sanitizer and ncu are not run on candidates: " + sandbox::why_tools_are_not_confined(),
         "install bubblewrap and allow user namespaces"});
  if (!sandbox::keeps_files_apart())
    out.push_back({"Sandbox", "files", missing, "", "candidates can read all files that you can read",
                   "install bubblewrap and allow user namespaces, or use a kernel with Landlock"});
  if (!stands(sandbox::Wall::seccomp))
    out.push_back({"Sandbox", "seccomp", missing, "", "system calls of candidates can't be filtered",
                   "use a kernel with CONFIG_SECCOMP_FILTER"});
}

}  // namespace

std::vector<Check> examine_machine() {
  std::vector<Check> out;
  examine_host(out);
  examine_cuda(out);
  bool gpu = std::ranges::any_of(out, [](const Check& c) { return c.name == "GPU" && c.state == there; });
  examine_python(out, gpu);
  examine_compilers(out);
  examine_sandbox(out);
  return out;
}

}  // namespace stitch
