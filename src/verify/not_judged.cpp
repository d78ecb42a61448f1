#include "verify/not_judged.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error_codes.h"
#include "base/file.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "import/python.h"
#include "runner/process_usage.h"

namespace stitch::verifier {

namespace {

constexpr int64_t little_disk = int64_t{512} << 20;
constexpr double much_of_a_gpu = 0.25;

bool says(const std::string& text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases,
                             [&](std::string_view phrase) { return text.find(phrase) != text.npos; });
}

bool toolkit_for_pytorch() {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::getenv(name)) return true;
  std::error_code ec;
  return find_program("nvcc").has_value() || fs::exists("/usr/local/cuda", ec);
}

// On the PATH, or beside the interpreter: candidates find both.
bool ninja_for_pytorch() {
  auto python = find_python();
  return find_program("ninja") || (python && find_program((python->parent_path() / "ninja").string()));
}

// "oom_kill 3": the machine's, and a container's own.
int64_t count_in(const char* file) {
  std::ifstream in(file);
  std::string word;
  for (int64_t value = 0; in >> word >> value;)
    if (word == "oom_kill") return value;
  return 0;
}

// "12, 143771" (MiB) of each GPU: the fullest one's.
double share_of_gpu_memory() {
  double out = 0;
  (void)run({{"nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"},
             {},
             std::chrono::seconds(10)},
            [&](std::string_view line) {
              const std::vector<std::string> parts = split(line, ',');
              if (parts.size() != 2) return;
              const auto used = parse_number(trim(parts[0]) + ".0"),
                         all = parse_number(trim(parts[1]) + ".0");
              if (used && all && *all > 0) out = std::max(out, *used / *all);
            });
  return out;
}

// "cpu 10 0 5 800 …": user, nice, system, idle, waiting for disks and so on, of all cores together.
std::pair<double, double> idle_and_all() {
  std::ifstream in("/proc/stat");
  std::string word;
  in >> word;
  double all = 0, idle = 0, value = 0;
  for (int i = 0; i < 8 && in >> value; ++i) {
    all += value;
    if (i == 3 || i == 4) idle += value;
  }
  return {idle, all};
}

double share_of_cores_busy() {
  const auto [idle_before, all_before] = idle_and_all();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  const auto [idle, all] = idle_and_all();
  return all > all_before ? 1 - (idle - idle_before) / (all - all_before) : 0;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456" (microseconds). Many machines count that for single
// threads only: then for ours, and those of the candidate.
double seconds_pressed() {
  std::ifstream in("/proc/pressure/cpu");
  constexpr std::string_view mark = "total=";
  for (std::string word; in >> word;)
    if (word.starts_with(mark)) return parse_number(word.substr(mark.size()) + ".0").value_or(0) / 1e6;
  return runner::waited_for_cores(::getpid());
}

// A Python file that is for a GPU alone: its kernels, Triton's, or tensors that it moves there.
bool needs_a_gpu(const std::string& source) {
  return says(source, {"cuda_sources", "__global__", "import triton", "from triton", ".cuda(",
                       "CUDAExtension", "device=\"cuda\"", "device='cuda'", "torch.cuda."});
}

Error lacks(std::string code, std::string_view what, const Error& failure, std::string fix) {
  return work_error(std::move(code), format("{}: {}", what, failure.message), std::move(fix));
}

}  // namespace

bool is_out_of_gpu_memory(const Error& error) {
  return says(error.message,
              {"out of memory", "OutOfMemory", "CUBLAS_STATUS_ALLOC_FAILED", "GPU's memory is full"});
}

bool is_machines(const Error& error) {
  if (error.code == error_code::stopped) return false;
  if (error.blame == Error::Blame::work) return true;
  constexpr std::array<std::string_view, 13> lacking = {error_code::no_gpu,
                                                        error_code::no_driver,
                                                        "driver",
                                                        "no_nvcc",
                                                        "no_compiler",
                                                        error_code::no_python,
                                                        "no_package",
                                                        error_code::memory,
                                                        "too_large",
                                                        error_code::disk,
                                                        "module",
                                                        "download",
                                                        "crash"};
  return std::ranges::find(lacking, error.code) != lacking.end();
}

const MachineSenses& senses_here() {
  static const MachineSenses senses{
      .has_gpu =
          [] {
            auto driver = detect_gpus();
            return driver && !driver->gpus.empty();
          },
      .has_cuda_home = toolkit_for_pytorch,
      .has_ninja = ninja_for_pytorch,
      .free_disk =
          [] {
            int64_t least = INT64_MAX;
            for (const fs::path& place : {fs::temp_directory_path(), cache_folder()}) {
              std::error_code ec;
              const fs::space_info space = fs::space(place, ec);
              if (!ec)
                least =
                    std::min(least, static_cast<int64_t>(std::min<uintmax_t>(space.available, INT64_MAX)));
            }
            return least;
          },
      .killed_for_memory = [] { return count_in("/proc/vmstat") + count_in("/sys/fs/cgroup/memory.events"); },
      .gpu_memory_in_use = share_of_gpu_memory,
      .busy_share = share_of_cores_busy,
      .pressed_seconds = seconds_pressed,
  };
  return senses;
}

std::optional<Error> machines_part(const FailedCandidate& candidate, const MachineSenses& senses) {
  const Error& failure = candidate.failure;
  const std::string& text = failure.message;
  if (failure.code == error_code::killed || failure.code == error_code::build_killed) {
    if (senses.killed_for_memory() <= candidate.killed_before) return std::nullopt;
    return lacks(error_code::memory, "this machine ran out of memory and killed a process", failure,
                 "run fewer at a time (--jobs), or use a machine with more memory");
  }
  if (says(text, {"No space left on device", "Errno 28", "Disk quota exceeded"}) &&
      senses.free_disk() < little_disk)
    return lacks(error_code::disk, "the disk is full", failure,
                 "free some space, or set TMPDIR and STITCHCUDA_CACHE");
  if (is_out_of_gpu_memory(failure) && senses.has_gpu() && senses.gpu_memory_in_use() > much_of_a_gpu)
    return lacks("gpu_memory", "others hold the GPU's memory", failure, "judge it when the GPU is free");
  if (says(text, {"CUDA_HOME", "nvcc: not found", "nvcc'", "CUDA_INSTALL_PATH"}) && !senses.has_cuda_home())
    return lacks("no_cuda_home", "there is no CUDA toolkit for PyTorch to compile with", failure,
                 "install the CUDA toolkit, or set CUDA_HOME");
  if (says(text, {"Ninja is required", "'ninja'"}) && !senses.has_ninja())
    return lacks("no_ninja", "there is no ninja for PyTorch to compile with", failure, "pip install ninja");
  if (failure.code == error_code::refused && needs_a_gpu(candidate.source) && !senses.has_gpu())
    return lacks(error_code::no_gpu, "it is for a GPU, and this machine has none", failure,
                 "judge it where there is one");
  return std::nullopt;
}

Json not_judged_document(const std::string& program, const std::string& task, const Error& error) {
  return {{"verdict", not_judged},
          {"code", error.code},
          {"reason", error.message},
          {"where", error.where},
          {"fix", error.fix},
          {"program", program},
          {"task", task},
          {"exit_code", exit_not_judged}};
}

}  // namespace stitch::verifier
