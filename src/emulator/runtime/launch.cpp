// A launch: the driver's checks, then blocks distributed over OS threads.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "error.h"
#include "launch_log.h"
#include "memory.h"
#include "operation.h"
#include "scheduler.h"
#include "stitch/launch.h"

namespace stitch_emulated {

namespace {

constexpr size_t default_shared_limit = 48 * 1024, opt_in_shared_limit = 227 * 1024;
constexpr size_t static_shared_limit = 48 * 1024;  // ptxas refuses more

std::mutex kernels_mutex;
std::map<const void*, Kernel> kernels;
std::map<const void*, size_t> shared_limits;  // of kernels that opted in
size_t largest_opt_in = 0;
std::mutex launch_mutex;
uint64_t launches = 0;
std::map<const void*, uint64_t> turns;  // launches of each kernel

size_t shared_limit(const Kernel& kernel) {
  std::lock_guard lock(kernels_mutex);
  // A launch with deduced template arguments doesn't know its function's address.
  if (!kernel.exact) return std::max(default_shared_limit, largest_opt_in);
  auto found = shared_limits.find(kernel.function);
  return found == shared_limits.end() ? default_shared_limit : found->second;
}

// A GPU has no access to memory that only the host allocated. Pointers are checked at the launch; one that
// lies nowhere is the kernel's own business, until it is used.
std::string host_pointer(const Kernel& kernel, const LaunchConfig& config, void* const* arguments) {
  if (settings().host_memory_too) return "";
  for (unsigned i = 0; i < kernel.count; ++i) {
    if (kernel.points[i] == Points::nowhere) continue;
    if (kernel.points[i] == Points::within && !config.padding_is_clear) continue;
    for (size_t at = 0; at + sizeof(void*) <= kernel.sizes[i]; at += sizeof(void*)) {
      const void* pointer;
      std::memcpy(&pointer, static_cast<const char*>(arguments[i]) + at, sizeof pointer);
      if (is_only_hosts(pointer))
        return std::string(kernel.name) + ": argument " + std::to_string(i + 1) +
               " points to the host's memory, which a GPU can't access";
    }
  }
  return "";
}

// Known only once blocks have declared their variables: a GPU's toolchain refuses it before any launch.
std::string too_much_shared(const Kernel& kernel, const LaunchConfig& config, size_t static_bytes) {
  const std::string what =
      std::string(kernel.name) + " has " + std::to_string(static_bytes) + " bytes of static shared memory";
  if (static_bytes > static_shared_limit)
    return what + ": nvcc accepts " + std::to_string(static_shared_limit) + " at most";
  const size_t limit = std::max(default_shared_limit, shared_limit(kernel));
  const size_t most = limit > default_shared_limit ? opt_in_shared_limit : default_shared_limit;
  if (config.shared_bytes && static_bytes + config.shared_bytes > most)
    return what + " and " + std::to_string(config.shared_bytes) + " of dynamic: a launch may have " +
           std::to_string(most) + " of both";
  return "";
}

// The block that runs at `turn`: a bijection, without a table.
uint64_t block_at(const LaunchState& launch, uint64_t turn) {
  switch (launch.order.kind) {
    case Order::reverse: return launch.blocks - 1 - turn;
    case Order::shuffle:
    case Order::lag: {
      Random random{launch.order.seed};
      uint64_t step = launch.blocks > 2 ? 1 + random.below(launch.blocks - 1) : 1;
      while (std::gcd(step, launch.blocks) != 1) ++step;
      return static_cast<uint64_t>((static_cast<unsigned __int128>(step) * turn + launch.order.seed) %
                                   launch.blocks);
    }
    default: return turn;
  }
}

void take_blocks(LaunchState& launch) {
  for (;;) {
    const uint64_t turn = launch.next_block.fetch_add(1, std::memory_order_relaxed);
    if (turn >= launch.blocks || launch.stop.load(std::memory_order_relaxed)) return;
    this_worker().run_block(launch, block_at(launch, turn));
  }
}

// Blocks that may wait for each other are resident: each has its own OS thread, which may sleep in
// grid.sync() or a cluster barrier.
void run_together(LaunchState& launch, uint64_t first) {
  std::vector<std::thread> threads;
  launch.grid_finished = 0;
  for (uint64_t i = first; i < first + launch.together; ++i) {
    threads.emplace_back([&launch, i] {
      this_worker().run_block(launch, launch.config.cluster > 1 ? i : block_at(launch, i));
      std::unique_lock lock(launch.mutex);
      ++launch.grid_finished;
      const bool stranded =
          launch.grid_waiting && launch.grid_waiting + launch.grid_finished == launch.together;
      lock.unlock();
      if (stranded) launch.fail_ended_blocks();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

const void* register_kernel(const Kernel& kernel) {
  std::lock_guard lock(kernels_mutex);
  kernels.insert_or_assign(kernel.function, kernel);
  return kernel.function;
}

const Kernel* find_kernel(const void* function) {
  std::lock_guard lock(kernels_mutex);
  auto found = kernels.find(function);
  return found == kernels.end() ? nullptr : &found->second;
}

void forget_opt_ins() {
  std::lock_guard lock(kernels_mutex);
  shared_limits.clear();
  largest_opt_in = 0;
}

cudaError_t check_launch(const Kernel& kernel, const LaunchConfig& config) {
  const dim3 grid = config.grid, block = config.block;
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (!block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64)
    return cudaErrorInvalidConfiguration;
  if (uint64_t{block.x} * block.y * block.z > 1024) return cudaErrorInvalidConfiguration;
  if (config.shared_bytes > shared_limit(kernel)) return cudaErrorInvalidValue;
  if (config.cluster > 1 && (config.cluster > 8 || grid.x % config.cluster || config.cooperative))
    return cudaErrorInvalidConfiguration;
  if (config.cooperative) {
    int per_multiprocessor = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel.function,
                                                  static_cast<int>(block.x * block.y * block.z),
                                                  config.shared_bytes);
    if (uint64_t{grid.x} * grid.y * grid.z > static_cast<uint64_t>(per_multiprocessor) * 132)
      return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

cudaError_t run_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments) {
  STITCH_API();
  std::lock_guard lock(launch_mutex);
  if (std::string why = host_pointer(kernel, config, arguments); !why.empty()) {
    set_report(why);
    break_device(cudaErrorIllegalAddress);
    return cudaSuccess;  // as below
  }
  const DeviceAtWork open;
  LaunchState launch{};
  launch.kernel = &kernel;
  launch.arguments = arguments;
  launch.config = config;
  launch.order = settings().order;
  launch.id = ++launches;
  launch.turn = ++turns[kernel.function];
  launch.blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  launch.threads = config.block.x * config.block.y * config.block.z;
  if (config.cooperative || config.cluster > 1) {
    launch.together = config.cooperative ? launch.blocks : config.cluster;
    const uint64_t groups = launch.blocks / launch.together;
    for (uint64_t i = 0; i < groups && !launch.stop; ++i)
      run_together(launch, launch.together * (launch.order.kind == Order::reverse ? groups - 1 - i : i));
  } else {
    // At least one extra block per OS thread, otherwise waking it costs more than it gains.
    const auto helpers = std::min<uint64_t>(settings().workers - 1, launch.blocks - 1);
    run_on_pool(static_cast<unsigned>(helpers), [&launch] { take_blocks(launch); });
  }
  log_kernel(launch);
  if (std::string why = too_much_shared(kernel, config, launch.static_shared_bytes); !why.empty())
    launch.fail(cudaErrorLaunchOutOfResources, std::move(why));
  if (launch.error) {
    set_report(launch.report);
    break_device(static_cast<cudaError_t>(launch.error));
  }
  return cudaSuccess;  // as on a GPU, the next call returns the failure
}

cudaError_t submit(const Kernel& kernel, const LaunchConfig& config, void* const* arguments) {
  STITCH_API();
  if (current) trap("a launch inside a kernel", 0);
  if (!is_stream(config.stream)) return remember(cudaErrorInvalidResourceHandle);
  if (cudaError_t error = check_launch(kernel, config)) return remember(error);
  if (is_capturing(config.stream))
    return enqueue(config.stream, KernelOperation{kernel, config, Arguments(kernel, arguments)});
  if (cudaError_t error = check_legacy_stream(config.stream)) return remember(error);
  return run_launch(kernel, config, arguments);
}

}  // namespace stitch_emulated

using namespace stitch_emulated;

static cudaError_t launch_by_address(const void* function, const LaunchConfig& config, void** arguments) {
  const Kernel* kernel = find_kernel(function);
  return kernel ? submit(*kernel, config, arguments) : remember(cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch_by_address(function, {grid, block, shared_bytes, stream}, arguments);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch_by_address(function, {grid, block, shared_bytes, stream, true}, arguments);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  STITCH_API();
  if (!function) return remember(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<size_t>(value) > opt_in_shared_limit) return remember(cudaErrorInvalidValue);
    std::lock_guard lock(kernels_mutex);
    shared_limits[function] = static_cast<size_t>(value);
    largest_opt_in = std::max(largest_opt_in, static_cast<size_t>(value));
  }
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  STITCH_API();
  if (!function) return remember(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  std::lock_guard lock(kernels_mutex);
  auto found = shared_limits.find(function);
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(found == shared_limits.end() ? default_shared_limit : found->second);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size,
                                                          size_t shared_bytes) {
  if (block_size <= 0 || block_size > 1024) return remember(cudaErrorInvalidValue);
  const int threads = (block_size + 31) / 32 * 32;
  const size_t shared = shared_bytes + 1024;  // 1 KB per block is reserved by the system
  *blocks = std::min({32, 2048 / threads, static_cast<int>(228 * 1024 / shared)});
  return cudaSuccess;
}
