// From sources to a library, by us, in the sandbox: what was measured is what was built here.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/wording.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

Result<Passed> build(Session& session, Json& evidence) {
  if (session.python) {
    session.library = session.options.program;
    return skipped("a Python file builds itself");
  }
  device::BuildRequest request{.sources = session.package.sources,
                               .include_dirs = session.package.include_dirs,
                               .libraries = session.package.libraries,
                               .address_sanitizer = session.options.address_sanitizer};
  // The package's rule: names in regions' files don't meet.
  for (const fs::path& source : session.package.sources)
    if (source.parent_path().filename() == "regions") request.shareable.push_back(source);
  request.time_limit = session.options.build_time_limit;
  bool emulated = session.options.device == runner::Device::emulated;
  request.target = emulated ? device::Target::emulated : device::Target::cuda;
  request.needs = session.package.manifest.needs;
  if (session.gpu) request.architecture = session.gpu->architecture.name;
  STITCH_TRY(session.built, device::build(request, session.options.on_progress));
  session.library = session.built.library;
  evidence = {{"target", device::name(request.target)},
              {"library_sha256", session.built.hash},
              {"compiled", session.built.compiled},
              {"reused", session.built.reused},
              {"seconds", session.built.seconds}};
  if (!emulated) evidence["architecture"] = request.architecture;
  int spills = 0;
  for (const device::KernelResources& kernel : session.built.resources) {
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
