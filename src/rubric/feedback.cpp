#include "rubric/evidence.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "profile/rules.h"

namespace stitch::rubric {

namespace {

using Check = Done (*)(const Side& before, const Side& after);

struct AskRow {
  std::string_view name;
  std::string_view phrases;  // lower case, separated by |
  Check check;
};

int kernels_with(const CodeFacts& code, Feature feature) {
  return static_cast<int>(std::ranges::count_if(
      code.kernels, [&](const KernelFacts& each) { return each.at_work() && each.features.has(feature); }));
}

// More kernels with it, or the same in other kernels that were rewritten for it.
template <Feature... wanted>
Done gains(const Side& before, const Side& after) {
  for (Feature feature : {wanted...}) {
    const int then = kernels_with(before.code, feature), now = kernels_with(after.code, feature);
    if (now > then) return {true, format("{} came in", words(feature))};
    if (!before.code.features.has(feature) && after.code.features.has(feature))
      return {true, format("{} came in", words(feature))};
  }
  constexpr Feature first = std::get<0>(std::tuple{wanted...});
  return {false, format("no new {}", words(first))};
}

int work_items(const CodeFacts& code) { return code.launches + static_cast<int>(code.torch.size()); }

Done fuses(const Side& before, const Side& after) {
  const int then = work_items(before.code), now = work_items(after.code);
  if (now < then) return {true, format("{} launches and PyTorch calls became {}", then, now)};
  if (after.code.features.has(Feature::fused_epilogue) && !before.code.features.has(Feature::fused_epilogue))
    return {true, "a library's fused epilogue came in"};
  return {false, format("still {} launches and PyTorch calls", now)};
}

Done captures(const Side& before, const Side& after) {
  const Done graph = gains<Feature::cuda_graph>(before, after);
  if (graph.done) return graph;
  const Done fused = fuses(before, after);
  return fused.done ? fused : Done{false, "no CUDA graph and as many launches as before"};
}

Done coalesces(const Side& before, const Side& after) {
  auto strided = [](const CodeFacts& code) {
    return std::ranges::count_if(code.kernels,
                                 [](const KernelFacts& each) { return each.at_work() && each.strided; });
  };
  const auto then = strided(before.code), now = strided(after.code);
  if (now < then) return {true, "loads are no longer strided"};
  if (gains<Feature::vector_access, Feature::shared_memory>(before, after).done && now == 0)
    return {true, "wider loads, none strided"};
  return {false, now > 0 ? "loads are still strided" : "the access pattern is unchanged"};
}

int most_registers(const Execution& run) {
  int out = 0;
  for (const KernelResources& each : run.resources) out = std::max(out, each.registers);
  return out;
}
int spills(const Execution& run) {
  return std::accumulate(run.resources.begin(), run.resources.end(), 0,
                         [](int sum, const KernelResources& each) { return sum + each.spill_bytes; });
}

Done occupies(const Side& before, const Side& after) {
  if (spills(after.run) < spills(before.run)) return {true, "fewer bytes spilled"};
  const int then = most_registers(before.run), now = most_registers(after.run);
  if (then > 0 && now > 0 && now < then) return {true, format("{} registers became {}", then, now)};
  return gains<Feature::launch_bounds>(before, after);
}

Done parallelises(const Side& before, const Side& after) {
  auto narrow = [](const CodeFacts& code) {
    return std::ranges::count_if(code.kernels, [](const KernelFacts& each) {
      return each.at_work() && (each.single_thread || each.single_block);
    });
  };
  if (narrow(after.code) < narrow(before.code)) return {true, "more threads and blocks"};
  return gains<Feature::grid_stride, Feature::block_reduction, Feature::warp_shuffle>(before, after);
}

template <size_t n>
Done loses_hazard(const Side& before, const Side& after, const std::array<std::string_view, n>& names) {
  auto has = [&](const CodeFacts& code) {
    return std::ranges::any_of(
        code.hazards, [&](const Hazard& each) { return std::ranges::find(names, each.name) != names.end(); });
  };
  if (has(before.code) && !has(after.code)) return {true, "gone from the run"};
  return {false, has(after.code) ? "still in the run" : "it was not there before"};
}
Done stops_waiting(const Side& before, const Side& after) {
  return loses_hazard(before, after, std::array<std::string_view, 2>{"waits_in_run", "copies_in_run"});
}
Done stops_allocating(const Side& before, const Side& after) {
  return loses_hazard(before, after, std::array<std::string_view, 2>{"allocates_in_run", "frees_in_run"});
}

Done avoids_atomics(const Side& before, const Side& after) {
  const int then = kernels_with(before.code, Feature::atomics),
            now = kernels_with(after.code, Feature::atomics);
  if (now < then) return {true, "fewer atomics"};
  return {false, now > 0 ? "atomics are still there" : "there were no atomics"};
}

Done calls_library(const Side& before, const Side& after) {
  if (after.code.libraries.size() > before.code.libraries.size())
    return {true, format("{} is called", after.code.libraries.back().library)};
  return {false, "no new library call"};
}

Done replaces_pytorch(const Side& before, const Side& after) {
  if (after.code.torch.size() < before.code.torch.size() &&
      after.code.kernels_at_work() + after.code.libraries.size() >=
          before.code.kernels_at_work() + before.code.libraries.size())
    return {true, format("{} PyTorch calls became {}", before.code.torch.size(), after.code.torch.size())};
  return {false, format("still {} PyTorch calls", after.code.torch.size())};
}

Done register_tiles(const Side& before, const Side& after) {
  return gains<Feature::register_tiling, Feature::vector_access>(before, after);
}

constexpr AskRow rows[] = {
    {"tensor_cores", "tensor core|tensor-core|wmma|wgmma|mma.sync|mma instruction",
     gains<Feature::tensor_cores>},
    {"tiling", "shared memory|shared-memory|tiling|tiled|smem|data reuse|stage the operand|into tiles",
     gains<Feature::tiling, Feature::shared_memory>},
    {"vector_access",
     "vectori|float4|128-bit|128 bit|wide load|wider load|vector load|float2|half2|16-byte|16 bytes",
     gains<Feature::vector_access>},
    {"async_copy",
     "cp.async|async copy|async copies|asynchronous cop|prefetch|double buffer|double-buffer|software "
     "pipelin|tma "
     "|overlap the load|overlap load|multi-stage",
     gains<Feature::async_copy, Feature::double_buffering>},
    {"warp_shuffle", "shuffle|__shfl|warp-level|warp level|warp reduc", gains<Feature::warp_shuffle>},
    {"block_reduction",
     "parallel reduction|block reduc|tree reduction|block per row|one block a row|warp per row|reduce in "
     "parallel",
     gains<Feature::block_reduction, Feature::warp_shuffle>},
    {"cuda_graph", "cuda graph|graph capture|capture the|launch overhead|launch-bound|launch bound",
     captures},
    {"fusion",
     "fuse|fusion|merge the kernel|merge them|single kernel|one kernel|separate kernel|separate "
     "launch|epilogue|"
     "intermediate tensor|round trip|in the same kernel",
     fuses},
    {"coalescing",
     "coalesc|strided access|strided load|contiguous access|neighbouring threads|adjacent threads",
     coalesces},
    {"occupancy", "occupancy|register pressure|spill|launch_bounds|fewer registers", occupies},
    {"unrolling", "unroll", gains<Feature::unrolling>},
    {"fast_math", "fast math|fast-math|intrinsic|__expf|rsqrtf", gains<Feature::fast_math>},
    {"half_precision", "fp16|half precision|half-precision|bf16|mixed precision|16-bit",
     gains<Feature::half_precision>},
    {"library", "cublas|cudnn|cutlass", calls_library},
    {"own_kernel",
     "custom kernel|own kernel|replace torch|replace the pytorch|replace pytorch|still runs in pytorch|"
     "left to pytorch|still in pytorch|pytorch call",
     replaces_pytorch},
    {"register_tiling",
     "register til|register block|outputs per thread|results per thread|results a thread|outputs a "
     "thread|thread "
     "coarsen|work per thread|several outputs",
     register_tiles},
    {"one_pass", "one pass|single pass|single-pass|online softmax|welford|second pass",
     gains<Feature::online>},
    {"atomics", "atomic", avoids_atomics},
    {"parallelism",
     "grid-stride|grid stride|more blocks|single block|one block|single thread|one thread|underutil|"
     "under-util|parallelis|parallelize|only one multiprocessor",
     parallelises},
    {"read_only_cache", "__ldg|read-only cache|read only cache|__restrict__",
     gains<Feature::read_only_cache>},
    {"waiting",
     "cudadevicesynchronize|cudastreamsynchronize|remove the synchroni|needless synchroni|host synchroni",
     stops_waiting},
    {"allocating", "cudamalloc|allocates in|allocation in|allocate once|preallocat|pre-allocat",
     stops_allocating},
};

constexpr std::string_view repair_words =
    "does not compile|doesn't compile|compile error|compilation failed|build failed|undefined|illegal "
    "memory|out of "
    "bounds|out-of-bounds|wrong result|incorrect|mismatch|crash|segfault|race condition|data race|missing "
    "__syncthreads|missing barrier|off by one|off-by-one|nan |minimal_fix_hint|critical_issue|fails "
    "correctness|does "
    "not match";

// "don't use …", "instead of …", "already …": what stands shortly before takes it back.
bool is_negated(std::string_view text, size_t at) {
  const size_t begin = at > 28 ? at - 28 : 0;
  std::string_view before = text.substr(begin, at - begin);
  if (size_t stop = before.find_last_of(".;:\n"); stop != std::string_view::npos) before.remove_prefix(stop);
  for (std::string_view word : {" not ", "n't ", "without ", "instead of", "rather than", "already ",
                                "never ", "no need", "no longer"})
    if (before.find(word) != std::string_view::npos) return true;
  return false;
}

size_t first_ask(std::string_view text, std::string_view phrases) {
  size_t best = std::string_view::npos;
  for (const std::string& phrase : split(phrases, '|'))
    for (size_t found = text.find(phrase); found != std::string_view::npos;
         found = text.find(phrase, found + 1))
      if (!is_negated(text, found)) {
        best = std::min(best, found);
        break;
      }
  return best;
}

// The fields that say what to do; empty where none of them is known.
std::string suggestion_of(const Json& json) {
  std::string out;
  for (const char* key : {"suggestion", "optimisation method", "optimization method", "optimisation_method",
                          "optimization_method", "modification plan", "modification_plan", "minimal_fix_hint",
                          "fix", "critical_issue"})
    if (std::string each = word(json, key); !each.empty()) out += each + ". ";
  return out;
}

}  // namespace

Feedback read_feedback(std::string_view text, const CodeFacts& before) {
  constexpr size_t most = 64 << 10;
  Feedback out{.text = std::string(text.substr(0, most))};
  std::string suggestion;
  if (auto json = parse_json(out.text); json && json->is_object()) {
    suggestion = suggestion_of(*json);
    out.bottleneck = lower_case(word(*json, "bottleneck"));
    out.repair = json->contains("minimal_fix_hint") || json->contains("critical_issue");
  }
  const std::string all = lower_case(out.text), asked = suggestion.empty() ? all : lower_case(suggestion);
  std::vector<std::pair<size_t, std::string>> found;
  for (const AskRow& row : rows)
    if (size_t at = first_ask(asked, row.phrases); at != std::string::npos)
      found.emplace_back(at, std::string(row.name));
  std::ranges::sort(found);
  for (auto& [at, name] : found) out.asks.push_back(std::move(name));
  if (out.bottleneck.empty())
    for (const char* each : {"launch", "host", "memory", "compute", "latency", "occupancy", "imbalance"})
      if (all.find(std::string(each) + "-bound") != std::string::npos) out.bottleneck = each;
  if (!profile::parse_bottleneck(out.bottleneck)) out.bottleneck.clear();
  out.repair |= first_ask(all, repair_words) != std::string::npos;
  for (const KernelFacts& kernel : before.kernels) {
    const size_t at = out.text.find(kernel.name);
    if (at == std::string::npos || kernel.name.size() < 3) continue;
    auto is_word = [&](size_t i) {
      return i < out.text.size() &&
             (std::isalnum(static_cast<unsigned char>(out.text[i])) || out.text[i] == '_');
    };
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + kernel.name.size())) out.places.push_back(kernel.name);
  }
  return out;
}

Done is_done(std::string_view ask, const Side& before, const Side& after) {
  auto row = std::ranges::find(rows, ask, &AskRow::name);
  require(row != std::end(rows), "an ask that is not in the table");
  return row->check(before, after);
}

}  // namespace stitch::rubric
