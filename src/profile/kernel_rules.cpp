// What limits one kernel, or the kernels of one region. The rules are tried in order; the first that holds
// names the bottleneck. Each works with what there is: hardware counters, the build's registers and shared
// memory, the work by the graph, and the time.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "profile/rules.h"

namespace stitch::profile {

namespace {

using enum Metric;

// Where a roof counts as reached, and where it is at least what matters most; in percent of the peak.
constexpr double reached = 60, leading = 40;
// What good kernels reach of a roof: what a gain is expected up to.
constexpr double good_memory = 0.85, good_compute = 0.70;

// A subject with what follows from it.
struct SeenKernel {
  const Subject& subject;
  const GpuSpec& gpu;
  double memory = 0, compute = 0;  // seconds at the roofs

  std::optional<double> get(Metric metric) const { return subject.metrics.get(metric); }
  double value(Metric metric) const { return get(metric).value_or(0); }
  bool counted() const { return subject.metrics.counted(); }
  double each() const { return subject.seconds / std::max(subject.launches, 1); }
  double blocks() const {
    const auto& launch = subject.launch;
    return launch ? double(launch->grid[0]) * launch->grid[1] * launch->grid[2] : 0;
  }
  double threads() const {
    const auto& launch = subject.launch;
    return launch ? double(launch->block[0]) * launch->block[1] * launch->block[2] : 0;
  }
  // In percent: of the memory's and the arithmetic's roof, by counters or by the work.
  double memory_share() const {
    if (counted()) return std::max({value(dram_throughput), value(l2_throughput), value(l1_throughput)});
    return subject.seconds > 0 ? 100 * memory / subject.seconds : 0;
  }
  double compute_share() const {
    if (counted()) return std::max({value(sm_throughput), value(tensor_active), value(fma_active)});
    return subject.seconds > 0 ? 100 * compute / subject.seconds : 0;
  }
  // What would be saved if the work went at what good kernels reach; without known work, by the share of the
  // roof that was reached.
  double to_the_roof() const {
    if (subject.work.known())
      return std::max(0.0, subject.seconds - std::max(memory / good_memory, compute / good_compute));
    const double share = std::max(memory_share(), compute_share()) / 100;
    return subject.seconds * std::clamp(1 - share / good_memory, 0.0, 0.9);
  }
};

struct KernelFinding {
  std::vector<Figure> evidence;
  std::string suggestion;
  double gain = 0;  // seconds of a call
};
using FoundKernel = std::optional<KernelFinding>;

Figure figure(const SeenKernel& seen, Metric metric) {
  constexpr const char* units[] = {"s", "%", "B", "", ""};
  const MetricInfo& row = info(metric);
  return {std::string(row.name), seen.value(metric), units[static_cast<int>(row.unit)]};
}

// Those of the list that are known.
std::vector<Figure> figures(const SeenKernel& seen, std::initializer_list<Metric> list) {
  std::vector<Figure> out;
  for (Metric metric : list)
    if (seen.get(metric)) out.push_back(figure(seen, metric));
  return out;
}

std::vector<Figure> with_roofs(const SeenKernel& seen, std::vector<Figure> evidence) {
  if (seen.subject.work.known() && seen.subject.seconds > 0) {
    evidence.push_back({"share_of_bandwidth", 100 * seen.memory / seen.subject.seconds, "%"});
    evidence.push_back({"share_of_arithmetic", 100 * seen.compute / seen.subject.seconds, "%"});
  }
  return evidence;
}

// ---- the rules -------------------------------------------------------------------------------------------

FoundKernel short_kernel(const SeenKernel& seen) {
  constexpr double shortest = 3.5e-6;  // an empty kernel takes 2 us by CUPTI's clock
  if (seen.subject.seconds <= 0 || seen.each() >= shortest) return {};
  if (!seen.counted() && std::max(seen.memory_share(), seen.compute_share()) >= reached) return {};
  // One launch it needs, whatever is done to it.
  const double floor = seen.gpu.kernel_overhead + std::max(seen.memory, seen.compute);
  return KernelFinding{
      {{"seconds_each", seen.each(), "s"}, {"launches", double(seen.subject.launches), ""}},
      seen.subject.launches > 1
          ? "fuse its kernels into one: their launches take as long as their work"
          : "its launch takes as long as its work: fuse it into the kernel before or after it",
      std::max(0.0, seen.subject.seconds - floor)};
}

// A grid that leaves most multiprocessors empty: a chain of dependent steps, or work that could be split.
bool leaves_gpu_empty(const SeenKernel& seen) {
  return seen.blocks() > 0 && seen.blocks() < 0.5 * seen.gpu.sms;
}

FoundKernel dependent_chain(const SeenKernel& seen) {
  if (!leaves_gpu_empty(seen)) return {};
  const bool waiting = seen.counted() ? seen.value(issue_active) < 25 : seen.threads() <= 64;
  if (!waiting) return {};
  auto evidence = figures(seen, {issue_active, stall_long_scoreboard, stall_wait});
  evidence.push_back({"blocks", seen.blocks(), ""});
  return KernelFinding{
      evidence,
      "each step waits for the one before it: shorten the chain, keep its data in registers or "
      "shared memory, or give other work to the idle multiprocessors",
      seen.to_the_roof() / 2};
}

FoundKernel empty_gpu(const SeenKernel& seen) {
  if (!leaves_gpu_empty(seen)) return {};
  auto evidence = figures(seen, {achieved_occupancy, issue_active});
  evidence.push_back({"blocks", seen.blocks(), ""});
  evidence.push_back({"multiprocessors", double(seen.gpu.sms), ""});
  return KernelFinding{
      evidence,
      format("split the work over more blocks: {:.0f} blocks leave {:.0f} of {} multiprocessors idle",
             seen.blocks(), seen.gpu.sms - seen.blocks(), seen.gpu.sms),
      seen.subject.seconds * (1 - seen.blocks() / seen.gpu.sms) / 1.25};
}

FoundKernel uneven_blocks(const SeenKernel& seen) {
  constexpr double uneven = 1.4;
  const double found = seen.value(sm_imbalance);
  if (found < uneven) return {};
  const double wave_count = seen.value(waves);
  const bool tail = wave_count > 1 && wave_count < 4 && std::ceil(wave_count) / wave_count >= 1.2;
  return KernelFinding{
      figures(seen, {sm_imbalance, waves, sm_throughput, dram_throughput}),
      tail ? "choose a grid that fills whole waves, or a persistent grid: the last wave leaves most "
             "multiprocessors idle"
           : "balance the blocks: split the longest ones, or let blocks fetch work from a counter",
      seen.subject.seconds * (1 - 1 / found)};
}

// Without counters: how the grid falls into waves.
FoundKernel tail_wave(const SeenKernel& seen) {
  const double found = seen.value(waves);
  if (seen.counted() || found <= 1 || found >= 4) return {};
  const double wasted = std::ceil(found) / found;
  if (wasted < 1.3 || std::max(seen.memory_share(), seen.compute_share()) >= reached) return {};
  return KernelFinding{
      with_roofs(seen, figures(seen, {waves, theoretical_occupancy})),
      "choose a grid that fills whole waves, or a persistent grid: the last wave leaves most "
      "multiprocessors idle",
      seen.subject.seconds * (1 - 1 / wasted)};
}

// Sectors that a request needs more than coalesced accesses would: 16-byte accesses of 32 lanes take 16.
double wasted_sectors(const SeenKernel& seen) {
  const double sectors = std::max(seen.value(global_load_sectors), seen.value(global_store_sectors));
  const double bytes = seen.value(dram_bytes) * seen.subject.launches, needed = seen.subject.work.bytes;
  if (sectors > 16.5) return sectors / 4;
  return sectors > 4.5 && needed > 0 && bytes > 2 * needed ? bytes / needed : 1;
}

FoundKernel uncoalesced(const SeenKernel& seen) {
  const double wasted = wasted_sectors(seen);
  if (wasted < 2) return {};
  if (seen.counted() && seen.memory_share() < std::max(leading, 0.8 * seen.compute_share())) return {};
  return KernelFinding{
      with_roofs(seen, figures(seen, {global_load_sectors, global_store_sectors, dram_throughput,
                                      l2_throughput, l1_throughput, dram_bytes})),
      "let neighbouring threads access neighbouring addresses: transpose through shared memory, or change "
      "the order of dimensions",
      std::max(0.0,
               seen.subject.work.known() ? seen.to_the_roof() : seen.subject.seconds * (1 - 1 / wasted))};
}

FoundKernel spilled_registers(const SeenKernel& seen) {
  const double local = seen.value(local_loads) + seen.value(local_stores),
               global = seen.value(loads) + seen.value(stores);
  const bool much = seen.counted() ? local > 0.5 * global && seen.memory_share() >= leading &&
                                         seen.memory_share() > 0.5 * seen.compute_share()
                                   : seen.value(spill_bytes) >= 256;
  if (!much) return {};
  return KernelFinding{
      figures(seen, {local_loads, local_stores, spill_bytes, registers, l1_throughput}),
      "keep fewer values alive: smaller tiles per thread, constant indices into arrays, or a larger "
      "register limit (__launch_bounds__)",
      seen.to_the_roof()};
}

FoundKernel bank_conflicts(const SeenKernel& seen) {
  const double conflicts = std::max(seen.value(shared_load_conflicts), seen.value(shared_store_conflicts));
  if (conflicts < 0.9) return {};
  const bool counts = seen.counted() ? seen.value(shared_active) >= leading : conflicts >= 4;
  if (!counts) return {};
  return KernelFinding{
      figures(seen, {shared_load_conflicts, shared_store_conflicts, shared_active, l1_throughput}),
      "pad the rows of the shared array by one element, or swizzle its columns: a request takes "
      "several passes over the banks",
      seen.subject.seconds * std::min(0.9, conflicts / (1 + conflicts))};
}

FoundKernel at_bandwidth(const SeenKernel& seen) {
  if (seen.memory_share() < reached || seen.memory_share() < seen.compute_share()) return {};
  return KernelFinding{
      with_roofs(seen,
                 figures(seen, {dram_throughput, l2_throughput, l1_throughput, dram_bytes, sm_throughput})),
      seen.to_the_roof() > 0.15 * seen.subject.seconds
          ? "move fewer bytes: fuse it with its neighbours, keep what is read twice in shared memory"
          : "move fewer bytes: fuse it with its neighbours or store narrower types; it is near the bandwidth",
      seen.to_the_roof()};
}

FoundKernel at_arithmetic(const SeenKernel& seen) {
  if (seen.compute_share() < reached) return {};
  const bool lanes_idle = seen.get(lanes_active) && seen.value(lanes_active) < 20;
  const bool matrix = seen.subject.work.matrix_flops > 0.5 * seen.subject.work.flops;
  std::string suggestion = "do less arithmetic: it runs at the pipe's rate";
  double gain = seen.to_the_roof();
  if (lanes_idle) {
    suggestion =
        "let all lanes of a warp take the same branch: sort the work by branch, or compute both sides";
    gain = seen.subject.seconds * (1 - seen.value(lanes_active) / 32);
  } else if (matrix && seen.counted() && seen.value(tensor_active) < 10) {
    suggestion = "use tensor cores for its products";
  } else if (seen.value(tensor_active) >= leading || (matrix && !seen.counted())) {
    suggestion = "larger tiles or a narrower type for its products; it is near the tensor cores' rate";
  }
  return KernelFinding{with_roofs(seen, figures(seen, {sm_throughput, tensor_active, fma_active, issue_active,
                                                       lanes_active, dram_throughput})),
                       suggestion, gain};
}

// Issue slots that go by empty, since too few warps are there to hide latencies.
FoundKernel few_warps(const SeenKernel& seen) {
  constexpr double few = 35;
  if (!seen.get(theoretical_occupancy) || seen.value(theoretical_occupancy) > few) return {};
  if (seen.counted() ? seen.value(issue_active) >= reached
                     : std::max(seen.memory_share(), seen.compute_share()) >= reached)
    return {};
  const bool by_shared = seen.value(shared_bytes) > 0 && seen.gpu.shared_per_sm > 0 &&
                         seen.value(shared_bytes) * 4 > double(seen.gpu.shared_per_sm);
  return KernelFinding{with_roofs(seen, figures(seen, {theoretical_occupancy, achieved_occupancy, registers,
                                                       shared_bytes, issue_active, eligible_warps})),
                       by_shared
                           ? "use less shared memory per block, so that more blocks fit on a multiprocessor"
                       : seen.value(registers) > 64
                           ? "use fewer registers per thread, so that more warps fit on a multiprocessor"
                           : "use larger blocks, or more blocks per multiprocessor",
                       std::min(seen.to_the_roof(), 0.5 * seen.subject.seconds)};
}

FoundKernel mostly_memory(const SeenKernel& seen) {
  if (seen.memory_share() < leading || seen.memory_share() < seen.compute_share()) return {};
  return KernelFinding{
      with_roofs(seen, figures(seen, {dram_throughput, l2_throughput, l1_throughput, stall_long_scoreboard})),
      "more bytes in flight: 16-byte loads, several of them before the first use", seen.to_the_roof()};
}

FoundKernel mostly_arithmetic(const SeenKernel& seen) {
  if (seen.compute_share() < leading) return {};
  return KernelFinding{
      with_roofs(seen,
                 figures(seen, {sm_throughput, tensor_active, fma_active, issue_active, eligible_warps})),
      "more independent operations per thread, so that the pipe never stalls", seen.to_the_roof()};
}

// Neither roof, and warps enough: they wait. The longest wait says for what.
FoundKernel waiting_warps(const SeenKernel& seen) {
  struct Stall {
    Metric metric;
    const char* suggestion;
  };
  constexpr Stall stalls[] = {
      {stall_long_scoreboard,
       "more loads in flight: issue several before the first use, or prefetch with cp.async"},
      {stall_short_scoreboard, "fewer dependent accesses to shared memory: keep values in registers"},
      {stall_barrier,
       "fewer barriers: more work between them, or warp-level exchange instead of __syncthreads"},
      {stall_wait, "more independent instructions a thread: unroll, several accumulators"},
      {stall_lg_throttle, "fewer and wider accesses to global memory; combine atomics in a block first"},
      {stall_mio_throttle, "fewer accesses to shared memory and special functions"}};
  const Stall* longest = &stalls[0];
  for (const Stall& stall : stalls)
    if (seen.value(stall.metric) > seen.value(longest->metric)) longest = &stall;
  const double contended = seen.value(atomics) + seen.value(reductions);
  const bool by_atomics = contended > 0.25 * (seen.value(loads) + seen.value(stores) + contended);
  std::string suggestion = !seen.counted() ? "more work in flight: larger tiles, wider loads, independent "
                                             "instructions; counters would say what it waits for"
                           : by_atomics
                               ? "combine values in a warp and a block before the atomic: they wait for "
                                 "the same address"
                               : longest->suggestion;
  return KernelFinding{
      with_roofs(seen, figures(seen, {issue_active, eligible_warps, longest->metric, atomics, reductions,
                                      sm_throughput, dram_throughput, achieved_occupancy})),
      suggestion, std::min(seen.to_the_roof(), 0.7 * seen.subject.seconds)};
}

struct KernelRule {
  RuleInfo info;
  FoundKernel (*find)(const SeenKernel&);
};

constexpr KernelRule rules_in_order[] = {
    {{"short_kernel", Bottleneck::launch, "a launch takes under 3.5 us"}, short_kernel},
    {{"dependent_chain", Bottleneck::latency,
      "blocks for under half of the multiprocessors, which hardly issue"},
     dependent_chain},
    {{"empty_gpu", Bottleneck::occupancy, "blocks for under half of the multiprocessors"}, empty_gpu},
    {{"uneven_blocks", Bottleneck::imbalance, "a multiprocessor works 1.4 times as long as the average"},
     uneven_blocks},
    {{"tail_wave", Bottleneck::imbalance, "no counters; a last wave that is nearly empty"}, tail_wave},
    {{"spilled_registers", Bottleneck::memory, "local memory is half of the accesses and memory leads"},
     spilled_registers},
    {{"bank_conflicts", Bottleneck::memory, "nearly every access to shared memory takes another pass"},
     bank_conflicts},
    {{"uncoalesced", Bottleneck::memory, "twice the sectors that the data needs, and memory leads"},
     uncoalesced},
    {{"at_bandwidth", Bottleneck::memory, "60 % of the memory's roof"}, at_bandwidth},
    {{"at_arithmetic", Bottleneck::compute, "60 % of the arithmetic's roof"}, at_arithmetic},
    {{"few_warps", Bottleneck::occupancy, "room for at most 35 % of the warps, and slots go by empty"},
     few_warps},
    {{"mostly_memory", Bottleneck::memory, "40 % of the memory's roof"}, mostly_memory},
    {{"mostly_arithmetic", Bottleneck::compute, "40 % of the arithmetic's roof"}, mostly_arithmetic},
    {{"waiting_warps", Bottleneck::latency, "everything else: warps wait"}, waiting_warps},
};

std::string missing_of(const SeenKernel& seen) {
  if (seen.counted()) return "";
  std::string out =
      seen.subject.metrics.missing.empty() ? "no hardware counters" : seen.subject.metrics.missing;
  if (!seen.subject.work.known()) out += "; its work is not known";
  return out;
}

}  // namespace

double memory_seconds(const Work& work, const GpuSpec& gpu) {
  return gpu.bandwidth > 0 ? work.bytes / gpu.bandwidth : 0;
}

double compute_seconds(const Work& work, const GpuSpec& gpu) {
  const double rate = work.matrix_rate > 0 ? work.matrix_rate : gpu.tensor_fp16;
  double out = gpu.fp32 > 0 ? (work.flops - work.matrix_flops) / gpu.fp32 : 0;
  if (rate > 0) out += work.matrix_flops / rate;
  return out;
}

Diagnosis diagnose(const Subject& subject, const GpuSpec& gpu) {
  const SeenKernel seen{subject, gpu, memory_seconds(subject.work, gpu), compute_seconds(subject.work, gpu)};
  for (const KernelRule& rule : rules_in_order)
    if (FoundKernel found = rule.find(seen))
      return {.subject = subject.name,
              .bottleneck = rule.info.bottleneck,
              .rule = std::string(rule.info.name),
              .seconds = subject.seconds,
              .evidence = std::move(found->evidence),
              .suggestion = std::move(found->suggestion),
              .expected_gain_seconds = std::clamp(found->gain, 0.0, subject.seconds),
              .missing = missing_of(seen)};
  throw Bug("the last rule holds always");
}

std::vector<RuleInfo> kernel_rules() {
  std::vector<RuleInfo> out;
  for (const KernelRule& rule : rules_in_order) out.push_back(rule.info);
  return out;
}

}  // namespace stitch::profile
