#include "build/toolchain.h"

#include <unistd.h>
#include <atomic>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/machine/process.h"
#include "base/text.h"
#include "sandbox/sandbox.h"

namespace stitch::build {

namespace {

// cicc and cc1plus take 1 to 2 GB for the heaviest headers.
int64_t compiler_memory() {
  const int64_t machine = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return std::clamp(machine / 2, int64_t{4} << 30, int64_t{16} << 30);
}

}  // namespace

Result<CompilerRun> run_compiler(std::vector<std::string> words, const Work& work,
                                 std::vector<fs::path> readable) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(work.deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return build_took_too_long(0);
  sandbox::Policy policy;
  policy.readable = std::move(readable);
  policy.readable.insert(policy.readable.end(), work.readable.begin(), work.readable.end());
  policy.writable = {work.scratch};
  policy.may_start_processes = true;
  policy.memory_limit = compiler_memory();
  policy.file_limit = int64_t{2} << 30;
  policy.errors_to_output = true;
  policy.background = true;  // another process may be timing
  Command unconfined{std::move(words), {{"LC_ALL", "C.UTF-8"}}, left};
  // nvcc names temporary files by PID, which in a PID namespace is always the same.
  static std::atomic<int> runs = 0;
  fs::path temporary = work.scratch / format("temporary.{}", runs++);
  std::error_code failed;
  fs::create_directories(temporary, failed);
  if (!failed) unconfined.extra_environment["TMPDIR"] = temporary.string();
  if (const char* place = std::getenv("STITCHCUDA_EMULATED"))
    unconfined.extra_environment["STITCHCUDA_EMULATED"] = place;
  STITCH_TRY(Command command, sandbox::confine(std::move(unconfined), policy));
  constexpr size_t head = 256 << 10, tail = 32 << 10;
  CompilerRun out;
  std::string end;
  STITCH_TRY(Finished finished, run(command, [&](std::string_view line) {
               std::string& part = out.output.size() < head ? out.output : end;
               part.append(line.substr(0, 4096)) += '\n';
               if (end.size() > 2 * tail) end.erase(0, end.size() - tail);
             }));
  if (finished.timed_out) return build_took_too_long(static_cast<double>(left.count()) / 1e3);
  out.output += end + finished.error_tail;
  out.exit_code = finished.exit_code;
  // The sandbox itself failed: not the source's fault.
  for (std::string_view wall : {"stitch-confine: ", "bwrap: "})
    if (out.exit_code != 0 && out.output.starts_with(wall))
      return work_error("sandbox", format("the compiler could not be confined: {}", trim(out.output)),
                        "STITCHCUDA_WALLS selects the sandbox mechanisms: see stitchcuda doctor");
  return out;
}

Result<std::string> version_of(const fs::path& program) {
  static std::mutex mutex;
  static std::map<fs::path, std::string> known;
  std::lock_guard lock(mutex);
  if (auto found = known.find(program); found != known.end()) return found->second;
  std::string text;
  STITCH_TRY(Finished finished,
             run({{program.string(), "--version"}, {{"LC_ALL", "C"}}, std::chrono::seconds(30)},
                 [&](std::string_view line) { text.append(line) += '\n'; }));
  if (finished.exit_code != 0)
    return work_error("no_compiler",
                      format("{} does not run: {}", program.string(), trim(finished.error_tail)));
  return known[program] = text;
}

}  // namespace stitch::build
