#include "profile/ncu.h"

#include <cctype>

#include "base/machine/process.h"
#include "base/text.h"
#include "sandbox/sandbox.h"

namespace stitch::profile {

namespace {

// Names in a regular expression: whatever means something there stands for any character.
std::vector<std::string> plain(std::vector<std::string> names) {
  for (std::string& name : names)
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '.';
  return names;
}

}  // namespace

Result<Command> confine_tool(std::vector<std::string> words, const NcuOptions& options,
                             const fs::path& scratch, std::chrono::milliseconds time_limit) {
  sandbox::Policy policy{.readable = options.readable,
                         .writable = {scratch},
                         .may_start_processes = true,
                         .gpu = true,
                         .own_network = true};
  if (!options.folder.empty()) policy.writable.push_back(options.folder);
  // It finds its libraries and sections beside itself.
  std::error_code ignored;
  const fs::path tool = fs::weakly_canonical(words[0], ignored);
  for (const fs::path& folder :
       {fs::path(words[0]).parent_path(), tool.parent_path(), tool.parent_path().parent_path()})
    if (folder != "/" && folder != "/usr") policy.readable.push_back(folder);
  return sandbox::confine({std::move(words), {}, time_limit}, policy);
}

Result<std::vector<std::string>> ncu_words(const NcuOptions& options) {
  const auto program = find_program("ncu");
  if (!program)
    return work_error("no_ncu", "Nsight Compute (ncu) is not installed",
                      "put ncu on the PATH, or leave out --counters");
  std::vector<std::string> words = {program->string(),
                                    "--csv",
                                    "--page",
                                    "raw",
                                    "--print-units",
                                    "base",
                                    "--kernel-name-base",
                                    "function",
                                    "--print-kernel-base",
                                    "mangled",
                                    "--target-processes",
                                    "all",
                                    "--replay-mode",
                                    "kernel",
                                    "--clock-control",
                                    "none",
                                    "--metrics",
                                    join(counter_names(), ",")};
  if (options.marked) words.insert(words.end(), {"--profile-from-start", "off"});
  if (!options.kernels.empty())
    words.insert(words.end(), {"--kernel-name", "regex:^(" + join(plain(options.kernels), "|") + ")$"});
  if (options.launches > 0) words.insert(words.end(), {"--launch-count", std::to_string(options.launches)});
  if (!options.log.empty()) words.insert(words.end(), {"--log-file", options.log.string()});
  return words;
}

Result<std::vector<KernelMetrics>> run_ncu(const std::vector<std::string>& command, const NcuOptions& options,
                                           std::chrono::milliseconds time_limit) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-ncu"));
  NcuOptions settled = options;
  settled.log = scratch.path() / "ncu.csv";
  STITCH_TRY(std::vector<std::string> words, ncu_words(settled));
  words.insert(words.end(), command.begin(), command.end());
  STITCH_TRY(Command confined, confine_tool(std::move(words), options, scratch.path(), time_limit));
  std::string printed;
  constexpr size_t most = 64 << 10;
  STITCH_TRY(Finished finished, run(confined, [&](std::string_view line) {
               if (printed.size() < most) printed += std::string(line) + "\n";
             }));
  auto text = read_file(settled.log);
  auto metrics = parse_ncu(text ? *text : printed);
  if (!metrics && finished.exit_code != 0)
    return work_error(metrics.error().code,
                      format("{} (it ended with code {})", metrics.error().message, finished.exit_code),
                      metrics.error().fix);
  return metrics;
}

Result<std::vector<std::string>> nsys_words(const fs::path& report) {
  const auto program = find_program("nsys");
  if (!program)
    return work_error("no_nsys", "Nsight Systems (nsys) is not installed", "put nsys on the PATH");
  return std::vector<std::string>{program->string(), "profile",   "--force-overwrite", "true",
                                  "--trace",         "cuda,nvtx", "--output",          report.string()};
}

}  // namespace stitch::profile
