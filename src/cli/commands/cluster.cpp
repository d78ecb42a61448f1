#include "cli/commands/cluster.h"

#include <cstdlib>

#include "base/text.h"

namespace stitch {

void add_cluster(Flags& flags, ClusterFlags& cluster) {
  flags("--on", cluster.on, "ENGINE",
        "slurm or ray: run the work on workers started there (docs/many-machines.md)");
  flags("--workers", cluster.workers, "NUMBER", "with --on: number of workers, one per GPU (default: 1)")
      .between(1, 10000);
  flags("--at", cluster.at, "HOST",
        "with --on: this machine's address as the workers see it (default: its host name)");
  flags("--ray", cluster.ray, "URL",
        "Ray's dashboard (default: $RAY_API_SERVER_ADDRESS, else http://127.0.0.1:8265)");
  flags("--slurm-flags", cluster.slurm_flags, "FLAGS",
        "additional flags for sbatch, such as \"--partition=h200\"");
}

Result<bool> workers_have_gpu(const std::string& device) {
  if (device == "cuda" || device == "emulated") return device == "cuda";
  return user_error("device", "--on needs the workers' device", "add --device cuda or --device emulated");
}

Result<serve::FleetOptions> fleet_options(const ClusterFlags& cluster, bool gpu, const std::string& python,
                                          const fs::path& logs) {
  if (cluster.on != "slurm" && cluster.on != "ray")
    return user_error("on", format("unknown cluster '{}'", cluster.on), "--on slurm or --on ray");
  serve::FleetOptions out{
      .engine = cluster.on, .workers = cluster.workers, .gpu = gpu, .python = python, .logs = logs};
  if (const char* ray = std::getenv("RAY_API_SERVER_ADDRESS"); ray && *ray) out.ray = ray;
  if (!cluster.ray.empty()) out.ray = cluster.ray;
  if (const char* token = std::getenv("RAY_AUTH_TOKEN"); token && *token) out.ray_token = token;
  for (const std::string& flag : split(cluster.slurm_flags, ' '))
    if (!flag.empty()) out.slurm_flags.push_back(flag);
  return out;
}

}  // namespace stitch
