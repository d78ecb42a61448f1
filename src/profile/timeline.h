// What one call made a device do, in order of time: kernels, copies, fills, and the host's calls beside them.
// PyTorch's and a program's are the same document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/activity.h"

namespace stitch::profile {

using runner::Activity;
using runner::ActivityKind;

enum class Side : uint8_t { pytorch, program };
std::string_view name(Side side);  // "PyTorch", "program"

// What stands behind the times: a GPU's profiler, the cost model, or nothing (launches in order).
enum class Times : uint8_t { measured, estimated, none };
std::string_view name(Times times);  // "measured", "estimated", "none"

struct Timeline {
  Side side = Side::program;
  std::string device;  // "NVIDIA H200", "emulated"
  Times times = Times::none;
  std::vector<Activity> activities;  // on the device, by start
  std::vector<Activity> host;        // calls of the CUDA API, by start; may be empty
  std::string note;                  // what is missing, in words
};

// Sorts device and host apart; the first of all of them starts at 0.
Timeline make_timeline(Side side, std::string device, std::vector<Activity> activities);

// The device idle between two activities.
struct Gap {
  int64_t start_ns = 0, end_ns = 0;
  size_t before = 0, after = 0;  // activities, by number
  int64_t waiting_ns = 0;        // of it, the host was inside a synchronising call
  int64_t nanoseconds() const { return end_ns - start_ns; }
};

struct KernelSum {
  std::string name, short_name;
  ActivityKind kind = ActivityKind::kernel;
  int count = 0;
  int64_t nanoseconds = 0, longest_ns = 0, bytes = 0;
  size_t first = 0;  // activity, by number
};

struct Summary {
  int64_t span_ns = 0;  // from the first start to the last end, on the device
  int64_t busy_ns = 0;  // of it, at least one activity; what runs side by side counts once
  int64_t copy_ns = 0, kernel_ns = 0;
  int64_t host_ns = 0;       // inside calls of the CUDA API
  int64_t waiting_ns = 0;    // of it, in calls that wait for the device
  int64_t launching_ns = 0;  // of it, in launches of kernels and graphs
  int kernels = 0, copies = 0, fills = 0, graph_launches = 0, host_calls = 0, synchronisations = 0;
  std::vector<Gap> gaps;           // by start
  std::vector<KernelSum> by_name;  // longest first
  double idle_share() const {
    return span_ns > 0 ? static_cast<double>(span_ns - busy_ns) / static_cast<double>(span_ns) : 0;
  }
};
Summary summarise(const Timeline& timeline);

// "void at::native::vectorized_elementwise_kernel<4, …>(…)" is called vectorized_elementwise_kernel.
std::string short_name(std::string_view kernel);
bool waits_for_device(std::string_view api_call);  // cudaStreamSynchronize, cudaMemcpy, …
bool launches(std::string_view api_call);

Json to_json(const Timeline& timeline);
Json to_json(const Summary& summary);

// For chrome://tracing and Perfetto: a process a timeline, a thread a stream, arrows from call to kernel.
Json chrome_trace(const std::vector<Timeline>& timelines);

}  // namespace stitch::profile
