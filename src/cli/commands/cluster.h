// What bench and serve have in common: workers on a cluster.
#pragma once

#include <string>

#include "cli/flags/flags.h"
#include "serve/fleet/fan_out.h"

namespace stitch {

struct ClusterFlags {
  std::string on;  // slurm, ray; empty: this machine
  int workers = 1;
  std::string at;  // this machine's name for the workers; empty: its own
  std::string ray;
  std::string slurm_flags;
};
void add_cluster(Flags& flags, ClusterFlags& cluster);

// Server address and token are set by the serving command.
Result<serve::FleetOptions> fleet_options(const ClusterFlags& cluster, bool gpu, const std::string& python,
                                          const fs::path& logs);
// The device that workers are told to use: it need not be here.
Result<runner::Device> device_of_workers(const std::string& device);

}  // namespace stitch
