// From sources to a library, by us, in the sandbox: what was measured is what was built here.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/terminal/wording.h"
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
  // The package's rule: names in regions' files don't meet.
  for (const fs::path& source : package.sources)
    if (source.parent_path().filename() == "regions") request.shareable.push_back(source);
  request.time_limit = options.build_time_limit;
  request.target =
      options.device == runner::Device::emulated ? build::Target::emulated : build::Target::cuda;
  std::error_code ec;
  request.alone = !fs::is_directory(options.program, ec);
  request.needs = package.manifest.needs;
  if (gpu) request.architecture = gpu->architecture.name;
  return request;
}

}  // namespace

void build_ahead(const VerifyOptions& options, const std::optional<GpuSpec>& gpu) {
  if (options.program.extension() == ".py") return;
  auto package = load_package(options.program);
  Json unread;
  if (package && screen_sources(*package, unread)) (void)build::build(request_for(*package, options, gpu));
}

Result<Passed> build(Session& session, Json& evidence) {
  if (session.python) {
    session.library = session.options.program;
    return skipped("a Python file builds itself");
  }
  const build::BuildRequest request = request_for(session.package, session.options, session.gpu);
  STITCH_TRY(session.built, build::build(request, session.options.on_progress));
  session.library = session.built.library;
  STITCH_CHECK(screen_imports(session.built.imports));
  evidence = {{"target", build::name(request.target)},
              {"library_sha256", session.built.hash},
              {"compiled", session.built.compiled},
              {"reused", session.built.reused},
              {"seconds", session.built.seconds}};
  if (request.target == build::Target::cuda) evidence["architecture"] = request.architecture;
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
