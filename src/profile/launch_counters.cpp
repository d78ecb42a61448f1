#include "profile/launch_counters.h"

#include <map>

#include "base/format.h"

namespace stitch::profile {

Result<std::vector<KernelMetrics>> metrics_of_launches(std::span<const std::string> kernels,
                                                       std::span<const runner::Counts> launches) {
  if (launches.empty()) return work_error("no_counters", "CUPTI recorded no launch");
  if (kernels.size() != launches.size())
    return work_error(
        "no_counters",
        format("CUPTI recorded {} launches, but the call has {} kernels: it may launch its own CUDA graph",
               launches.size(), kernels.size()));
  struct Sum {
    runner::Counts values;
    std::map<std::string, int> counts;
    int launches = 0;
  };
  std::map<std::string, Sum> sums;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Sum& sum = sums[kernels[i]];
    ++sum.launches;
    for (const auto& [counter, value] : launches[i]) {
      sum.values[counter] += value;
      ++sum.counts[counter];
    }
  }
  std::vector<KernelMetrics> out;
  for (auto& [kernel, sum] : sums) {
    for (auto& [counter, value] : sum.values) value /= sum.counts[counter];
    KernelMetrics metrics{.kernel = kernel, .launches = sum.launches, .sources = {Source::cupti}};
    add_counters(metrics, sum.values);
    for (auto& [metric, value] : metrics.values)
      if (info(metric).unit == Unit::seconds) value *= 1e-9;
    out.push_back(std::move(metrics));
  }
  return out;
}

}  // namespace stitch::profile
