// Writes a CUDA source that times the loop families on a GPU: TB/s and the share of the copy bandwidth, for
// long, odd and few rows.
//   build/dev/loops_bench > loops.cu
//   nvcc -std=c++20 -O3 -arch=sm_90a -I src/program/include loops.cu -o loops && ./loops
#include <cstdio>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "code/loops/kernel.h"
#include "code/loops/techniques.h"
#include "graph/text.h"

namespace stitch::code::loops {
namespace {

struct Case {
  const char *label, *inputs, *nodes, *output;
};

constexpr Case cases[] = {
    {"copy by neg", "input %x : f32[4096,98304]", "%y = neg(%x) : f32[4096,98304]", "%y"},
    {"gelu", "input %x : f32[4096,98304]", "%y = gelu(%x) : f32[4096,98304]", "%y"},
    {"softplus", "input %x : f32[4096,98304]", "%y = softplus(%x) : f32[4096,98304]", "%y"},
    {"tanh", "input %x : f32[4096,98304]", "%y = tanh(%x) : f32[4096,98304]", "%y"},
    {"softmax, rows of 1.5 MB", "input %x : f32[1024,393216]", "%y = softmax(%x) dim=1 : f32[1024,393216]",
     "%y"},
    {"softmax, rows of 16 KB", "input %x : f32[65536,4096]", "%y = softmax(%x) dim=1 : f32[65536,4096]",
     "%y"},
    {"rms_norm, odd rows of 256 KB", "input %x : f32[8192,65535]",
     "%y = rms_norm(%x) dims=1 : f32[8192,65535]", "%y"},
    {"instance norm", "input %x : f32[28,64,512,512]", "%y = group_norm(%x) groups=64 : f32[28,64,512,512]",
     "%y"},
    {"group norm, rows of 8 MB", "input %x : f32[28,64,512,512]",
     "%y = group_norm(%x) groups=8 : f32[28,64,512,512]", "%y"},
    {"layer norm, 16 rows of 16 MB", "input %x : f32[16,64,256,256]",
     "%y = layer_norm(%x) dims=3 : f32[16,64,256,256]", "%y"},
    {"softmax over channels", "input %x : f32[32,64,512,512]", "%y = softmax(%x) dim=1 : f32[32,64,512,512]",
     "%y"},
    {"sum of everything", "input %x : f32[32768,16384]", "%y = sum(%x) : f32[]", "%y"},
    {"sum of rows", "input %x : f32[32768,16384]", "%y = sum(%x) dims=[1] : f32[32768]", "%y"},
    {"sum over the middle", "input %x : f32[64,4096,4095]", "%y = sum(%x) dims=[1] : f32[64,4095]", "%y"},
    {"argmax over the middle", "input %x : f32[64,4096,4095]", "%y = argmax(%x) dims=[1] : i64[64,4095]",
     "%y"},
    {"largest over the middle", "input %x : f32[64,4096,4095]", "%y = amax(%x) dims=[1] : f32[64,4095]",
     "%y"},
    {"max_pool 1d, dilated", "input %x : f32[64,64,65536]",
     "%y = max_pool(%x) kernel=[8] stride=[1] padding=[4] dilation=[3] : f32[64,64,65523]", "%y"},
    {"max_pool 2d 4x4", "input %x : f32[32,64,512,512]",
     "%y = max_pool(%x) kernel=[4,4] stride=[1,1] padding=[1,1] dilation=[1,1] : f32[32,64,511,511]", "%y"},
    {"avg_pool 2d 11x11", "input %x : f32[16,32,2048,2048]",
     "%y = avg_pool(%x) kernel=[11,11] stride=[11,11] padding=[0,0] : f32[16,32,186,186]", "%y"},
    {"avg_pool 3d 3x3x3", "input %x : f32[8,32,128,128,256]",
     "%y = avg_pool(%x) kernel=[3,3,3] stride=[2,2,2] padding=[1,1,1] : f32[8,32,64,64,128]", "%y"},
    {"cumsum", "input %x : f32[16384,32768]", "%y = cumsum(%x) dim=1 : f32[16384,32768]", "%y"},
    {"cumsum from the end", "input %x : f32[16384,32768]",
     "%f = flip(%x) dims=[1] : f32[16384,32768]\n%c = cumsum(%f) dim=1 : f32[16384,32768]\n"
     "%y = flip(%c) dims=[1] : f32[16384,32768]",
     "%y"},
};

constexpr const char* head = R"(#include <algorithm>
#include <vector>

static void* fresh(size_t bytes) {
  void* made = nullptr;
  if (cudaMalloc(&made, bytes + 256) != cudaSuccess) return nullptr;
  cudaMemset(made, 0x3c, bytes);  // floats of about 0.01
  return made;
}

template <class Run>
static void report(const char* label, double bytes, int kernels, Run run) {
  static void* flushed = fresh(size_t{256} << 20);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 12; ++i) {
    cudaMemsetAsync(flushed, i, size_t{256} << 20);
    cudaEventRecord(begin);
    if (int status = run()) {
      std::printf("%-32s failed: %d\n", label, status);
      return;
    }
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float time = 0;
    cudaEventElapsedTime(&time, begin, end);
    if (i >= 2) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  double rate = bytes / times[times.size() / 2] / 1e9;
  std::printf("%-32s %8.3f ms  %d kernels  %5.2f TB/s  %3.0f %% of 4.29, an H200's copy\n", label,
              times[times.size() / 2], kernels, rate, 100 * rate / 4.29);
}
)";

int write() {
  std::string kernels, calls;
  std::set<std::string> includes;
  int number = 0;
  const GpuSpec gpu = *find_gpu("H200");
  for (const Case& each : cases) {
    auto graph = parse_graph(
        format("graph \"g\"\n{}\n\n{}\n\noutput {}\nend\n", each.inputs, each.nodes, each.output));
    if (!graph) return std::fprintf(stderr, "%s: %s\n", each.label, graph.error().text().c_str()), 1;
    plan::Region region;
    for (size_t n = 0; n < graph->nodes.size(); ++n) region.nodes.push_back(static_cast<int32_t>(n));
    plan::complete(*graph, region);
    region.name = format("region_{}", number++);
    const plan::Context context(*graph, gpu, Numerics::standard);
    auto technique = classify(context, region);
    if (!technique) return std::fprintf(stderr, "%s: %s\n", each.label, technique.error().text().c_str()), 1;
    RegionRequest request = request_alone(context, region);
    auto code = (*technique)->write(request);
    if (!code) return std::fprintf(stderr, "%s: %s\n", each.label, code.error().text().c_str()), 1;
    for (std::string& line : split(code->includes, '\n'))
      if (!line.empty()) includes.insert(std::move(line));
    kernels += code->source + "\n";
    double bytes = 0;
    std::string memory, arguments, freed;
    for (const auto* places : {&request.reads, &request.writes})
      for (const Place& place : *places) {
        int64_t size = element_count(place.shape) * size_of(place.dtype);
        bytes += static_cast<double>(size);
        memory += format("    auto* {} = static_cast<{}*>(fresh({}));\n", place.pointer,
                         element_type(place.dtype), size);
        freed += format(" cudaFree({});", place.pointer);
      }
    if (code->workspace_bytes > 0) {
      memory += format("    void* workspace = fresh({});\n", code->workspace_bytes);
      freed += " cudaFree(workspace);";
    }
    for (const Setting& setting : code->settings)
      memory += format("    const int {} = {};\n", setting.variable, setting.value);
    for (const Prepared& prepared : code->prepared) {
      memory += format("    void* {} = fresh({});\n    {}({}, nullptr);\n", prepared.name, prepared.bytes,
                       prepared.make.function, join(prepared.make.arguments, ", "));
      freed += format(" cudaFree({});", prepared.name);
    }
    for (const std::string& argument : code->arguments) arguments += argument + ", ";
    calls += format(
        "  {{\n{}    report(\"{}\", {:.0f}.0, {}, [&] {{ return enqueue_{}({}nullptr); }});\n   {}\n  }}\n",
        memory, each.label, bytes, code->kernels, region.name, arguments, freed);
  }
  for (const std::string& line : includes) std::printf("%s\n", line.c_str());
  std::printf("%s\n%sint main() {\n%s}\n", head, kernels.c_str(), calls.c_str());
  return 0;
}

}  // namespace
}  // namespace stitch::code::loops

int main() { return stitch::code::loops::write(); }
