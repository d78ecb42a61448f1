#include "mutants/workbench.h"

#include <elf.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/digest/elf.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "build/build.h"
#include "code/limits.h"
#include "program/package.h"
#include "verify/not_judged.h"

namespace stitch::mutants {

namespace {

constexpr std::array<std::string_view, 6> fates = {"killed",     "survived",     "same results",
                                                   "equivalent", "not compiled", "not judged"};

// Errors of every output in every trial; equal if nothing computed differs.
std::string results_of(const verifier::Verdict& verdict) {
  const verifier::GateReport* report = verdict.gate("correctness");
  return report && report->evidence ? line_text(*report->evidence) : "";
}

double seconds_of(const verifier::Verdict& verdict, std::string_view gate) {
  const verifier::GateReport* report = verdict.gate(gate);
  return report ? report->seconds : 0;
}

// Built with the build gate's options, which then finds the library in the cache.
Result<fs::path> build_library(const verifier::VerifyOptions& options, const GpuSpec& gpu) {
  STITCH_TRY(Package package, load_package(options.program));
  build::BuildRequest request{.sources = package.sources,
                              .include_dirs = package.include_dirs,
                              .libraries = package.libraries,
                              .address_sanitizer = options.address_sanitizer,
                              .line_info = options.line_info};
  request.needs = package.manifest.needs;
  if (options.device == runner::Device::cuda) {
    request.target = build::Target::cuda;
    request.architecture = gpu.architecture.name;
  }
  STITCH_TRY(build::Built built, build::build(request));
  return built.library;
}

// Restores the file when destroyed.
class Changed {
 public:
  static Result<Changed> make(fs::path file, const Mutation& mutation) {
    STITCH_TRY(std::string before, read_file(file));
    STITCH_CHECK(write_file(file, applied(before, mutation)));
    return Changed(std::move(file), std::move(before));
  }
  Changed(Changed&& other) noexcept : file_(std::exchange(other.file_, {})), before_(other.before_) {}
  Changed& operator=(Changed&&) = delete;
  ~Changed() {
    if (!file_.empty()) (void)write_file(file_, before_);
  }

 private:
  Changed(fs::path file, std::string before) : file_(std::move(file)), before_(std::move(before)) {}
  fs::path file_;
  std::string before_;
};

}  // namespace

std::string_view name(Fate fate) { return fates[static_cast<size_t>(fate)]; }

std::optional<Fate> fate_named(std::string_view name) {
  const auto found = std::ranges::find(fates, name);
  if (found == fates.end()) return std::nullopt;
  return static_cast<Fate>(found - fates.begin());
}

Result<std::unique_ptr<Workbench>> Workbench::open(const Subject& subject, const fs::path& folder,
                                                   const BenchOptions& options) {
  auto out = std::unique_ptr<Workbench>(new Workbench);
  verifier::VerifyOptions& verify = out->options_;
  out->gpu_ = options.gpu;
  verify.program = folder;
  verify.numerics = options.numerics;
  verify.device = options.device;
  verify.timing = false;
  verify.quick = options.quick;
  verify.seed = options.seed;
  verify.remember_trials = true;
  verify.ask_unseen = false;  // a mutant gets the same trials as its original
  verify.more_to_come = true;
  verify.line_info = false;  // equal code stays equal
  STITCH_TRY(verifier::OpenedTask task,
             verifier::open_task_to_judge(
                 subject.task, {.python = options.python, .limits = code::limits_on(options.gpu)}));
  STITCH_CHECK(write_subject(*task.task, subject.variant, options.gpu, options.numerics, folder));
  STITCH_TRY(out->sites_, sites_of(folder));
  STITCH_TRY(out->verifier_, verifier::Verifier::open(std::move(task), verify));
  STITCH_TRY(verifier::Verdict verdict, out->verdict_of());
  if (const verifier::GateReport* failure = verdict.failure())
    return at(subject.name(), work_error("original", format("the original fails at {}: {}", failure->gate,
                                                            failure->summary)));
  STITCH_TRY(out->code_hash_, machine_code_hash(verdict.library, folder.parent_path()));
  out->evidence_ = results_of(verdict);
  // The time limit of a mutant that hangs; a working one may be slower than the original.
  const double usual = seconds_of(verdict, "correctness") + seconds_of(verdict, "thread order");
  verify.time_limit =
      std::chrono::milliseconds(std::clamp(static_cast<int64_t>(4000 * usual), 4000L, 60'000L));
  return Result<std::unique_ptr<Workbench>>(std::move(out));
}

Result<verifier::Verdict> Workbench::verdict_of() { return verifier_->judge(options_); }

Result<Judged> Workbench::judge_sanitized(const Site& site) {
  const bool emulated = options_.device == runner::Device::emulated;
  bool& flag = emulated ? options_.address_sanitizer : options_.sanitizer;
  flag = true;
  auto judged = judge(site);
  flag = false;
  return judged;
}

Result<Judged> Workbench::judge(const Site& site) {
  const auto begin = std::chrono::steady_clock::now();
  STITCH_TRY(const Changed changed, Changed::make(options_.program / site.file, site.mutation));
  Judged out;
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto library = build_library(options_, gpu_);
  if (library && !options_.address_sanitizer) {
    STITCH_TRY(const std::string hash, machine_code_hash(*library, options_.program.parent_path()));
    if (hash == code_hash_) {
      out.fate = Fate::equivalent;
      out.seconds = seconds();
      return out;
    }
  }
  auto verdict = verdict_of();
  out.seconds = seconds();
  if (!verdict) {
    if (!verifier::is_machines(verdict.error())) return std::move(verdict).error();
    out.fate = Fate::not_judged;
    out.summary = verdict.error().message;
    return out;
  }
  if (const verifier::GateReport* failure = verdict->failure()) {
    out.fate = failure->id == verifier::GateId::build ? Fate::not_compiled : Fate::killed;
    out.gate = failure->gate;
    out.code = failure->code;
    out.summary = failure->summary;
    return out;
  }
  if (const verifier::GateReport* report = verdict->gate("correctness")) out.summary = report->summary;
  out.fate = results_of(*verdict) == evidence_ ? Fate::same_results : Fate::survived;
  return out;
}

namespace {

// Replaces the folder, so that /folders/0007/program.cu equals /folders/0012/program.cu.
std::string without_folder(std::string_view bytes, const std::string& folders) {
  std::string out(bytes);
  if (folders.empty()) return out;
  for (size_t found = 0; (found = out.find(folders, found)) != out.npos;) {
    found += folders.size();
    for (; found < out.size() && out[found] != '/' && out[found] != '\0'; ++found) out[found] = '0';
  }
  return out;
}

}  // namespace

Result<std::string> machine_code_hash(const fs::path& library, const fs::path& folders) {
  const std::string prefix = folders.empty() ? "" : folders.string() + "/";
  STITCH_TRY(const ElfFile file, ElfFile::open(library));
  Sha256 sum;
  for (const ElfSection& section : file.sections())
    // Notes hold the build ID, which depends on debug information.
    if ((section.flags & SHF_ALLOC) && section.type != SHT_NOTE && section.type != SHT_NOBITS)
      sum.add_field(without_folder(section.bytes, prefix));
  return sum.hex();
}

}  // namespace stitch::mutants
