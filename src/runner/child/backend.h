// The child's interface to a device. An Error means that the device is unusable.
#pragma once

#include <time.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "runner/candidate.h"

namespace stitch::runner {

using Address = uint64_t;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string device_name() const = 0;
  virtual void* stream() = 0;  // the runner's own, as a cudaStream_t

  virtual Result<Address> allocate(int64_t bytes) = 0;
  virtual void free(Address address) = 0;
  // Next to inaccessible memory: after it or, with `before`, before it.
  virtual Result<Address> allocate_fenced(int64_t, int64_t /*alignment*/, bool /*before*/) {
    return work_error("no_fence", "this device has no inaccessible memory");
  }
  // While `yes`, fenced memory is for the device alone.
  virtual void close_to_host(bool /*yes*/) {}
  // Fenced memory that can only be read, or be written to again.
  virtual void make_read_only(Address, int64_t /*bytes*/, bool /*yes*/) {}
  virtual Result<void> upload(Address to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, Address from) = 0;
  virtual Result<void> copy(Address to, Address from, int64_t bytes) = 0;
  // Asynchronous, in the runner's stream.
  virtual Result<void> copy_in_order(Address to, Address from, int64_t bytes) = 0;
  // Blocks the runner's stream for a moment, like earlier work of the caller. No effect where streams are
  // synchronous.
  virtual Result<void> hold_stream() { return {}; }
  // Captures the runner's stream into a graph from now on. False: it can't.
  // Another stream whose work follows what the runner's has so far, and is waited for by what comes there
  // behind join_stream(). Null where there is none.
  virtual void* fork_stream() { return nullptr; }
  virtual void join_stream() {}
  virtual bool begin_capture() = 0;
  // Ends the capture and launches the graph, if there is one.
  virtual Captured end_capture() = 0;
  // Maps device memory that another process exported. An Error means only that this can't be done.
  virtual Result<Address> share(int descriptor, int64_t bytes) = 0;
  virtual void unshare(Address address, int64_t bytes) = 0;
  // 32-bit words; `to` is aligned to 4 bytes.
  virtual Result<void> fill(Address to, uint32_t word, int64_t words) = 0;

  // Waits for the whole device, all streams.
  virtual Result<void> synchronise() = 0;
  // Evicts earlier calls' data from the device's caches. Ends with the device idle.
  virtual Result<void> flush_caches(int64_t bytes) = 0;
  // Events in the runner's stream; the time between them, once the device is idle.
  virtual void mark_begin() = 0;
  virtual void mark_end() = 0;
  virtual int64_t marked_ns() = 0;
  // The clock for timed calls.
  virtual clockid_t clock() const { return CLOCK_MONOTONIC; }

  // Relative to process start; 0: not known. Other processes that free memory make it negative, so only
  // differences tell.
  virtual int64_t bytes_in_use() = 0;
  // Out-of-bounds writes around the program's own allocations; "" if none is known.
  virtual std::string damage() { return ""; }
  // The pattern in the program's own fresh allocations, where it can be chosen.
  virtual void poison_fresh_memory(uint64_t) {}
  // Fills free device memory with `word`.
  virtual void poison_free_memory(uint32_t) {}
  // Marks bytes as inaccessible for a sanitizer in the process.
  virtual void forbid(Address, int64_t) {}
  virtual void permit(Address, int64_t) {}

  // Device activity between the two, with `host_calls` also CUDA API calls. Refused without a profiler.
  virtual Result<void> start_profile(bool host_calls) = 0;
  virtual Result<std::vector<Activity>> end_profile() = 0;
  // Start and stop marks for a profiler outside this process.
  virtual void mark_profile(bool) {}
  // Hardware counters of every launch between the two.
  virtual Result<void> start_counters(std::span<const std::string> /*counters*/, int /*most_launches*/) {
    return work_error("no_counters", "this device has no hardware counters");
  }
  virtual Result<std::vector<Counts>> end_counters() { return std::vector<Counts>{}; }
};

Result<std::unique_ptr<Backend>> start_emulated(const fs::path& runtime, const std::string& order);
Result<std::unique_ptr<Backend>> start_cuda();

}  // namespace stitch::runner
