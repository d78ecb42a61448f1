#include "emulator/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stitch::emulated {
namespace {

struct Pair {
  const char *name, *in, *out;
};
class Rewrite : public testing::TestWithParam<Pair> {};
TEST_P(Rewrite, TurnsThisIntoThat) {
  auto got = rewrite_launches(GetParam().in, "a.cu");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(*got, GetParam().out);
  EXPECT_EQ(std::count(got->begin(), got->end(), '\n'),
            std::count(GetParam().in, GetParam().in + std::string_view(GetParam().in).size(), '\n'));
}
const Pair pairs[] = {
    {"Plain", "void f() { k<<<g, b>>>(x); }", "void f() { STITCH_KERNEL(k).on(g, b)(x); }"},
    {"AllFour", "k<<<dim3(1, 2), 64, n * sizeof(float), s>>>(x, y);",
     "STITCH_KERNEL(k).on(dim3(1, 2), 64, n * sizeof(float), s)(x, y);"},
    {"Template", "k<float, 4><<<g, b>>>(x);", "STITCH_KERNEL(k<float, 4>).on(g, b)(x);"},
    {"NestedTemplate", "k<A<B<int>>><<<g, b>>>(x);", "STITCH_KERNEL(k<A<B<int>>>).on(g, b)(x);"},
    {"ShiftInTemplate", "k<(N >> 2)><<<g, b>>>(x);", "STITCH_KERNEL(k<(N >> 2)>).on(g, b)(x);"},
    {"Namespaces", "a::b::k<T><<<g, b>>>(x);", "STITCH_KERNEL(a::b::k<T>).on(g, b)(x);"},
    {"GlobalNamespace", "x = 1; ::k<<<g, b>>>(x);", "x = 1; STITCH_KERNEL(::k).on(g, b)(x);"},
    {"ClassTemplate", "A<T>::template k<4><<<g, b>>>();", "STITCH_KERNEL(A<T>::template k<4>).on(g, b)();"},
    {"AfterElse", "if (a) k<<<1, 1>>>(); else m<<<2, 2>>>();",
     "if (a) STITCH_KERNEL(k).on(1, 1)(); else STITCH_KERNEL(m).on(2, 2)();"},
    {"Lines", "k<T>\n  <<<g,\n     b>>>\n  (x);", "STITCH_KERNEL(k<T>\n  ).on(g,\n     b)\n  (x);"},
    {"Parenthesised", "(*pick(i))<<<g, b>>>(x);", "STITCH_KERNEL((*pick(i))).on(g, b)(x);"},
    {"Table", "table[i]<<<g, b>>>(x);", "STITCH_KERNEL(table[i]).on(g, b)(x);"},
    {"Member", "p->kernels.run<<<g, b>>>(x);", "STITCH_KERNEL(p->kernels.run).on(g, b)(x);"},
    {"BracesInConfig", "k<<<dim3{1, 2}, b, f<int>(3) >> 1>>>({1, 2});",
     "STITCH_KERNEL(k).on(dim3{1, 2}, b, f<int>(3) >> 1)({1, 2});"},
    {"InMacro", "#define RUN(k, ...) \\\n  k<<<g, b>>>(__VA_ARGS__)\nRUN(a, 1);",
     "#define RUN(k, ...) \\\n  STITCH_KERNEL(k).on(g, b)(__VA_ARGS__)\nRUN(a, 1);"},
    {"NotInComments", "// k<<<1, 1>>>();\n/* k<<<1, 1>>>(); */", "// k<<<1, 1>>>();\n/* k<<<1, 1>>>(); */"},
    {"NotInStrings", "auto s = \"k<<<1, 1>>>()\"; auto r = R\"x(k<<<1>>>() \")x\"; char c = '<';",
     "auto s = \"k<<<1, 1>>>()\"; auto r = R\"x(k<<<1>>>() \")x\"; char c = '<';"},
    {"DigitSeparators", "int n = 1'000; k<<<n, 1'0>>>();", "int n = 1'000; STITCH_KERNEL(k).on(n, 1'0)();"},
    {"PlainShifts", "a = b << c >> d; x = y<z>(w);", "a = b << c >> d; x = y<z>(w);"},
    {"DynamicShared", "__global__ void k() { extern __shared__ float s[]; }",
     "__global__ void k() { float* s = static_cast<float*>(::stitch_emulated::dynamic_shared()); }"},
    {"DynamicSharedAligned", "__global__ void k() { extern __shared__ __align__(16) unsigned char raw[]; }",
     "__global__ void k() { unsigned char* raw = static_cast<unsigned "
     "char*>(::stitch_emulated::dynamic_shared()); }"},
    {"DynamicSharedRows", "__global__ void k() { extern __shared__ float tile[][32]; }",
     "__global__ void k() { float (*tile)[32] = static_cast<float "
     "(*)[32]>(::stitch_emulated::dynamic_shared()); }"},
    {"DynamicSharedOfTemplate",
     "template <class T> __device__ T* f() {\n  extern volatile __shared__\n    A<T> s[];\n}",
     "template <class T> __device__ T* f() {\n  volatile A < T >* s = static_cast<volatile A < T "
     ">*>(::stitch_emulated::dynamic_shared());\n\n}"},
    {"DynamicSharedAtFileScope", "namespace n { extern __shared__ int s[]; }",
     "namespace n { static const ::stitch_emulated::DynamicShared<int> s; }"},
    {"DynamicSharedUnderACast",
     "extern __shared__ char s[];\n__global__ void k() { f(reinterpret_cast<A<int>*>(s), g(s), "
     "reinterpret_cast<int*>(&s[4])); }",
     "static const ::stitch_emulated::DynamicShared<char> s;\n__global__ void k() { "
     "f(reinterpret_cast<A<int>*>(+s), g(s), reinterpret_cast<int*>(&s[4])); }"},
    {"NullArguments", "void f() { k<<<1, 2>>>(NULL, g(NULL, 1), x, NULL); }",
     "void f() { STITCH_KERNEL(k).on(1, 2)(nullptr, g(nullptr, 1), x, nullptr); }"},
    {"ExternOtherwise", "extern \"C\" { extern int x[]; }", "extern \"C\" { extern int x[]; }"},
    {"SharedAlignas", "__global__ void k() { __shared__ alignas(16) float s[4]; static __shared__ int t; }",
     "__global__ void k() { alignas(16) __shared__  float s[4]; STITCH_FRESH(s);  __shared__ int t; "
     "STITCH_FRESH(t); }"},
    {"SharedFresh",
     "__device__ void f() {\n  __shared__ A<float, 2>::B x[N][M + 1], y;\n}\n__shared__ int file_scope;",
     "__device__ void f() {\n  __shared__ A<float, 2>::B x[N][M + 1], y; STITCH_FRESH(x); "
     "STITCH_FRESH(y);\n}\n__shared__ int file_scope;"},
    {"SharedInMacro", "#define S(n) __shared__ float s[n];\n#define T(n) __shared__ float s[n]\n",
     "#define S(n) __shared__ float s[n]; STITCH_FRESH(s);\n#define T(n) __shared__ float s[n]\n"},
    {"Noinline", "__noinline__ __device__ int f(); __attribute__((__noinline__)) int g();",
     "STITCH_NOINLINE __device__ int f(); __attribute__((__noinline__)) int g();"},
    {"LaunchKernel", "cudaLaunchKernel((const void*)k<T>, g, b, args, 0, s);",
     "cudaLaunchKernel(STITCH_KERNEL_POINTER(k<T>), g, b, args, 0, s);"},
    {"LaunchKernelVariable", "cudaLaunchCooperativeKernel((void*)kernel, g, b, args);",
     "cudaLaunchCooperativeKernel(STITCH_KERNEL_POINTER(kernel), g, b, args);"},
    {"LaunchKernelPlain", "cudaLaunchKernel(k, g, b, args);",
     "cudaLaunchKernel(STITCH_KERNEL_POINTER(k), g, b, args);"},
    {"KernelAddress",
     "__global__ void k(int); void f() { p.func = (void*)k; q = (void*)other; r = "
     "reinterpret_cast<void*>(&k); }",
     "__global__ void k(int); void f() { p.func = STITCH_KERNEL_POINTER(k); q = (void*)other; r = "
     "STITCH_KERNEL_POINTER(&k); }"},
    {"DeadText", "#if !STITCH_EMULATED\nasm(\"mov\");\n#else\nk<<<1, 1>>>();\n#endif\n",
     "#if !STITCH_EMULATED\nasm(\"mov\");\n#else\nSTITCH_KERNEL(k).on(1, 1)();\n#endif\n"},
    {"DeadTextByIfndef", "#ifndef STITCH_EMULATED\n wgmma_fence();\n#endif\n",
     "#ifndef STITCH_EMULATED\n wgmma_fence();\n#endif\n"},
    {"DeadElse", "#ifdef STITCH_EMULATED\nint a;\n#else\nasm(\"x\");\n#endif\n",
     "#ifdef STITCH_EMULATED\nint a;\n#else\nasm(\"x\");\n#endif\n"},
    {"DeadByArchitecture",
     "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)\nasm(\"x\");\n#elif A\nint b;\n#endif\n",
     "#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)\nasm(\"x\");\n#elif A\nint b;\n#endif\n"},
    {"DeadNested", "#if STITCH_EMULATED == 0\n#if A\nasm(\"x\");\n#else\nasm(\"y\");\n#endif\n#endif\n",
     "#if STITCH_EMULATED == 0\n#if A\nasm(\"x\");\n#else\nasm(\"y\");\n#endif\n#endif\n"},
    {"CompilerBarrier", "void f() { asm volatile(\"\" ::: \"memory\"); }",
     "void f() { asm volatile(\"\" ::: \"memory\"); }"},
    {"LaunchInHostDevice", "__host__ __device__ void f() { k<<<1, 1>>>(); }",
     "__host__ __device__ void f() { STITCH_KERNEL(k).on(1, 1)(); }"},
};
INSTANTIATE_TEST_SUITE_P(All, Rewrite, testing::ValuesIn(pairs),
                         [](const auto& info) { return std::string(info.param.name); });

struct Bad {
  const char *name, *in, *message;
};
class Refuse : public testing::TestWithParam<Bad> {};
TEST_P(Refuse, SaysWhatAndWhere) {
  auto got = rewrite_launches(GetParam().in, "regions/a.cu");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().where + ": " + got.error().message, GetParam().message);
  EXPECT_FALSE(got.error().fix.empty());
}
const Bad bad[] = {
    {"Ptx", "int a;\n__device__ void f() { asm volatile(\"mov.u32 %0, 1;\" : \"=r\"(x)); }",
     "regions/a.cu:2: inline PTX is not emulated"},
    {"PtxInMacro", "#define A(x) \\\n  __asm__(\"ldmatrix.x4\")\n",
     "regions/a.cu:2: inline PTX is not emulated (`ldmatrix`)"},
    {"PtxBarrier", "asm(\"bar.sync 1, 64;\");",
     "regions/a.cu:1: inline PTX is not emulated (`bar.sync`); stitch_named_barrier_sync(id, threads) is"},
    {"PtxWgmma", "\n\nasm(\"wgmma.mma_async\");", "regions/a.cu:3: inline PTX is not emulated (`wgmma`)"},
    {"PtxTma", "asm(\"cp.async.bulk.tensor.2d\");",
     "regions/a.cu:1: inline PTX is not emulated (`cp.async.bulk`)"},
    {"Wgmma", "wgmma_fence();", "regions/a.cu:1: wgmma is not emulated (`wgmma_fence`)"},
    {"TensorMap", "const __grid_constant__ CUtensorMap m",
     "regions/a.cu:1: TMA (tensor maps) is not emulated (`CUtensorMap`)"},
    {"TensorMapEncode", "cuTensorMapEncodeTiled(&m)",
     "regions/a.cu:1: TMA (tensor maps) is not emulated (`cuTensorMapEncodeTiled`)"},
    {"BulkCopy", "cp_async_bulk_tensor(1)",
     "regions/a.cu:1: TMA (bulk copies) is not emulated (`cp_async_bulk_tensor`)"},
    {"Cluster", "__global__ void __cluster_dims__(2) k();",
     "regions/a.cu:1: thread block clusters are not emulated (`__cluster_dims__`)"},
    {"Texture", "float v = tex2D<float>(t, x, y);", "regions/a.cu:1: textures are not emulated (`tex2D`)"},
    {"TextureReference", "texture<float, 2> t;", "regions/a.cu:1: textures are not emulated (`texture`)"},
    {"TextureObject", "cudaTextureObject_t t;",
     "regions/a.cu:1: textures are not emulated (`cudaTextureObject_t`)"},
    {"Surface", "surf2Dwrite(1, s, 0, 0);", "regions/a.cu:1: surfaces are not emulated (`surf2Dwrite`)"},
    {"DynamicParallelism", "__global__ void k() {\n  if (a) {\n    m<<<1, 1>>>();\n  }\n}",
     "regions/a.cu:3: a launch inside a kernel (dynamic parallelism) is not emulated"},
    {"DynamicParallelismInDevice",
     "template <class T>\n__device__ __launch_bounds__(3) void f() { m<<<1, 1>>>(); }",
     "regions/a.cu:2: a launch inside a kernel (dynamic parallelism) is not emulated"},
    {"NoName", "void f() { <<<1, 1>>>(); }",
     "regions/a.cu:1: a launch (<<<) without a kernel's name before it"},
    {"NoEnd", "void f() { k<<<1, 1; }", "regions/a.cu:1: a launch (<<<) without >>>( behind it"},
};
INSTANTIATE_TEST_SUITE_P(All, Refuse, testing::ValuesIn(bad),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RewriteSmall, NothingAndNonsenseStayWhatTheyAre) {
  for (const char* text :
       {"", "\n", "}}}", "((((", "\"open", "R\"(open", "/* open", "#if", "#endif\n#else\n", "'"}) {
    auto got = rewrite_launches(text, "a.cu");
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, text);
  }
}

TEST(RewriteSmall, EveryBeginningOfAProgramIsTaken) {
  const std::string program =
      "#if !defined(A) || (STITCH_EMULATED > 0 && B)\n#define R(k) k<<<1, 1>>>((void*)k)\n#endif\n"
      "extern \"C\" { template <class T> __global__ void k(T* x) { extern __shared__ T s[]; } }\n"
      "void f() { a::k<A<int>><<<dim3{1, 2}, 3>>>(x); cudaLaunchKernel((void*)k, 1, 2, R\"a(x)a\"); "
      "reinterpret_cast<void*>(&k); }\n";
  for (size_t size = 0; size <= program.size(); ++size) {
    auto from_start = rewrite_launches(std::string_view(program).substr(0, size), "a.cu");
    auto to_end = rewrite_launches(std::string_view(program).substr(size), "a.cu");
    if (size == program.size()) {
      EXPECT_TRUE(from_start);
    }
  }
}

}  // namespace
}  // namespace stitch::emulated
