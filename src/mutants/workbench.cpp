#include "mutants/workbench.h"

#include <elf.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/digest/elf.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "build/build.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "plan/steps.h"
#include "program/package.h"
#include "verify/not_judged.h"

namespace stitch::mutants {

namespace {

// Moves regions/x.cu to region_x.cu, in names and in the manifest.
void bring_up_regions(PackageContents& contents) {
  constexpr std::string_view folder = "regions/", prefix = "region_";
  std::map<std::string, std::string> sources;
  for (auto& [path, text] : contents.sources) {
    if (path == "manifest.cu")
      for (size_t at = 0; (at = text.find(folder, at)) != text.npos; at += prefix.size())
        text.replace(at, folder.size(), prefix);
    sources[path.starts_with(folder) ? std::string(prefix) + path.substr(folder.size()) : path] =
        std::move(text);
  }
  contents.sources = std::move(sources);
  for (ManifestRegion& region : contents.manifest.regions)
    if (region.file.starts_with(folder))
      region.file = std::string(prefix) + region.file.substr(folder.size());
}

Result<void> add_sites(const fs::path& folder, const fs::path& file, std::vector<Site>& out) {
  STITCH_TRY(std::string source, read_file(file));
  const std::string shown = file.lexically_relative(folder).generic_string();
  // The per-region checks at the end aren't part of what the program computes.
  const size_t checks = source.find("int stitch_run_region(");
  for (Mutation& mutation : mutations_of(source)) {
    if (mutation.begin > checks) continue;
    Sha256 sum;
    sum.add_field(shown);
    sum.add_field(format("{} {}", mutation.begin, mutation.end));
    sum.add_field(mutation.text);
    Change change = change_of(source, mutation);
    out.push_back({shown, std::move(mutation), std::move(change), sum.hex().substr(0, 12)});
  }
  return {};
}

Result<std::vector<fs::path>> files_in(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().extension() == extension) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

// Much of a header is never instantiated; mistakes there have no effect on this program.
constexpr int own_for_one_shared = 4;

// Independent of the standard library's shuffle.
std::vector<size_t> shuffled(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<size_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = i;
  for (size_t i = count; i > 1; --i) std::swap(out[i - 1], out[random() % i]);
  return out;
}

}  // namespace

std::string_view name(Variant variant) { return variant == Variant::plain ? "plain" : "optimised"; }

std::string Subject::name() const {
  const bool plain_folder = task.stem() == "graph" && task.has_parent_path();
  const std::string model = (plain_folder ? task.parent_path() : task).stem().string();
  return model + (variant == Variant::plain ? " (plain)" : "");
}

Result<void> write_subject(const Task& task, Variant variant, const GpuSpec& gpu, Numerics numerics,
                           const fs::path& folder) {
  plan::Context context(task.graph, gpu, numerics);
  auto wanted = [&](const plan::StepRule& rule) { return variant == Variant::optimised && !rule.rounds; };
  STITCH_TRY(plan::Plan plan, plan::plan_of_steps(context, code::catalogue(), wanted));
  STITCH_TRY(PackageContents contents, code::write_program(context, plan));
  bring_up_regions(contents);
  STITCH_TRY(Published published, write_package(folder, contents));
  return {};
}

Result<Sites> sites_of(const fs::path& folder) {
  Sites out;
  STITCH_TRY(std::vector<fs::path> sources, files_in(folder, ".cu"));
  for (const fs::path& file : sources)
    if (file.filename() != "manifest.cu") STITCH_CHECK(add_sites(folder, file, out.own));
  STITCH_TRY(std::vector<fs::path> headers, files_in(folder / "include/stitch/kernels", ".h"));
  for (const fs::path& file : headers) STITCH_CHECK(add_sites(folder, file, out.shared));
  return out;
}

std::vector<Site> sample(const Sites& sites, size_t count, uint64_t seed) {
  std::map<Kind, std::vector<const Site*>> by_kind;
  for (Kind kind : all_kinds) {
    auto of_kind = [&](const std::vector<Site>& from, uint64_t salt) {
      std::vector<const Site*> found, mixed;
      for (const Site& site : from)
        if (site.mutation.kind == kind) found.push_back(&site);
      for (size_t i : shuffled(found.size(), seed * 64 + static_cast<uint64_t>(kind) * 2 + salt))
        mixed.push_back(found[i]);
      return mixed;
    };
    const std::vector<const Site*> own = of_kind(sites.own, 0), shared = of_kind(sites.shared, 1);
    std::vector<const Site*>& list = by_kind[kind];
    for (size_t a = 0, b = 0; a < own.size() || b < shared.size();) {
      for (int i = 0; i < own_for_one_shared && a < own.size(); ++i) list.push_back(own[a++]);
      if (b < shared.size()) list.push_back(shared[b++]);
    }
  }
  std::vector<Site> out;
  for (size_t turn = 0; out.size() < count; ++turn) {
    const size_t before = out.size();
    for (Kind kind : all_kinds)
      if (turn < by_kind[kind].size() && out.size() < count) out.push_back(*by_kind[kind][turn]);
    if (out.size() == before) break;
  }
  return out;
}

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
