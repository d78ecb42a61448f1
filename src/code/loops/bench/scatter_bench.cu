// How fast rows are added up by target on this GPU, as message passing does: lists of edges by target
// (kernels/loops_scatter.h), what walks them, and atomics in their place, which add in any order.
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include -I
//   src/code/products/bench
//        src/code/loops/bench/scatter_bench.cu -o scatter_bench && ./scatter_bench
// Times are medians of cold calls (L2 flushed) in microseconds, by CUDA events; TB/s counts an edge's row
// once. Rows have 128 floats. Not run on a GPU yet.
#include "measure.h"
#include "stitch/loops/math.h"
#include "stitch/loops/scatter.h"
#include "stitch/loops/vector.h"

namespace {

constexpr int columns = 128, vectors = columns / 4;

enum class Source : uint8_t {
  trapping,  // indices are checked on the spot
  noted,     // checked, and the kernel traps after the list
  composed,  // the sources in the lists' order, checked before
};

template <int at_once, Source how>
__global__ void __launch_bounds__(256)
    walk(const float* __restrict__ x, const int64_t* __restrict__ sources, const int* __restrict__ composed,
         float* __restrict__ out, const int* __restrict__ starts, const int* __restrict__ counts,
         const int* __restrict__ order, int rows) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= rows * vectors) return;
  float sum[4] = {};
  bool outside = false;
  const int start = starts[index / vectors], end = start + counts[index / vectors];
  for (int k = start; k < end; k += at_once) {
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      const int at = k + u < end ? k + u : end - 1;
      int row = 0;
      if constexpr (how == Source::composed)
        row = composed[at];
      else if constexpr (how == Source::noted)
        row = static_cast<int>(index_from_start_or_note(sources[order[at]], rows, outside));
      else
        row = static_cast<int>(index_from_start(sources[order[at]], rows));
      const auto taken = load_vector<true, 4>(x + (row * vectors + index % vectors) * 4);
#pragma unroll
      for (int v = 0; v < 4; ++v) sum[v] = k + u < end ? sum[v] + taken[v] : sum[v];
    }
  }
  if (outside) __trap();
  store_vector<true>(out + index * 4, Pack<float, 4>{{sum[0], sum[1], sum[2], sum[3]}});
}

// Draws an index, or copies one as lists have it.
__global__ void draw_index(int64_t* to, int count, int rows, uint64_t seed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = static_cast<int64_t>(mixed(static_cast<uint64_t>(i) + seed) % rows);
}
__global__ void narrow(const int64_t* from, const int* order, int* to, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = static_cast<int>(from[order ? order[i] : i]);
}

__global__ void __launch_bounds__(256)
    add_edges(const float* __restrict__ x, const int64_t* __restrict__ sources,
              const int64_t* __restrict__ targets, float* __restrict__ out, int edges) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), edge = index / vectors;
  if (edge >= edges) return;
  const float4 taken = reinterpret_cast<const float4*>(x)[sources[edge] * vectors + index % vectors];
  atomicAdd(reinterpret_cast<float4*>(out) + targets[edge] * vectors + index % vectors, taken);
}

void measure(int rows, int edges) {
  Buffer<float> x(int64_t{rows} * columns), out(int64_t{rows} * columns);
  Buffer<int64_t> sources(edges), targets(edges);
  Buffer<int> narrow_targets(edges), placed(edges), counts(rows + 1), starts(rows), order(edges),
      composed(edges);
  const unsigned edge_blocks = static_cast<unsigned>((edges + 255) / 256),
                 row_blocks = static_cast<unsigned>((rows * vectors + 255) / 256);
  draw<<<1024, 256>>>(x.data, int64_t{rows} * columns, 1, true, 1.0f);
  draw_index<<<edge_blocks, 256>>>(sources.data, edges, rows, 2);
  draw_index<<<edge_blocks, 256>>>(targets.data, edges, rows, uint64_t{1} << 40);
  auto group = [&] {
    narrow<<<edge_blocks, 256>>>(targets.data, nullptr, narrow_targets.data, edges);
    OK(group_sources(narrow_targets.data, placed.data, counts.data, starts.data, order.data, edges, rows,
                     nullptr));
  };
  group();
  narrow<<<edge_blocks, 256>>>(sources.data, order.data, composed.data, edges);
  auto report = [&](const char* name, auto call) {
    const double milliseconds = time_of(call);
    CUDA(cudaGetLastError());
    std::printf("%6d rows, %7d edges  %-22s %8.1f us  %5.2f TB/s\n", rows, edges, name, milliseconds * 1e3,
                edges * columns * 4e-9 / milliseconds);
  };
  auto walked = [&](auto kernel) {
    return [&, kernel] {
      kernel<<<row_blocks, 256>>>(x.data, sources.data, composed.data, out.data, starts.data, counts.data,
                                  order.data, rows);
    };
  };
  report("lists", group);
  report("walk 1, noted", walked(walk<1, Source::noted>));
  report("walk 4, trapping", walked(walk<4, Source::trapping>));
  report("walk 4, noted", walked(walk<4, Source::noted>));
  report("walk 8, noted", walked(walk<8, Source::noted>));
  report("walk 4, composed", walked(walk<4, Source::composed>));
  report("walk 8, composed", walked(walk<8, Source::composed>));
  report("zeros, then atomics", [&] {
    CUDA(cudaMemsetAsync(out.data, 0, sizeof(float) * static_cast<size_t>(rows) * columns));
    add_edges<<<static_cast<unsigned>((int64_t{edges} * vectors + 255) / 256), 256>>>(
        x.data, sources.data, targets.data, out.data, edges);
  });
}

}  // namespace

int main() {
  measure(20000, 200000);
  measure(10000, 100000);
  measure(20000, 20000);
  measure(1000, 200000);
}
