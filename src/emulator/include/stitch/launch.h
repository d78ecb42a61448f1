// Launches. The rewriter turns
//   kernel<T, 4><<<grid, block, shared, stream>>>(a, b);
// into
//   STITCH_KERNEL(kernel<T, 4>).on(grid, block, shared, stream)(a, b);
#pragma once

#include <type_traits>
#include <utility>

#include "stitch/host_api.h"

namespace stitch_emulated {

// Runs, or records if the stream captures. Copies the arguments.
cudaError_t submit(const Kernel& kernel, const LaunchConfig& config, void* const* arguments);
// Makes a kernel callable by its address, for cudaLaunchKernel and graph nodes.
const void* register_kernel(const Kernel& kernel);

// Bytes between members of an object hold anything, addresses of the host too.
template <class T>
void clear_padding([[maybe_unused]] T& argument) {
#if defined(__GNUC__) && !defined(__clang__)
  if constexpr (std::is_class_v<T> && std::is_trivially_copyable_v<T>) __builtin_clear_padding(&argument);
#endif
}
#if defined(__GNUC__) && !defined(__clang__)
constexpr bool padding_is_known = true;
#else
constexpr bool padding_is_known = false;
#endif

template <class... P>
struct Signature {
  static constexpr unsigned sizes[] = {unsigned(sizeof(P))..., 0};
  // Pointers, and objects that have room for one; a function's address is no memory.
  static constexpr Points points[] = {std::is_pointer_v<P> && !std::is_function_v<std::remove_pointer_t<P>>
                                          ? Points::itself
                                      : padding_is_known && std::is_class_v<P> &&
                                              std::is_trivially_copyable_v<P> && alignof(P) >= alignof(void*)
                                          ? Points::within
                                          : Points::nowhere...,
                                      Points::nowhere};
  template <size_t... I>
  static void call(const void* function, void* const* arguments, std::index_sequence<I...>) {
    reinterpret_cast<void (*)(P...)>(const_cast<void*>(function))(*static_cast<P*>(arguments[I])...);
  }
  static void invoke(const void* function, void* const* arguments) {
    call(function, arguments, std::index_sequence_for<P...>{});
  }
  static Kernel kernel(void (*function)(P...), const char* name) {
    return {reinterpret_cast<const void*>(function), name, &invoke, sizes, sizeof...(P), true, points};
  }
};

// A kernel with known parameter types: arguments convert as in any call.
template <class... P>
struct ExactLaunch {
  Kernel kernel;
  LaunchConfig config;
  ExactLaunch on(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) const {
    return {kernel, {grid, block, shared_bytes, stream, false, 1, true}};
  }
  void operator()(P... arguments) const {
    (clear_padding(arguments), ...);
    void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(&arguments))..., nullptr};
    submit(kernel, config, pointers);
  }
};

// A kernel template whose arguments are deduced: arguments are stored as passed and convert when the kernel
// is called.
template <class Call>
struct DeducedLaunch {
  const char* name;
  LaunchConfig config;
  DeducedLaunch on(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr) const {
    return {name, {grid, block, shared_bytes, stream, false, 1, true}};
  }
  template <class... A, size_t... I>
  static void call(void* const* arguments, std::index_sequence<I...>) {
    // A lambda isn't default-constructible, but one without captures needs no construction.
    static_assert(std::is_empty_v<Call>, "a launch names a kernel, not an expression over local variables");
    union Nothing {
      Nothing() : none(0) {}
      char none;
      Call call;
    } nothing;
    nothing.call(*static_cast<A*>(arguments[I])...);
  }
  template <class... A>
  static void invoke(const void*, void* const* arguments) {
    call<A...>(arguments, std::index_sequence_for<A...>{});
  }
  template <class... A>
  void operator()(A... arguments) const {
    (clear_padding(arguments), ...);
    void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(&arguments))..., nullptr};
    void (*invoker)(const void*, void* const*) = &invoke<A...>;
    submit({reinterpret_cast<const void*>(invoker), name, invoker, Signature<A...>::sizes, sizeof...(A),
            false, Signature<A...>::points},
           config, pointers);
  }
};

struct Any {};
template <class... P>
ExactLaunch<P...> exact(Any, const char* name, void (*function)(P...)) {
  return {Signature<P...>::kernel(function, name), {}};
}
template <class Call>
DeducedLaunch<Call> deduced(const char* name, Call) {
  return {name, {}};
}

template <class... P>
const void* kernel_pointer(const char* name, void (*function)(P...)) {
  return register_kernel(Signature<P...>::kernel(function, name));
}
inline const void* kernel_pointer(const char*, const void* function) { return function; }
inline const void* kernel_pointer(const char*, std::nullptr_t) { return nullptr; }

}  // namespace stitch_emulated

// `exact` takes a dependent first argument, so that an ambiguous kernel name is decided inside the lambda
// instead of being an error.
#define STITCH_KERNEL(...)                                                                     \
  ([&](auto stitch_any) {                                                                      \
    auto stitch_exact =                                                                        \
        [&](auto any) -> decltype(::stitch_emulated::exact(any, #__VA_ARGS__, __VA_ARGS__)) {  \
      return ::stitch_emulated::exact(any, #__VA_ARGS__, __VA_ARGS__);                         \
    };                                                                                         \
    if constexpr (std::is_invocable_v<decltype(stitch_exact), decltype(stitch_any)>)           \
      return stitch_exact(stitch_any);                                                         \
    else                                                                                       \
      return ::stitch_emulated::deduced(                                                       \
          #__VA_ARGS__, [&](auto&... stitch_arguments) { __VA_ARGS__(stitch_arguments...); }); \
  }(::stitch_emulated::Any{}))

// For a kernel's address where CUDA takes a void*.
#define STITCH_KERNEL_POINTER(...) \
  (const_cast<void*>(::stitch_emulated::kernel_pointer(#__VA_ARGS__, __VA_ARGS__)))

template <class... P>
cudaError_t cudaLaunchKernel(void (*function)(P...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return stitch_emulated::submit(stitch_emulated::Signature<P...>::kernel(function, "cudaLaunchKernel"),
                                 {grid, block, shared_bytes, stream}, arguments);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*function)(P...), dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return stitch_emulated::submit(
      stitch_emulated::Signature<P...>::kernel(function, "cudaLaunchCooperativeKernel"),
      {grid, block, shared_bytes, stream, true}, arguments);
}
// The kernel alone decides the types; arguments convert to them as in any call.
template <class... P>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*function)(P...),
                               std::enable_if_t<true, P>... arguments) {
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == cudaLaunchAttributeCooperative) cooperative = config->attrs[i].val.cooperative;
  void* pointers[] = {const_cast<void*>(static_cast<const volatile void*>(&arguments))..., nullptr};
  return stitch_emulated::submit(
      stitch_emulated::Signature<P...>::kernel(function, "cudaLaunchKernelEx"),
      {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, cooperative}, pointers);
}
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*function)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*function)(P...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <class... P>
cudaError_t cudaFuncSetCacheConfig(void (*function)(P...), cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(function), config);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*function)(P...), int block_size,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function),
                                                       block_size, shared_bytes);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F function, int block_size,
                                                                   size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes);
}
// A multiprocessor's shared memory less 1 KB per block for the system.
template <class F>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, F, int blocks, int) {
  *bytes = blocks > 0 ? static_cast<size_t>(228 / blocks - 1) * 1024 : 0;
  return blocks > 0 ? cudaSuccess : cudaErrorInvalidValue;
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block_size, F, size_t = 0, int limit = 0) {
  *block_size = limit > 0 && limit < 1024 ? limit : 1024;
  *min_grid = 132 * 2;
  return cudaSuccess;
}
