// Which part of the model the program says it computes where, and whether the kernels that ran are its own.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

// Kernels of NVIDIA's libraries carry these in their names.
bool from_cublas(std::string_view kernel) {
  for (std::string_view part : {"cublas", "gemm", "xmma", "cutlass", "nvjet", "splitK", "gemv"})
    if (kernel.find(part) != std::string_view::npos) return true;
  return false;
}
bool from_cudnn(std::string_view kernel) {
  for (std::string_view part :
       {"cudnn", "implicit_convolve", "nchwToNhwc", "nhwcToNchw", "fprop", "dgrad", "RNN_", "rnn"})
    if (kernel.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

Result<Passed> coverage(Session& session, Json& evidence) {
  if (session.python) return skipped("a ModelNew names no regions");
  if (!session.has_the_form()) return skipped("the graph has another form at these sizes");
  const Manifest& manifest = session.manifest;
  std::map<std::string, int> times;
  for (const ManifestRegion& region : manifest.regions)
    for (const std::string& node : region.nodes) ++times[node];
  std::set<std::string> known;
  std::vector<std::string> missing;
  for (const Node& node : session.task.graph.nodes) {
    const std::string& result = session.task.graph[node.results[0]].name;
    known.insert(result);
    if (!times.contains(result)) missing.push_back(result);
  }
  for (const auto& [node, count] : times) {
    if (!known.contains(node))
      return found("coverage", format("a region claims node '{}', which the task has not", node));
    if (count > 1) return found("coverage", format("{} regions claim node '{}'", count, node));
  }
  bool uses_cublas = false, uses_cudnn = false;
  for (const runner::Activity& activity : session.activities) {
    uses_cudnn |= from_cudnn(activity.name);
    uses_cublas |= from_cublas(activity.name) && !from_cudnn(activity.name);
  }
  evidence = {{"nodes", known.size()},
              {"covered", known.size() - missing.size()},
              {"missing", missing},
              {"kernels_named_like_cublas", uses_cublas},
              {"kernels_named_like_cudnn", uses_cudnn}};
  if (manifest.regions.empty()) return Passed{"no regions are named: the program is one piece"};
  if (!missing.empty())
    return found("coverage", format("{} of {} nodes are in no region, '{}' first", missing.size(),
                                    known.size(), missing[0]));
  return Passed{format("{} in {}", counted(std::ssize(known), "node"),
                       counted(std::ssize(manifest.regions), "region"))};
}

}  // namespace stitch::verifier
