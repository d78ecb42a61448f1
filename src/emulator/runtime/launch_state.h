// One kernel launch while it runs, shared by the workers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "settings.h"
#include "stitch/kernel.h"

namespace stitch_emulated {

// What a kernel did, whatever its text has besides.
struct Did {
  static constexpr unsigned barriers = 1, shuffles = 2, tensor_cores = 4;
};

struct LaunchState {
  const Kernel* kernel;
  void* const* arguments;
  LaunchConfig config;
  Order order;
  uint64_t id;       // counts up
  uint64_t turn;     // number of this kernel's launches so far
  uint64_t blocks;   // of the grid
  uint32_t threads;  // of a block

  std::atomic<uint64_t> next_block{0};
  std::atomic<bool> stop{false};
  std::atomic<unsigned> static_shared_bytes{0};  // of the static shared variables seen so far
  std::atomic<unsigned> used{0};                 // of Did, by some block

  void note(unsigned what) {
    if (!(used.load(std::memory_order_relaxed) & what)) used.fetch_or(what, std::memory_order_relaxed);
  }

  std::mutex mutex;  // guards the members below
  int error = 0;     // a cudaError_t
  std::string report;

  // For cooperative launches and clusters, where each block has an OS thread: how many blocks may wait for
  // each other.
  uint64_t together = 0;
  std::condition_variable grid_changed;
  uint64_t grid_waiting = 0, grid_generation = 0, grid_finished = 0;
  unsigned grid_line = 0;

  void fail(int code, std::string text) {
    std::lock_guard lock(mutex);
    if (!error) {
      error = code;
      report = std::move(text);
    }
    stop = true;
    grid_changed.notify_all();
  }
  void fail_ended_blocks();
};

}  // namespace stitch_emulated
