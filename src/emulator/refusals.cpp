#include "emulator/rewrite.h"

namespace stitch::emulated {

namespace {

struct Refusal {
  std::string_view beginning, what;
  bool whole;  // exact match; otherwise a prefix
};
constexpr Refusal refusals[] = {
    {"wgmma", "wgmma is", false},
    {"CUtensorMap", "TMA (tensor maps) is", false},
    {"cuTensorMap", "TMA (tensor maps) is", false},
    {"cp_async_bulk", "TMA (bulk copies) is", false},
    {"__cluster_dims__", "thread block clusters are", true},
    {"this_cluster", "thread block clusters are", true},
    {"cluster_group", "thread block clusters are", true},
    {"cudaLaunchAttributeClusterDimension", "thread block clusters are", true},
    {"texture", "textures are", true},
    {"cudaTextureObject_t", "textures are", true},
    {"cudaCreateTextureObject", "textures are", true},
    {"tex1D", "textures are", false},
    {"tex2D", "textures are", false},
    {"tex3D", "textures are", false},
    {"cudaSurfaceObject_t", "surfaces are", true},
    {"surf1D", "surfaces are", false},
    {"surf2D", "surfaces are", false},
    {"surf3D", "surfaces are", false},
};

}  // namespace

std::optional<std::string> refusal_of_word(std::string_view word) {
  for (const Refusal& refusal : refusals) {
    if (refusal.whole ? word == refusal.beginning : word.starts_with(refusal.beginning))
      return std::string(refusal.what) + " not emulated (`" + std::string(word) + "`)";
  }
  return std::nullopt;
}

std::string refusal_of_assembly(std::string_view assembly) {
  for (std::string_view instruction :
       {"wgmma", "cp.async.bulk", "tcgen05", "cp.async", "ldmatrix", "mma.sync", "bar.sync"}) {
    if (assembly.find(instruction) == std::string_view::npos) continue;
    std::string out = "inline PTX is not emulated (`" + std::string(instruction) + "`)";
    if (instruction == "bar.sync") out += "; stitch_named_barrier_sync(id, threads) is";
    return out;
  }
  return "inline PTX is not emulated";
}

}  // namespace stitch::emulated
