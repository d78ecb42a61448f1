#include "runner/spare.h"

#include <vector>

#include "base/machine/process.h"
#include "runner/process_usage.h"
#include "runner/ready.h"

namespace stitch::runner {

namespace {

// Libraries stay mapped, since the CUDA runtime in them doesn't survive dlclose. A few dozen do no harm.
constexpr int most_programs = 48;
constexpr size_t most_spare = 2;

struct Spare {
  Options options;
  SpareProcess process;
};

std::vector<Spare>& spares() {
  thread_local std::vector<Spare> of_this_thread;
  return of_this_thread;
}

Options as_kept(Options options) {
  if (options.memory_limit <= 0) options.memory_limit = physical_memory() / 2;
  return options;
}

}  // namespace

bool can_be_spared(const Options& options) {
  return options.shared_process && options.python.empty() && options.tool.empty() &&
         !options.address_sanitizer && !options.profiler;
}

void keep_spare(const Options& options, SpareProcess&& process) {
  if (process.programs >= most_programs || spares().size() >= most_spare) return;
  process.process.forget_printed();
  spares().push_back({as_kept(options), std::move(process)});
}

std::optional<SpareProcess> take_spare(const Options& options) {
  if (!can_be_spared(options)) return std::nullopt;
  std::vector<Spare>& all = spares();
  const Options wanted = as_kept(options);
  for (size_t i = all.size(); i-- > 0;) {
    if (!same_kind(all[i].options, wanted)) continue;
    std::optional<SpareProcess> out(std::move(all[i].process));
    // Neither can be assigned, so the elements after it are moved out and in again.
    std::vector<Spare> rest;
    for (size_t k = 0; k < all.size(); ++k)
      if (k != i) rest.push_back(std::move(all[k]));
    all.swap(rest);
    return out;
  }
  return std::nullopt;
}

}  // namespace stitch::runner
