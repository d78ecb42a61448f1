// A real GPU, through the driver API and the primary context, which the program's CUDA runtime shares.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/bulk.h"
#include "runner/child/backend.h"
#include "runner/child/cuda_driver.h"
#include "runner/child/profiler.h"

namespace stitch::runner {

namespace {

constexpr int success = 0, out_of_memory = 2, no_device = 100, capture_unjoined = 904;
constexpr int relaxed_capture = 2;  // programs may allocate and use their own streams meanwhile
constexpr unsigned non_blocking_stream = 1;
constexpr int limit_persisting_cache = 6;
constexpr size_t pinned_bytes = size_t{64} << 20;
constexpr int as_descriptor = 1, on_device = 1, read_and_write = 3;  // as cuda.h has them

class CudaBackend final : public Backend {
 public:
  static Result<std::unique_ptr<Backend>> start() {
    auto out = std::make_unique<CudaBackend>();
    STITCH_TRY(out->driver_, CudaDriver::load());
    const CudaDriver& driver = out->driver_;
    const int code = driver.init(0);
    if (code == no_device) return work_error("no_device", "the NVIDIA driver sees no GPU");
    if (code != success)
      return work_error("no_device", "the NVIDIA driver doesn't start: " + driver.words_for(code));
    CudaDriver::Device& device = out->device_;
    CudaDriver::Handle& context = out->context_;
    std::array<char, 128> name{};
    STITCH_CHECK(out->checked(driver.device_get(&device, 0)));
    STITCH_CHECK(out->checked(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device)));
    STITCH_CHECK(out->checked(driver.primary_retain(&context, device)));
    STITCH_CHECK(out->checked(driver.set_current(context)));
    STITCH_CHECK(out->checked(driver.stream_create(&out->stream_, non_blocking_stream)));
    STITCH_CHECK(out->checked(driver.event_create(&out->begin_, 0)));
    STITCH_CHECK(out->checked(driver.event_create(&out->end_, 0)));
    // No persisting L2 accesses across calls. Not every GPU supports the limit.
    driver.set_limit(limit_persisting_cache, 0);
    out->name_ = name.data();
    out->base_in_use_ = out->in_use();
    return Result<std::unique_ptr<Backend>>(std::move(out));
  }

  std::string device_name() const override { return name_; }
  void* stream() override { return stream_; }

  Result<Address> allocate(int64_t bytes) override {
    Address address = 0;
    const int code = driver_.allocate(&address, static_cast<size_t>(bytes));
    if (code == out_of_memory) return work_error("out_of_memory", "the GPU's memory is full");
    STITCH_CHECK(checked(code));
    return address;
  }
  void free(Address address) override { driver_.free(address); }
  Result<void> upload(Address to, std::span<const std::byte> from) override {
    for (; is_bulk(from.size()); from = from.subspan(pinned_bytes), to += pinned_bytes) {
      copy_bulk(from.first(pinned_bytes), pinned_);
      STITCH_CHECK(checked(driver_.to_device(to, pinned_, pinned_bytes)));
    }
    return from.empty() ? Result<void>() : checked(driver_.to_device(to, from.data(), from.size()));
  }
  Result<void> download(std::span<std::byte> to, Address from) override {
    for (; is_bulk(to.size()); to = to.subspan(pinned_bytes), from += pinned_bytes) {
      STITCH_CHECK(checked(driver_.to_host(pinned_, from, pinned_bytes)));
      copy_bulk({pinned_, pinned_bytes}, to.data());
    }
    return to.empty() ? Result<void>() : checked(driver_.to_host(to.data(), from, to.size()));
  }
  Result<void> copy(Address to, Address from, int64_t bytes) override {
    return bytes == 0 ? Result<void>() : checked(driver_.on_device(to, from, static_cast<size_t>(bytes)));
  }
  Result<void> copy_in_order(Address to, Address from, int64_t bytes) override {
    if (bytes == 0) return {};
    return checked(driver_.on_device_in_order(to, from, static_cast<size_t>(bytes), stream_));
  }
  Result<void> hold_stream() override {
    constexpr useconds_t a_while = 3000;  // far longer than a launch on another stream takes
    return checked(driver_.launch_host_function(
        stream_, [](void*) { ::usleep(a_while); }, nullptr));
  }
  bool begin_capture() override { return driver_.begin_capture(stream_, relaxed_capture) == success; }
  Captured end_capture() override {
    CudaDriver::Handle graph = nullptr, instance = nullptr;
    const int code = driver_.end_capture(stream_, &graph);
    if (code != success || !graph) return code == capture_unjoined ? Captured::unjoined : Captured::broken;
    const bool ran = driver_.instantiate(&instance, graph, 0) == success &&
                     driver_.launch_graph(instance, stream_) == success;
    driver_.synchronise();
    if (instance) driver_.destroy_instance(instance);
    driver_.destroy_graph(graph);
    return ran ? Captured::complete : Captured::broken;
  }
  Result<Address> share(int descriptor, int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    uint64_t memory = 0;
    Address address = 0;
    STITCH_CHECK(checked(driver_.import_memory(
        &memory, std::bit_cast<void*>(static_cast<intptr_t>(descriptor)), as_descriptor)));
    int code = driver_.reserve_addresses(&address, size, 0, 0, 0);
    if (code == success && (code = driver_.map(address, size, 0, memory, 0)) != success)
      driver_.free_addresses(address, size);
    driver_.release_memory(memory);  // the mapping keeps it
    STITCH_CHECK(checked(code));
    const CudaDriver::Access access{on_device, device_, read_and_write};
    code = driver_.set_access(address, size, &access, 1);
    if (code != success) unshare(address, bytes);
    STITCH_CHECK(checked(code));
    return address;
  }
  void unshare(Address address, int64_t bytes) override {
    driver_.unmap(address, static_cast<size_t>(bytes));
    driver_.free_addresses(address, static_cast<size_t>(bytes));
  }
  Result<void> fill(Address to, uint32_t word, int64_t words) override {
    return words == 0 ? Result<void>() : checked(driver_.fill_words(to, word, static_cast<size_t>(words)));
  }

  Result<void> synchronise() override { return checked(driver_.synchronise()); }

  Result<void> flush_caches(int64_t bytes) override {
    if (bytes > flush_bytes_) {
      if (flush_) driver_.free(flush_);
      flush_bytes_ = 0;
      STITCH_TRY(flush_, allocate(bytes));
      flush_bytes_ = bytes;
    }
    driver_.reset_persisting_cache();
    // Twice with different values: compressible memory written once with zeros may never leave the cache.
    for (int turn = 0; turn < 2 && bytes > 0; ++turn)
      STITCH_CHECK(fill(flush_, ++flush_word_ * 0x9e3779b9u, bytes / 4));
    return synchronise();
  }
  void mark_begin() override { driver_.event_record(begin_, stream_); }
  void mark_end() override { driver_.event_record(end_, stream_); }
  int64_t marked_ns() override {
    float milliseconds = 0;
    driver_.event_elapsed(&milliseconds, begin_, end_);
    return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  int64_t bytes_in_use() override { return in_use() - base_in_use_ - flush_bytes_; }

  // As much as a program is likely to allocate first, and not so much that other processes run out.
  void poison_free_memory(uint32_t word) override {
    constexpr size_t smallest = size_t{64} << 20, most = size_t{4} << 30;
    size_t free_bytes = 0, total = 0;
    driver_.memory_info(&free_bytes, &total);
    std::vector<Address> pieces;
    for (size_t left = std::min(most, free_bytes / 8), piece = left; piece >= smallest;) {
      Address address = 0;
      if (left >= piece && driver_.allocate(&address, piece) == success) {
        driver_.fill_words(address, word, piece / 4);
        pieces.push_back(address);
        left -= piece;
      } else {
        piece /= 2;
      }
    }
    driver_.synchronise();
    for (Address address : pieces) driver_.free(address);
  }

  Result<void> start_profile(bool host_calls) override { return start_cuda_profile(host_calls); }
  Result<std::vector<Activity>> end_profile() override { return end_cuda_profile(); }
  void mark_profile(bool on) override { on ? driver_.profiler_start() : driver_.profiler_stop(); }
  Result<void> start_counters(std::span<const std::string> counters, int most_launches) override {
    return start_cuda_counters(context_, counters, most_launches);
  }
  Result<std::vector<Counts>> end_counters() override { return end_cuda_counters(); }

 private:
  Result<void> checked(int code) const {
    if (code == success) return {};
    return work_error("device_fault", driver_.words_for(code));
  }
  // Large copies go through pinned memory, filled by several cores; the driver uses only one. Falls back to
  // the driver where no pinned memory is available.
  bool is_bulk(size_t bytes) {
    if (bytes < pinned_bytes || no_pinned_) return false;
    void* memory = nullptr;
    if (!pinned_ && driver_.allocate_on_host(&memory, pinned_bytes, 0) == success)
      pinned_ = static_cast<std::byte*>(memory);
    no_pinned_ = !pinned_;
    return pinned_;
  }
  int64_t in_use() const {
    size_t free_bytes = 0, total = 0;
    driver_.memory_info(&free_bytes, &total);
    return static_cast<int64_t>(total - free_bytes);
  }

  CudaDriver driver_;
  CudaDriver::Device device_ = 0;
  CudaDriver::Handle context_ = nullptr, stream_ = nullptr, begin_ = nullptr, end_ = nullptr;
  std::string name_;
  int64_t base_in_use_ = 0, flush_bytes_ = 0;
  std::byte* pinned_ = nullptr;
  bool no_pinned_ = false;
  Address flush_ = 0;
  uint32_t flush_word_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> start_cuda() { return CudaBackend::start(); }

}  // namespace stitch::runner
