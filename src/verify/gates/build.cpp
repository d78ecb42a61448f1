// From sources to a library, by us, in the sandbox: what was measured is what was built here.
#include <algorithm>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

build::BuildRequest request_for(const Package& package, const VerifyOptions& options,
                                const std::optional<GpuSpec>& gpu) {
  build::BuildRequest request{.sources = package.sources,
                              .include_dirs = package.include_dirs,
                              .libraries = package.libraries,
                              .address_sanitizer = options.address_sanitizer,
                              .line_info = options.line_info};
  // The package's rule: names in regions' files don't meet. Those of two authors may.
  std::set<fs::path> others;
  for (const ManifestRegion& region : package.manifest.regions)
    if (region.technique == "written") others.insert(fs::path(region.file).filename());
  for (const fs::path& source : package.sources)
    if (source.parent_path().filename() == "regions" && !others.contains(source.filename()))
      request.shareable.push_back(source);
  request.time_limit = options.build_time_limit;
  request.target = options.device == runner::Device::emulated ? build::Target::emulated : build::Target::cuda;
  std::error_code ec;
  request.alone = !fs::is_directory(options.program, ec);
  request.needs = package.manifest.needs;
  if (gpu) request.architecture = gpu->architecture.name;
  return request;
}

// Code of an engine's regions is its own, and takes minutes of a large network.
bool is_by_others(const Package& package, const build::BuildRequest& request) {
  constexpr size_t most_sources = 4;  // a few seconds each
  const std::vector<ManifestRegion>& regions = package.manifest.regions;
  return request.alone || (request.sources.size() <= most_sources &&
                           std::ranges::all_of(regions, [](const ManifestRegion& region) {
                             return region.technique == "written";
                           }));
}

// The emulated GPU's compiler doesn't tell host code from device code, nor what fits a multiprocessor. Where
// nvcc is installed, which needs no GPU, a program of unknown origin has to be one for it, too.
Result<void> accepted_by_nvcc(const Package& package, build::BuildRequest request) {
  if (request.target != build::Target::emulated || !is_by_others(package, request) || !build::find_nvcc())
    return {};
  request.target = build::Target::cuda;
  request.device_only = true;
  request.libraries.clear();
  request.address_sanitizer = false;
  if (!request.needs.empty()) request.architecture = request.needs;
  auto built = build::build(request);
  if (built || built.error().blame == Error::Blame::work) return {};
  Error error = std::move(built).error();
  // A library's headers may be missing beside CUDA's.
  for (const char* missing : {"No such file", "could not open source file"})
    if (error.message.find(missing) != std::string::npos) return {};
  error.message = "nvcc refuses it: " + error.message;
  return error;
}

// Both compilers at the same time.
Result<build::Built> built_as_cuda(const Package& package, const build::BuildRequest& request,
                                   const std::function<void(std::string_view)>& on_progress = {}) {
  auto accepted = std::async(std::launch::async, [&] { return accepted_by_nvcc(package, request); });
  auto built = build::build(request, on_progress);
  const Result<void> no_objection = accepted.get();
  if (built && !no_objection) return no_objection.error();
  return built;
}

}  // namespace

void build_ahead(const VerifyOptions& options, const std::optional<GpuSpec>& gpu) {
  if (options.program.extension() == ".py") return;
  if (auto package = load_package(options.program))
    (void)built_as_cuda(*package, request_for(*package, options, gpu));
}

Result<Passed> build(Session& session, Json& evidence) {
  if (session.python) {
    session.library = session.options.program;
    return skipped("a Python file builds itself");
  }
  STITCH_TRY(session.package, load_package(session.options.program));
  const build::BuildRequest request = request_for(session.package, session.options, session.gpu);
  STITCH_TRY(session.built, built_as_cuda(session.package, request, session.options.on_progress));
  session.library = session.built.library;
  evidence = {{"target", build::name(request.target)},
              {"library_sha256", session.built.hash},
              {"compiled", session.built.compiled},
              {"reused", session.built.reused},
              {"seconds", session.built.seconds}};
  if (request.target == build::Target::cuda) evidence["architecture"] = request.architecture;
  if (request.target == build::Target::emulated) {
    const std::vector<std::string> conditions = conditions_on_compiler(session.package, session.built.read);
    if (!conditions.empty()) {
      evidence["conditions"] = conditions;
      session.notes.push_back(
          format("what nvcc compiles was not judged: text that depends on the compiler ({})", conditions[0]));
    }
  }
  int spills = 0;
  for (const build::KernelResources& kernel : session.built.resources) {
    evidence["kernels"].push_back({{"kernel", kernel.kernel},
                                   {"registers", kernel.registers},
                                   {"spill_bytes", kernel.spill_bytes},
                                   {"shared_bytes", kernel.shared_bytes}});
    spills += kernel.spill_bytes > 0;
  }
  std::string summary = format("{} of {} compiled", session.built.compiled,
                               counted(session.built.compiled + session.built.reused, "source"));
  if (!session.built.resources.empty())
    summary += ", " + counted(std::ssize(session.built.resources), "kernel");
  if (spills) summary += format(", {} of them spill registers", spills);
  return Passed{summary};
}

}  // namespace stitch::verifier
