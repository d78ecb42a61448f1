#include "runner/spare.h"

#include <vector>

namespace stitch::runner {

namespace {

// Libraries are not unloaded: the CUDA runtime inside them doesn't survive that. A few dozen are no burden.
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

// What a process was started with. Time limits are this side's.
bool alike(const Options& a, const Options& b) {
  return a.device == b.device && a.order == b.order && a.memory_limit == b.memory_limit &&
         a.readable == b.readable &&
         (a.order_seed == b.order_seed || a.order == ThreadOrder::forward ||
          a.order == ThreadOrder::reversed);
}

}  // namespace

bool can_be_spared(const Options& options) {
  return options.shared_process && options.python.empty() && options.tool.empty() &&
         !options.address_sanitizer && !options.profiler;
}

bool belongs_here(const SpareProcess& process) { return process.thread == std::this_thread::get_id(); }

void keep_spare(const Options& options, SpareProcess&& process) {
  if (process.programs >= most_programs || spares().size() >= most_spare) return;
  process.process.forget_printed();
  spares().push_back({options, std::move(process)});
}

std::optional<SpareProcess> take_spare(const Options& options) {
  if (!can_be_spared(options)) return std::nullopt;
  std::vector<Spare>& all = spares();
  for (size_t i = all.size(); i-- > 0;) {
    if (!alike(all[i].options, options)) continue;
    std::optional<SpareProcess> out(std::move(all[i].process));
    // Neither can be assigned: those behind it are moved out and in again.
    std::vector<Spare> rest;
    for (size_t k = 0; k < all.size(); ++k)
      if (k != i) rest.push_back(std::move(all[k]));
    all.swap(rest);
    return out;
  }
  return std::nullopt;
}

}  // namespace stitch::runner
