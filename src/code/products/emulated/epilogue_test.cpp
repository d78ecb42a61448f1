// Pointwise epilogues of our kernels and of libraries.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/file.h"
#include "build/compile_emulated/compile.h"
#include "code/products/emulated/cases.h"
#include "cuda_runtime.h"
#include "stitch_emulated.h"

namespace stitch::code {
namespace {

struct Form {
  const char* name;
  const char* graph;  // from %y to %z, of {0}
};
const Form forms[] = {
    {"selu", "%z = elu(%y) alpha=1.67326 scale=1.0507 : {0}\n"},
    {"softplus", "%z = softplus(%y) beta=2.0 : {0}\n"},
    {"hardsigmoid_log", "%h = hardsigmoid(%y) : {0}\n%z = log1p(%h) : {0}\n"},
    {"leaky_relu", "%z = leaky_relu(%y) slope=0.2 : {0}\n"},
    {"clamp", "%z = clamp(%y) low=-0.5 high=1.5 : {0}\n"},
    {"masked",
     "%c = full() shape=[] dtype=f32 value=-2.5 : f32[]\n%l = lt(%y, %c) : {1}\n%n = logical_not(%l) : {1}\n"
     "%k = logical_and(%n, %m) : {1}\n%z = where(%k, %y, %c) : {0}\n"},
    {"square_root",
     "%two = full() shape=[] dtype=f32 value=2.0 : f32[]\n%s = pow(%y, %two) : {0}\n%z = sqrt(%s) : {0}\n"},
    {"remainder_abs", "%r = remainder(%y, %d) : {0}\n%z = abs(%r) : {0}\n"},
};

std::string filled(std::string text, const std::string& type, const std::string& mask) {
  for (auto& [mark, with] : {std::pair<std::string, const std::string&>{"{0}", type}, {"{1}", mask}})
    for (size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + with.size()))
      text.replace(i, mark.size(), with);
  return text;
}

std::vector<Case> epilogue_cases() {
  const std::string linear =
      "input %x : f32[5,20]\ninput %m : bool[5,1]\ninput %d : f32[24]\nparameter %w : f32[24,20]\n"
      "parameter %b : f32[24]\n%y = linear(%x, %w, %b) : f32[5,24]\n";
  const std::string conv =
      "input %x : f32[2,3,7,6]\ninput %m : bool[4,1,1]\ninput %d : f32[5,4]\nparameter %w : f32[4,3,3,3]\n"
      "%y = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,4,5,4]\n";
  std::vector<Case> all;
  for (const Form& form : forms) {
    for (const char* technique : {"matmul.plain", "matmul.cublaslt"})
      all.push_back({.name = format("{}_{}", technique + 7, form.name),
                     .technique = technique,
                     .graph = linear + filled(form.graph, "f32[5,24]", "bool[5,24]") + "output %z\n"});
    for (const char* technique : {"conv.plain", "conv.cudnn"})
      all.push_back({.name = format("conv_{}_{}", technique + 5, form.name),
                     .technique = technique,
                     .graph = conv + filled(form.graph, "f32[2,4,5,4]", "bool[2,4,5,4]") + "output %z\n",
                     .numerics = Numerics::strict});
  }
  return all;
}

PRODUCT_CASES(Epilogues, epilogue_cases());

}  // namespace

// kernels/conv_arrange.h: an fp16 image that is finished into fp16 keeps its mean, whatever a bias does to
// its grid.

namespace {

constexpr const char* source = R"(
#include "stitch/kernels/conv_arrange.h"
__global__ void shifted(const float* x, float bias, float* rounded, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float exact = static_cast<float>(__float2half_rn(x[i])) + bias;
  rounded[i] = static_cast<float>(stitch::finished_as<__half, __half>(exact, i));
}
extern "C" int run(const float* x, float bias, float* rounded, int count) {
  shifted<<<(count + 255) / 256, 256>>>(x, bias, rounded, count);
  return cudaDeviceSynchronize();
}
)";

using Shifted = int (*)(const float*, float, float*, int);

Shifted compiled() {
  fs::path folder = STITCH_BINARY_DIR;
  if (!write_file(folder / "finish_test.cu", source)) return nullptr;
  emulated::CompileOptions options;
  options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
  auto library = emulated::compile_emulated({folder / "finish_test.cu"}, folder / "finish_test.so", options);
  EXPECT_TRUE(library) << library.error().text();
  void* loaded = library ? dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  return loaded ? reinterpret_cast<Shifted>(dlsym(loaded, "run")) : nullptr;
}

class Finish : public ::testing::Test {
 protected:
  static constexpr int most = 1 << 14;
  void SetUp() override {
    run_ = compiled();
    ASSERT_TRUE(run_);
    for (float** each : {&from_, &to_})
      ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(each), most * sizeof(float)), cudaSuccess);
  }
  void TearDown() override {
    cudaFree(from_);
    cudaFree(to_);
  }
  std::vector<float> finished(const std::vector<float>& x, float bias) {
    std::vector<float> out(x.size());
    cudaMemcpy(from_, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    EXPECT_EQ(run_(from_, bias, to_, static_cast<int>(x.size())), 0) << stitch_emulated_last_report();
    cudaMemcpy(out.data(), to_, x.size() * sizeof(float), cudaMemcpyDeviceToHost);
    return out;
  }
  Shifted run_ = nullptr;
  float *from_ = nullptr, *to_ = nullptr;
};

TEST_F(Finish, KeepsTheMeanOfAnImageInHalf) {
  // Between 1 and 2 fp16 has steps of 2^-10, and the bias is a quarter of one: the nearest is always below.
  const float step = 0x1p-10f, bias = step / 4;
  std::vector<float> x(most);
  for (int i = 0; i < most; ++i) x[static_cast<size_t>(i)] = 1.0f + static_cast<float>(i % 900) * step;
  const std::vector<float> out = finished(x, bias);
  double moved = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    moved += out[i] - x[i];
    ASSERT_TRUE(out[i] == x[i] || out[i] == x[i] + step) << "one of the two neighbours";
  }
  EXPECT_NEAR(moved / most, bias, 0.04 * bias);
  EXPECT_EQ(finished(x, bias), out) << "the same in every run";
}

TEST_F(Finish, LeavesAloneWhatHalfHas) {
  const std::vector<float> x = {0.0f, -1.5f, 65504.0f, INFINITY, -INFINITY};
  EXPECT_EQ(finished(x, 0.0f), x);
}

}  // namespace

}  // namespace stitch::code
