// What the child needs of a device, whichever it is. An Error here means that the device can't go on.
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
  // Beside memory that nobody can touch: behind it, or with `before` in front of it.
  virtual Result<Address> allocate_fenced(int64_t, int64_t /*alignment*/, bool /*before*/) {
    return work_error("no_fence", "this device has no memory that nobody can touch");
  }
  virtual Result<void> upload(Address to, std::span<const std::byte> from) = 0;
  virtual Result<void> download(std::span<std::byte> to, Address from) = 0;
  virtual Result<void> copy(Address to, Address from, int64_t bytes) = 0;
  // In the runner's stream: after what was given to it before, and done when the device is idle.
  virtual Result<void> copy_in_order(Address to, Address from, int64_t bytes) = 0;
  // Lets the runner's stream wait a little before what it is given next, as behind a caller's other work.
  // Nothing where streams don't run by themselves.
  virtual Result<void> hold_stream() { return {}; }
  // What the runner's stream is given from now on becomes a graph. False: it can't.
  virtual bool begin_capture() = 0;
  // Runs that graph, if there is one.
  virtual Captured end_capture() = 0;
  // Memory of the device that another process made, mapped here. An Error means only that it can't.
  virtual Result<Address> share(int descriptor, int64_t bytes) = 0;
  virtual void unshare(Address address, int64_t bytes) = 0;
  // Whole words; `to` is aligned to them.
  virtual Result<void> fill(Address to, uint32_t word, int64_t words) = 0;

  // Waits for everything the device was given by anybody, on whichever stream.
  virtual Result<void> synchronise() = 0;
  // Nothing of earlier calls is left in the device's caches. Ends with the device idle.
  virtual Result<void> flush_caches(int64_t bytes) = 0;
  // Marks in the runner's stream; the time between the two, once the device is idle.
  virtual void mark_begin() = 0;
  virtual void mark_end() = 0;
  virtual int64_t marked_ns() = 0;
  // What a timed call is measured by.
  virtual clockid_t clock() const { return CLOCK_MONOTONIC; }

  // Since the process began; 0: not known. Below zero where others gave memory back meanwhile, which tells
  // less than the difference of two.
  virtual int64_t bytes_in_use() = 0;
  // Memory of the program's own that was written outside of it, in words; "" if none is known.
  virtual std::string damage() { return ""; }
  // What the program's own allocations hold when they are fresh, where that can be chosen.
  virtual void poison_fresh_memory(uint64_t) {}
  // Puts `word` into memory that nobody has.
  virtual void poison_free_memory(uint32_t) {}
  // Bytes that nobody may touch, with a tool in the process that watches them.
  virtual void forbid(Address, int64_t) {}
  virtual void permit(Address, int64_t) {}

  // What the device does between the two, and with `host_calls` the CUDA API. Refused where nobody can tell.
  virtual Result<void> start_profile(bool host_calls) = 0;
  virtual Result<std::vector<Activity>> end_profile() = 0;
  // The same for a profiler outside of this process, which only wants to know where to begin and to end.
  virtual void mark_profile(bool) {}
  // Hardware counters of every launch between the two, by their names.
  virtual Result<void> start_counters(std::span<const std::string> /*counters*/, int /*most_launches*/) {
    return work_error("no_counters", "this device has no hardware counters");
  }
  virtual Result<std::vector<Counts>> end_counters() { return std::vector<Counts>{}; }
};

Result<std::unique_ptr<Backend>> start_emulated(const fs::path& runtime, const std::string& order);
Result<std::unique_ptr<Backend>> start_cuda();

}  // namespace stitch::runner
