#include "plan/rewrites.h"

#include "base/text.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/plain_plan.h"

namespace stitch::plan {

namespace {

// Attention with many heads over many keys: would it get a technique that is better than the plain one?
bool is_fused(const GpuSpec& gpu, const Catalogue& catalogue, const char* dtype, int64_t queries,
              int64_t features) {
  auto input = [&](const char* name, int64_t tokens) {
    return format("input %{} : {}[1024,{},{}]\n", name, dtype, tokens, features);
  };
  const Graph graph = *parse_graph(format(
      "graph \"attention\"\n{}{}{}%y = attention(%q, %k, %v) scale=1 : {}[1024,{},{}]\noutput %y\nend\n",
      input("q", queries), input("k", 4096), input("v", 4096), dtype, queries, features));
  const Context context(graph, gpu, Numerics::standard);
  Result<Plan> plan = plain_plan(context, catalogue);
  if (plan) plan = choose_techniques(context, *std::move(plan), catalogue);
  return plan && plan->regions[0].technique->entry() == Entry::fast;
}

int64_t widest_head(const GpuSpec& gpu, const Catalogue& catalogue, const char* dtype, int64_t queries) {
  int64_t features = 512;
  while (features > 0 && !is_fused(gpu, catalogue, dtype, queries, features)) features /= 2;
  return features;
}

}  // namespace

RewriteLimits rewrite_limits(const GpuSpec& gpu, const Catalogue& catalogue) {
  RewriteLimits out;
  // Scores of wider heads are smaller than q and k, so little is gained by not storing them.
  constexpr int64_t many = 4096;
  out.head = widest_head(gpu, catalogue, "f32", many);
  out.head_of_halves = widest_head(gpu, catalogue, "f16", many);
  out.head_of_few = widest_head(gpu, catalogue, "f32", 1);
  while (out.head_of_few > out.head && is_fused(gpu, catalogue, "f32", out.few_queries + 1, out.head_of_few))
    ++out.few_queries;
  // A fused kernel has no room for wide tiles. 1024 heads of 512 queries and keys of 1024 features took 16.8
  // ms in one kernel on an H200; library products with passes between them would take 11.
  out.multiplied_head = 2 * out.head;
  out.multiplied_tokens = 256;
  out.keys_of_feature = 8;
  // For each number of a result, zeros up to a filter of 3 x 3 cost 16 operations a channel, in TF32; results
  // that needn't be copied save writing and reading 4 bytes. Channels come in sixteens: 32 on an H200.
  const double channels = 8 / gpu.bandwidth * gpu.tf32_convolutions / 16;
  out.joined_channels = static_cast<int64_t>(channels) / 16 * 16;
  // Libraries have no good convolution for so few channels.
  out.patch_channels = 4;
  out.long_patch = 128;
  // Longer products fill the GPU by themselves: one launch instead of three gains nothing.
  constexpr double long_seconds = 2e-5;
  out.merged_operations = long_seconds * gpu.data_sheet_fp16;
  out.cached_bytes = gpu.l2;
  return out;
}

}  // namespace stitch::plan
