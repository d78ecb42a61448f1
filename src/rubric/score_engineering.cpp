// CUDA engineering: each kernel by what its kind of work asks for, weighted by the time it takes; then what
// the program as a whole does well or badly.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "rubric/judge.h"

namespace stitch::rubric {

namespace {

struct Credit {
  Feature feature;
  double points;
};

// What each kind of work is worth without any technique, and with each.
struct Ladder {
  Work work;
  double start;
  std::array<Credit, 8> credits;
};
constexpr std::array ladders = {
    Ladder{Work::product,
           2.0,
           {{{Feature::tiling, 1.0},
             {Feature::register_tiling, 0.7},
             {Feature::vector_access, 0.4},
             {Feature::tensor_cores, 1.4},
             {Feature::async_copy, 0.5},
             {Feature::double_buffering, 0.3},
             {Feature::unrolling, 0.1},
             {Feature::read_only_cache, 0.1}}}},
    Ladder{Work::reduction,
           2.0,
           {{{Feature::block_reduction, 1.1},
             {Feature::warp_shuffle, 0.5},
             {Feature::vector_access, 0.7},
             {Feature::online, 0.4},
             {Feature::grid_stride, 0.1},
             {Feature::unrolling, 0.1},
             {Feature::read_only_cache, 0.1},
             {Feature::launch_bounds, 0.1}}}},
    Ladder{Work::pointwise,
           2.8,
           {{{Feature::vector_access, 0.9},
             {Feature::grid_stride, 0.3},
             {Feature::read_only_cache, 0.2},
             {Feature::unrolling, 0.1},
             {Feature::launch_bounds, 0.1},
             {Feature::fast_math, 0.1},
             {Feature::half_precision, 0.0},
             {Feature::streams, 0.0}}}},
    Ladder{Work::move,
           2.4,
           {{{Feature::vector_access, 0.9},
             {Feature::tiling, 0.9},
             {Feature::shared_memory, 0.5},
             {Feature::grid_stride, 0.2},
             {Feature::read_only_cache, 0.1},
             {Feature::unrolling, 0.1},
             {Feature::launch_bounds, 0.0},
             {Feature::streams, 0.0}}}},
};

struct Part {
  double level = 1, weight = 1;
  std::string why;
};

double weight_of(Work work) {
  switch (work) {
    case Work::product: return 4;
    case Work::reduction: return 2;
    case Work::pointwise: return 1;
    default: return 0.5;
  }
}

int spill_bytes(const Evidence& evidence, const std::string& kernel) {
  int out = 0;
  for (const KernelResources& each : evidence.run.resources)
    if (each.kernel.find(kernel) != std::string::npos) out = std::max(out, each.spill_bytes);
  return out;
}

// How much of what the profile saw is the text's kernels: none where they are launched by other names.
double known_share(const Evidence& evidence) {
  double out = 0;
  for (const KernelFacts& kernel : evidence.code.kernels)
    out += share_of(evidence.run, kernel.name).value_or(0);
  return std::min(out, 1.0);
}

// By its share of what ran, so that code that never runs counts nothing; without a profile by the kind of
// work.
double weight_of(const Evidence& evidence, const KernelFacts& kernel) {
  const auto share = share_of(evidence.run, kernel.name);
  return share && known_share(evidence) > 0 ? 1e-3 + 10 * *share : weight_of(kernel.work);
}

// A technique that stands in a branch which no launch took is none.
bool was_used(const Evidence& evidence, const KernelFacts& kernel, Feature feature) {
  if (!kernel.features.has(feature)) return false;
  auto came = [&](std::initializer_list<std::string_view> one_of) {
    return came_by(evidence.run, kernel.name, one_of);
  };
  switch (feature) {
    case Feature::tensor_cores: return came({"tensor_cores"});
    case Feature::warp_shuffle: return came({"shuffles"});
    case Feature::block_reduction: return came({"barriers", "shuffles"});
    case Feature::shared_memory: return came({"shared_memory"});
    case Feature::tiling:
    case Feature::double_buffering: return came({"shared_memory"}) && came({"barriers", "shuffles"});
    default: return true;
  }
}

Part part_of(const Evidence& evidence, const KernelFacts& kernel) {
  auto has = [&](Feature feature) { return was_used(evidence, kernel, feature); };
  Part out{.level = 1.5, .weight = weight_of(evidence, kernel)};
  std::vector<std::string> used, against;
  for (const Ladder& ladder : ladders) {
    if (ladder.work != kernel.work) continue;
    out.level = ladder.start;
    for (const Credit& credit : ladder.credits) {
      if (!has(credit.feature)) continue;
      out.level += credit.points;
      if (credit.points > 0.15) used.emplace_back(words(credit.feature));
    }
    // A warp a row needs no block.
    if (kernel.work == Work::reduction && has(Feature::warp_shuffle) && !has(Feature::block_reduction))
      out.level += 0.7;
  }
  auto subtract = [&](bool when, double points, std::string what) {
    if (!when) return;
    out.level -= points;
    against.push_back(std::move(what));
  };
  subtract(kernel.single_thread, 1.3, "less than a warp per block");
  // Right as it may be: the rest of the GPU stands still.
  constexpr int64_t enough_for_many = 16384;
  const bool wasteful = kernel.single_block && kernel.loops_to >= enough_for_many;
  subtract(wasteful, 5, format("one block for {} elements", kernel.loops_to));
  subtract(!wasteful && kernel.single_block && kernel.work >= Work::pointwise, 0.8, "one block");
  subtract(kernel.strided && !has(Feature::tiling), 0.7, "strided access");
  subtract(kernel.doubles, 0.3, "double precision");
  subtract(has(Feature::atomics) && kernel.work == Work::reduction && !has(Feature::block_reduction) &&
               !has(Feature::warp_shuffle),
           0.5, "an atomic per thread");
  const int spilled = spill_bytes(evidence, kernel.name);
  subtract(spilled > 0, spilled > 256 ? 1.0 : 0.5, format("{} bytes spilled", spilled));
  // Fused: several steps of arithmetic in one pass.
  if (kernel.work == Work::pointwise && kernel.arithmetic >= 4) {
    out.level += 0.4;
    used.emplace_back("several operations fused");
  }
  out.level = std::clamp(out.level, 1.0, 5.0);
  out.why = format("{} ({}): {}", kernel.name, name(kernel.work),
                   used.empty() ? "no technique beyond one result per thread" : join(used, ", "));
  if (!against.empty()) out.why += "; against it: " + join(against, ", ");
  return out;
}

void add_libraries(const Evidence& evidence, std::vector<Part>& parts) {
  const bool timed =
      std::ranges::any_of(evidence.run.kernels, [](const KernelRun& run) { return run.seconds > 0; });
  const double known = known_share(evidence);
  const auto count = static_cast<double>(std::max<size_t>(1, evidence.code.libraries.size()));
  for (const LibraryCall& call : evidence.code.libraries) {
    Part part{.level = call.work == Work::product ? 3.2 : 2.8, .weight = weight_of(call.work)};
    if (timed) part.weight = 0.05 + 10 * (1 - known) / count;
    if (call.fused) part.level += 1.1;
    part.why = format("{}{}", call.name, call.fused ? " with a fused epilogue" : "");
    parts.push_back(std::move(part));
  }
}

}  // namespace

Score score_cuda_engineering(const Evidence& evidence) {
  const CodeFacts& code = evidence.code;
  std::vector<Part> parts;
  for (const KernelFacts& kernel : code.kernels)
    if (kernel.at_work() && kernel.work != Work::constant) parts.push_back(part_of(evidence, kernel));
  add_libraries(evidence, parts);
  if (parts.empty()) return score_of(1, "no kernel and no library call of its own at work");
  for (const Operator& each : evidence.operators)
    if (!each.covered)
      parts.push_back({1, each.heavy ? 4.0 : 1.0, format("{} by {}", each.op, each.covered_by)});
  double sum = 0, weights = 0;
  const Part* heaviest = &parts[0];
  for (const Part& part : parts) {
    sum += part.level * part.weight;
    weights += part.weight;
    if (part.weight > heaviest->weight) heaviest = &part;
  }
  double value = sum / weights;
  std::string why = heaviest->why;
  auto adjust = [&](bool when, double points, std::string_view what) {
    if (!when) return;
    value += points;
    why += format("; {}", what);
  };
  // Operators a launch: what fusion saves.
  const double operators = static_cast<double>(evidence.operators.size());
  int launches = code.launches + static_cast<int>(code.torch.size());
  if (!evidence.run.kernels.empty()) {
    launches = 0;
    for (const KernelRun& each : evidence.run.kernels) launches += each.count;
  }
  const double ratio = launches > 0 ? operators / launches : 0;
  adjust(operators >= 2 && ratio >= 1.9, 0.5, format("{} operators in {} launches", operators, launches));
  adjust(operators >= 3 && ratio >= 1.3 && ratio < 1.9, 0.2,
         format("{} operators in {} launches", operators, launches));
  adjust(operators >= 3 && ratio > 0 && ratio <= 1, -0.4,
         format("not fused: {} operators in {} launches", operators, launches));
  adjust(code.features.has(Feature::cuda_graph) && launches >= 2, 0.4, "a CUDA graph");
  for (const Hazard& hazard : code.hazards)
    adjust(true, hazard.name == "prints" ? -0.1 : -0.4,
           format("it {} ({})", hazard.what, text(hazard.place)));
  const Execution& run = evidence.run;
  if (run.seconds && run.floor_seconds && *run.seconds > 0) {
    const double share = *run.floor_seconds / *run.seconds;
    adjust(share >= 0.5, 0.3, format("{:.0f} % of the GPU's ceiling", 100 * share));
    adjust(share < 0.02 && *run.seconds > 50e-6, -0.3, format("{:.1f} % of the GPU's ceiling", 100 * share));
  }
  adjust(run.speedup && *run.speedup < 0.3, -0.3, format("{:.2f}x of PyTorch", run.speedup.value_or(0)));
  if (run.outcome == Outcome::not_built && value > 3) {
    value = 3;
    why += "; it doesn't build";
  }
  if ((run.outcome == Outcome::wrong || run.outcome == Outcome::crashed) && value > 4) {
    value = 4;
    why += format("; it is {}", run.outcome == Outcome::wrong ? "wrong" : "no good: it crashes");
  }
  return score_of(value, std::move(why));
}

}  // namespace stitch::rubric
