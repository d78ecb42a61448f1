#include "profile/ncu.h"

#include <cxxabi.h>
#include <cctype>
#include <cstdlib>
#include <map>

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

namespace {

// One line of CSV: quoted fields may hold commas and doubled quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

// To seconds and bytes; everything else is taken as it is.
double factor(std::string_view unit) {
  static const std::map<std::string, double, std::less<>> units = {
      {"ns", 1e-9},      {"nsecond", 1e-9}, {"us", 1e-6},   {"usecond", 1e-6}, {"ms", 1e-3},
      {"msecond", 1e-3}, {"s", 1},          {"second", 1},  {"Kbyte", 1e3},    {"Mbyte", 1e6},
      {"Gbyte", 1e9},    {"Tbyte", 1e12},   {"Kinst", 1e3}, {"Minst", 1e6},    {"Ginst", 1e9}};
  auto found = units.find(unit);
  return found == units.end() ? 1 : found->second;
}

// 1,234.5 as well: ncu writes numbers as the locale has them.
std::optional<double> number(std::string text) {
  std::erase(text, ',');
  return parse_number(trim(text));
}

// As the profiler of the runner writes them: NVIDIA's own demangler spells arguments otherwise.
std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : name;
  std::free(text);
  return out;
}

std::string trouble_in(std::string_view text) {
  for (std::string_view sign : {"ERR_NVGPUCTRPERM", "==ERROR==", "No kernels were profiled", "==WARNING=="})
    for (const std::string& line : split(text, '\n'))
      if (line.find(sign) != line.npos) return trim(line);
  return "";
}

struct Sum {
  std::map<std::string, double> values;
  std::map<std::string, int> counts;
  int launches = 0;
};

}  // namespace

Result<std::vector<KernelMetrics>> parse_ncu(std::string_view text) {
  std::vector<std::string> header, units;
  std::vector<std::string> order;
  std::map<std::string, Sum> kernels;
  size_t name_column = 0;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with('"')) continue;  // ==PROF== …
    std::vector<std::string> fields = fields_of(line);
    if (header.empty()) {
      header = std::move(fields);
      name_column = 0;
      while (name_column < header.size() && header[name_column] != "Kernel Name") ++name_column;
      if (name_column == header.size()) header.clear();
      continue;
    }
    if (fields.size() != header.size()) continue;
    if (units.empty()) {
      units = std::move(fields);
      continue;
    }
    const std::string kernel = demangled(fields[name_column]);
    if (!kernels.contains(kernel)) order.push_back(kernel);
    Sum& sum = kernels[kernel];
    ++sum.launches;
    for (size_t i = 0; i < fields.size(); ++i)
      if (auto value = header[i].find("__") == std::string::npos ? std::nullopt : number(fields[i])) {
        sum.values[header[i]] += *value * factor(units[i]);
        ++sum.counts[header[i]];
      }
  }
  if (order.empty()) {
    const std::string trouble = trouble_in(text);
    if (trouble.find("ERR_NVGPUCTRPERM") != trouble.npos)
      return work_error("no_counters", "no permission to read the GPU's performance counters: " + trouble,
                        "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
    return work_error("no_counters", trouble.empty() ? "ncu printed no table" : "ncu: " + trouble);
  }
  std::vector<KernelMetrics> out;
  for (const std::string& kernel : order) {
    Sum& sum = kernels[kernel];
    for (auto& [name, value] : sum.values) value /= sum.counts[name];
    KernelMetrics metrics{.kernel = kernel, .launches = sum.launches, .sources = {Source::ncu}};
    add_counters(metrics, sum.values);
    out.push_back(std::move(metrics));
  }
  return out;
}

}  // namespace stitch::profile
