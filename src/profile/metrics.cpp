#include "profile/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace stitch::profile {

namespace {

using enum Metric;

// Every name was held against CUPTI's own list for GH100 (counter_names_test.cpp does it again where CUPTI
// is).
constexpr MetricInfo table[] = {
    {duration, "duration", Unit::seconds, "gpu__time_duration.sum", "", "time on the device"},
    {sm_throughput, "sm_throughput", Unit::percent, "sm__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "busiest pipe or issue slot of the multiprocessors"},
    {dram_throughput, "dram_throughput", Unit::percent,
     "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "", "device memory"},
    {l1_throughput, "l1_throughput", Unit::percent, "l1tex__throughput.avg.pct_of_peak_sustained_active", "",
     "L1 and shared memory"},
    {l2_throughput, "l2_throughput", Unit::percent, "lts__throughput.avg.pct_of_peak_sustained_elapsed", "",
     "L2"},
    {l1_hit_rate, "l1_hit_rate", Unit::percent, "l1tex__t_sector_hit_rate.pct", "", "sectors found in L1"},
    {l2_hit_rate, "l2_hit_rate", Unit::percent, "lts__t_sector_hit_rate.pct", "", "sectors found in L2"},
    {dram_bytes, "dram_bytes", Unit::bytes, "dram__bytes.sum", "", "read from and written to device memory"},
    {achieved_occupancy, "achieved_occupancy", Unit::percent,
     "sm__warps_active.avg.pct_of_peak_sustained_active", "", "warps resident, of those that fit"},
    {theoretical_occupancy, "theoretical_occupancy", Unit::percent, "", "",
     "warps that registers, shared memory and block size allow"},
    {waves, "waves", Unit::ratio, "", "", "blocks over those that fit the GPU at once"},
    {registers, "registers", Unit::count, "", "", "of a thread"},
    {shared_bytes, "shared_bytes", Unit::bytes, "", "", "of a block"},
    {local_loads, "local_loads", Unit::count, "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "",
     "requests: spilled registers and indexed arrays"},
    {local_stores, "local_stores", Unit::count, "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum", "",
     "requests: spilled registers and indexed arrays"},
    {global_load_sectors, "global_load_sectors", Unit::ratio,
     "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "",
     "32-byte sectors a load of a warp; 4 for coalesced 4-byte accesses"},
    {global_store_sectors, "global_store_sectors", Unit::ratio,
     "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "",
     "32-byte sectors a store of a warp"},
    {shared_load_conflicts, "shared_load_conflicts", Unit::ratio,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "smsp__inst_executed_op_shared_ld.sum",
     "extra passes a load from shared memory"},
    {shared_store_conflicts, "shared_store_conflicts", Unit::ratio,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "smsp__inst_executed_op_shared_st.sum",
     "extra passes a store to shared memory"},
    {issue_active, "issue_active", Unit::percent, "smsp__issue_active.avg.pct_of_peak_sustained_active", "",
     "cycles in which a scheduler issued"},
    {eligible_warps, "eligible_warps", Unit::ratio, "smsp__warps_eligible.avg.per_cycle_active", "",
     "warps of a scheduler that could issue"},
    {tensor_active, "tensor_active", Unit::percent,
     "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "", "tensor cores"},
    {fma_active, "fma_active", Unit::percent, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
     "", "FP32 pipe"},
    {lsu_active, "lsu_active", Unit::percent, "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
     "", "load and store pipe"},
    {shared_active, "shared_active", Unit::percent,
     "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active", "",
     "shared memory's data pipe"},
    {branch_uniform, "branch_uniform", Unit::percent, "smsp__sass_average_branch_targets_threads_uniform.pct",
     "", "branches that all lanes take alike"},
    {lanes_active, "lanes_active", Unit::ratio, "smsp__thread_inst_executed_per_inst_executed.ratio", "",
     "threads of a warp at an instruction"},
    {sm_imbalance, "sm_imbalance", Unit::ratio, "sm__cycles_active.max", "sm__cycles_active.avg",
     "busiest multiprocessor over the average"},
    {stall_long_scoreboard, "stall_long_scoreboard", Unit::ratio,
     "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "",
     "warps waiting for global or local memory"},
    {stall_short_scoreboard, "stall_short_scoreboard", Unit::ratio,
     "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "",
     "warps waiting for shared memory or special functions"},
    {stall_barrier, "stall_barrier", Unit::ratio,
     "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "", "warps waiting at a barrier"},
    {stall_wait, "stall_wait", Unit::ratio, "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
     "", "warps waiting a fixed latency"},
    {stall_not_selected, "stall_not_selected", Unit::ratio,
     "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio", "",
     "warps ready while another was issued"},
    {stall_math_pipe, "stall_math_pipe", Unit::ratio,
     "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "",
     "warps waiting for an arithmetic pipe"},
    {stall_lg_throttle, "stall_lg_throttle", Unit::ratio,
     "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "",
     "warps waiting for the queue of global and local accesses"},
    {stall_mio_throttle, "stall_mio_throttle", Unit::ratio,
     "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "",
     "warps waiting for the queue of shared memory and special functions"},
    {loads, "loads", Unit::count, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "",
     "loads from global memory, of warps"},
    {stores, "stores", Unit::count, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "",
     "stores to global memory, of warps"},
    {shared_loads, "shared_loads", Unit::count, "smsp__inst_executed_op_shared_ld.sum", "",
     "loads from shared memory, of warps"},
    {shared_stores, "shared_stores", Unit::count, "smsp__inst_executed_op_shared_st.sum", "",
     "stores to shared memory, of warps"},
    {atomics, "atomics", Unit::count, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "",
     "atomics that return a value, of warps"},
    {reductions, "reductions", Unit::count, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "",
     "atomics whose result is unused, in warps"},
    {barriers, "barriers", Unit::count, "", "", "__syncthreads, of blocks"},
    {spill_bytes, "spill_bytes", Unit::bytes, "", "", "spilled registers, loads and stores, by ptxas"},
};

constexpr std::pair<Source, std::string_view> sources[] = {
    {Source::build, "build"}, {Source::ncu, "ncu"}, {Source::cupti, "cupti"}, {Source::emulated, "emulated"}};

int64_t product(const int (&size)[3]) { return int64_t{size[0]} * size[1] * size[2]; }

// Blocks of a kernel that a multiprocessor holds at once.
int64_t resident_blocks(const GpuSpec& gpu, int threads, int registers_of_thread, int64_t shared) {
  constexpr int warp = 32, register_granule = 256;  // registers are given out per warp in these
  const int64_t warps = (threads + warp - 1) / warp;
  int64_t blocks = gpu.blocks_per_sm(threads, shared);
  if (registers_of_thread > 0) {
    const int64_t per_warp =
        (int64_t{registers_of_thread} * warp + register_granule - 1) / register_granule * register_granule;
    blocks = std::min(blocks, gpu.registers_per_sm / per_warp / warps);
  }
  return std::max<int64_t>(blocks, 1);
}

void add_source(KernelMetrics& metrics, Source source) {
  if (std::ranges::find(metrics.sources, source) == metrics.sources.end()) metrics.sources.push_back(source);
}

}  // namespace

std::span<const MetricInfo> metric_table() { return table; }

const MetricInfo& info(Metric metric) {
  for (const MetricInfo& row : table)
    if (row.metric == metric) return row;
  throw Bug("a metric without a row");
}

std::string_view name(Source source) {
  for (const auto& [known, text] : sources)
    if (known == source) return text;
  throw Bug("a source of metrics without a name");
}

bool KernelMetrics::counted() const {
  return std::ranges::any_of(sources, [](Source s) { return s == Source::ncu || s == Source::cupti; });
}

Json to_json(const KernelMetrics& metrics) {
  Json out = {{"kernel", metrics.kernel}, {"launches", metrics.launches}, {"sources", Json::array()}};
  for (Source source : metrics.sources) out["sources"].push_back(name(source));
  out["values"] = Json::object();
  Json absent = Json::array();
  for (const MetricInfo& row : table) {
    if (auto value = metrics.get(row.metric))
      out["values"][std::string(row.name)] = *value;
    else
      absent.push_back(row.name);
  }
  out["absent"] = std::move(absent);
  if (!metrics.missing.empty()) out["missing"] = metrics.missing;
  return out;
}

KernelMetrics metrics_of_launch(const runner::Activity& launch, const build::KernelResources* built,
                                const GpuSpec& gpu) {
  KernelMetrics out{.kernel = launch.name, .launches = 1, .sources = {Source::build}};
  const int64_t threads = product(launch.block), blocks = product(launch.grid);
  const int per_thread = launch.registers ? launch.registers : built ? built->registers : 0;
  if (per_thread) out.values[Metric::registers] = per_thread;
  if (threads > 0) out.values[Metric::shared_bytes] = static_cast<double>(launch.shared_bytes);
  if (built) out.values[spill_bytes] = built->spill_bytes;
  if (threads > 0 && threads <= gpu.threads_per_sm && gpu.sms > 0) {
    const int64_t resident = resident_blocks(gpu, static_cast<int>(threads), per_thread, launch.shared_bytes);
    out.values[theoretical_occupancy] =
        100.0 * static_cast<double>(resident * threads) / static_cast<double>(gpu.threads_per_sm);
    out.values[waves] = static_cast<double>(blocks) / static_cast<double>(resident * gpu.sms);
  }
  if (!launch.counters.empty()) add_emulated(out, launch.counters);
  return out;
}

std::vector<std::string> counter_names() {
  std::vector<std::string> out;
  for (const MetricInfo& row : table)
    for (std::string_view counter : {row.counter, row.over})
      if (!counter.empty() && std::ranges::find(out, counter) == out.end()) out.emplace_back(counter);
  return out;
}

void add_counters(KernelMetrics& metrics, const std::map<std::string, double>& counters) {
  for (const MetricInfo& row : table) {
    auto value = counters.find(std::string(row.counter));
    if (row.counter.empty() || value == counters.end() || !std::isfinite(value->second)) continue;
    if (row.over.empty()) {
      metrics.values[row.metric] = value->second;
      continue;
    }
    auto over = counters.find(std::string(row.over));
    if (over != counters.end() && over->second > 0) metrics.values[row.metric] = value->second / over->second;
  }
}

void add_emulated(KernelMetrics& metrics, const std::map<std::string, double>& counters) {
  for (const MetricInfo& row : table)
    if (auto value = counters.find(std::string(row.name)); value != counters.end())
      metrics.values[row.metric] = value->second;
  add_source(metrics, Source::emulated);
}

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
