// The code in notes compiles, and does what it says.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "code/products/emulated/cases.h"
#include "code/written.h"

namespace stitch::code {
namespace {

constexpr const char* host = R"(
template <class T>
T* device(int count, T (*value)(int)) {
  T* out = nullptr;
  std::vector<T> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = value(i);
  if (cudaMalloc(&out, count * sizeof(T)) != cudaSuccess) std::abort();
  cudaMemcpy(out, numbers.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  return out;
}
float small(int i) { return static_cast<float>(i % 7) - 3; }
float positive(int i) { return static_cast<float>(i % 5 + 1); }
float zero(int) { return 0; }
__half small_half(int i) { return __float2half(small(i)); }

template <class Launch, class Value>
int wrong(int count, Launch launch, Value value) {
  float* y = device<float>(count, zero);
  launch(y);
  std::vector<float> got(count);
  cudaMemcpy(got.data(), y, count * sizeof(float), cudaMemcpyDeviceToHost);
  int out = 0;
  for (int i = 0; i < count; ++i) out += std::fabs(got[i] - value(i)) > 1e-5f * (1 + std::fabs(value(i)));
  cudaFree(y);
  return out;
}

extern "C" int wrong_numbers(const char* note) {
  const std::string name = note;
  if (name == "vectorised-loads") {
    float* x = device<float>(4000, small);
    return wrong(4000, [&](float* y) { vectorised_loads::twice<<<3, 64>>>(x, y, 1000); },
                 [](int i) { return 2 * small(i); });
  }
  if (name == "warp-shuffle-reductions") {
    float* x = device<float>(3 * 500, positive);
    return wrong(3 * 500, [&](float* y) { warp_shuffle_reductions::normalise<<<3, 256>>>(x, y, 500); },
                 [](int i) { return positive(i) / 1500; });
  }
  if (name == "cp-async") {
    float* x = device<float>(5 * 16 * 128, small);
    return wrong(128, [&](float* y) { cp_async::add_up<<<1, 128>>>(x, y, 5); }, [](int column) {
      float sum = 0;
      for (int row = 0; row < 80; ++row) sum += small(row * 128 + column);
      return sum;
    });
  }
  if (name == "mma-sync-shapes") {
    __half* x = device<__half>(256, small_half);
    __half* w = device<__half>(256, small_half);
    return wrong(256, [&](float* y) { mma_sync_shapes::product<<<1, 32>>>(x, w, y); }, [](int i) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += small(i / 16 * 16 + k) * small(i % 16 * 16 + k);
      return sum;
    });
  }
  return -1;
}
)";

// Each note's code in a namespace of its own.
TEST(NotesWithCode, CompileAndDoWhatTheySay) {
  std::set<std::string> includes = {"#include <cmath>\n", "#include <cstdlib>\n", "#include <string>\n",
                                    "#include <vector>\n", "#include <cuda_fp16.h>\n"};
  std::vector<std::string> names;
  std::string all;
  for (const auto& entry : fs::directory_iterator(fs::path(STITCH_SOURCE_DIR) / "notes")) {
    auto text = read_file(entry.path());
    ASSERT_TRUE(text) << entry.path();
    std::string heading;
    bool in_code = false;
    for (const std::string& line : split(*text, '\n')) {
      if (line.starts_with("## ")) heading = line;
      if (line == "```cuda") {
        const size_t open = heading.rfind('(') + 1;
        names.push_back(heading.substr(open, heading.rfind(')') - open));
        std::string own = names.back();
        std::ranges::replace(own, '-', '_');
        all += "namespace " + own + " {\n";
        in_code = true;
      } else if (in_code && line == "```") {
        all += "}\n";
        in_code = false;
      } else if (in_code && line.starts_with("#include")) {
        includes.insert(line + "\n");
      } else if (in_code) {
        all += line + "\n";
      }
    }
  }
  ASSERT_GE(names.size(), 4U);
  std::string source;
  for (const std::string& line : includes) source += line;
  const fs::path file = fs::path(STITCH_BINARY_DIR) / "notes.cu";
  ASSERT_TRUE(write_file(file, source + all + host));
  emulated::CompileOptions options;
  options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
  auto library = emulated::compile_emulated({file}, fs::path(STITCH_BINARY_DIR) / "notes.so", options);
  ASSERT_TRUE(library) << library.error().text();
  void* opened = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(opened) << dlerror();
  auto wrong_numbers = reinterpret_cast<int (*)(const char*)>(dlsym(opened, "wrong_numbers"));
  ASSERT_TRUE(wrong_numbers);
  for (const std::string& name : names) EXPECT_EQ(wrong_numbers(name.c_str()), 0) << name;
}

}  // namespace

// The example that models are given: packed weights, a library's product with an epilogue, a setting, scratch
// memory. And a library's convolution.

namespace {

std::vector<Case> written_cases() {
  std::string graph(graph_of_example());
  graph = graph.substr(graph.find('\n') + 1);
  graph.resize(graph.rfind("end\n"));
  const plan::Source source{
      .function = "enqueue_mlp", .text = std::string(example_of_written()), .author = "a test"};
  constexpr const char* convolution = R"(/* resources
{"convolutions": [{"name": "conv", "batch": 2, "channels_in": 4, "channels_out": 6, "size": [9, 10],
                   "kernel": [3, 3], "stride": [2, 1], "padding": [1, 1], "bias": "b", "relu": true}]}
*/
StitchStatus enqueue_image(const float* x, const float* w, const stitch::Convolution& conv, float* z,
                           cudaStream_t stream) {
  return conv.enqueue(x, w, z, stream);
}
)";
  const plan::Source other{.function = "enqueue_image", .text = convolution, .author = "a test"};
  return {
      {.name = "mlp",
       .technique = "written",
       .graph = graph,
       .numerics = Numerics::half,
       .tolerance = 1e-3,
       .source = std::make_shared<const plan::Source>(source)},
      {.name = "image",
       .technique = "written",
       .graph = "input %x : f32[2,4,9,10]\nparameter %w : f32[6,4,3,3]\nparameter %b : f32[6]\n"
                "%y = conv(%x, %w, %b) stride=[2,1] padding=[1,1] dilation=[1,1] groups=1 : f32[2,6,5,10]\n"
                "%z = relu(%y) : f32[2,6,5,10]\noutput %z\n",
       .numerics = Numerics::strict,
       .source = std::make_shared<const plan::Source>(other)}};
}

PRODUCT_CASES(Written, written_cases());

}  // namespace

}  // namespace stitch::code
