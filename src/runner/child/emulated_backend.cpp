// The emulated GPU, through its runtime library; its memory is this process's.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "runner/child/backend.h"

namespace stitch::runner {

namespace {

// From CUDA's headers, which this executable doesn't include.
constexpr int success = 0, copy_default = 4, out_of_memory = 2, capture_unjoined = 904, relaxed_capture = 2;
constexpr unsigned non_blocking = 1;

class EmulatedBackend final : public Backend {
 public:
  static Result<std::unique_ptr<Backend>> start(const fs::path& path, const std::string& order) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return work_error("no_device", format("the emulated GPU does not load: {}", ::dlerror()));
    auto out = std::make_unique<EmulatedBackend>();
    std::string missing;
    auto find = [&](auto& function, const char* name, bool needed = true) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (!function && needed) missing += format(" {}", name);
    };
    // Mangled names, as declared by the emulated headers, next to overloads such as cudaMalloc<T>.
    find(out->malloc_, "_Z10cudaMallocPPvm");
    find(out->free_, "_Z8cudaFreePv");
    find(out->memcpy_, "_Z10cudaMemcpyPvPKvm14cudaMemcpyKind");
    find(out->memcpy_in_order_, "_Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st");
    find(out->synchronise_, "_Z21cudaDeviceSynchronizev");
    find(out->error_text_, "_Z18cudaGetErrorString9cudaError");
    find(out->stream_create_, "_Z25cudaStreamCreateWithFlagsPP11CUstream_stj");
    find(out->begin_capture_, "_Z22cudaStreamBeginCaptureP11CUstream_st21cudaStreamCaptureMode");
    find(out->end_capture_, "_Z20cudaStreamEndCaptureP11CUstream_stPP10CUgraph_st");
    find(out->instantiate_, "_Z20cudaGraphInstantiatePP14CUgraphExec_stP10CUgraph_sty");
    find(out->launch_graph_, "_Z15cudaGraphLaunchP14CUgraphExec_stP11CUstream_st");
    find(out->destroy_instance_, "_Z20cudaGraphExecDestroyP14CUgraphExec_st");
    find(out->destroy_graph_, "_Z16cudaGraphDestroyP10CUgraph_st");
    find(out->event_create_, "_Z15cudaEventCreatePP10CUevent_st");
    find(out->stream_wait_, "_Z19cudaStreamWaitEventP11CUstream_stP10CUevent_stj");
    find(out->event_record_, "_Z15cudaEventRecordP10CUevent_stP11CUstream_st");
    find(out->event_elapsed_, "_Z20cudaEventElapsedTimePfP10CUevent_stS1_");
    find(out->last_report_, "stitch_emulated_last_report");
    find(out->check_memory_, "stitch_emulated_check_memory");
    find(out->set_order_, "stitch_emulated_set_order");
    find(out->settle_order_, "stitch_emulated_settle_order");
    find(out->memory_in_use_, "stitch_emulated_memory_in_use");
    find(out->malloc_fenced_, "stitch_emulated_malloc_fenced");
    find(out->close_to_host_, "stitch_emulated_close_to_host");
    find(out->set_poison_, "stitch_emulated_set_poison");
    find(out->log_start_, "stitch_emulated_log_start");
    find(out->log_stop_, "stitch_emulated_log_stop");
    if (!missing.empty()) return work_error("no_device", "the emulated GPU lacks" + missing);
    // Present with AddressSanitizer.
    out->asan_forbid_ = reinterpret_cast<AsanFunction*>(::dlsym(RTLD_DEFAULT, "__asan_poison_memory_region"));
    out->asan_permit_ =
        reinterpret_cast<AsanFunction*>(::dlsym(RTLD_DEFAULT, "__asan_unpoison_memory_region"));
    if (out->set_order_(order.c_str()) != 0)
      return work_error("no_device", format("the emulated GPU knows no order of threads '{}'", order));
    out->settle_order_();  // candidates can't change it later
    if (out->stream_create_(&out->stream_, non_blocking) != success ||
        out->stream_create_(&out->branch_, non_blocking) != success ||
        out->event_create_(&out->begin_) != success || out->event_create_(&out->end_) != success)
      return work_error("no_device", "the emulated GPU makes no stream");
    return Result<std::unique_ptr<Backend>>(std::move(out));
  }

  std::string device_name() const override { return "emulated"; }
  void* stream() override { return stream_; }

  Result<Address> allocate(int64_t bytes) override {
    void* pointer = nullptr;
    const int code = malloc_(&pointer, static_cast<size_t>(bytes));
    if (code == out_of_memory) return work_error("out_of_memory", "the emulated GPU's memory is full");
    STITCH_CHECK(checked(code));
    return reinterpret_cast<Address>(pointer);
  }
  void free(Address address) override { free_(std::bit_cast<void*>(address)); }
  Result<Address> allocate_fenced(int64_t bytes, int64_t alignment, bool before) override {
    void* pointer = malloc_fenced_(static_cast<size_t>(bytes), static_cast<size_t>(alignment), before);
    if (!pointer) return work_error("out_of_memory", "the emulated GPU's memory is full");
    return reinterpret_cast<Address>(pointer);
  }
  void close_to_host(bool yes) override { close_to_host_(yes); }
  void make_read_only(Address address, int64_t bytes, bool yes) override {
    const auto page = static_cast<Address>(::sysconf(_SC_PAGESIZE));
    const Address begin = address / page * page, end = address + static_cast<Address>(bytes);
    ::mprotect(std::bit_cast<void*>(begin), end - begin, yes ? PROT_READ : PROT_READ | PROT_WRITE);
  }
  Result<void> upload(Address to, std::span<const std::byte> from) override {
    return checked(memcpy_(std::bit_cast<void*>(to), from.data(), from.size(), copy_default));
  }
  Result<void> download(std::span<std::byte> to, Address from) override {
    return checked(memcpy_(to.data(), std::bit_cast<void*>(from), to.size(), copy_default));
  }
  Result<void> copy(Address to, Address from, int64_t bytes) override {
    return checked(memcpy_(std::bit_cast<void*>(to), std::bit_cast<void*>(from), static_cast<size_t>(bytes),
                           copy_default));
  }
  Result<void> copy_in_order(Address to, Address from, int64_t bytes) override {
    return checked(memcpy_in_order_(std::bit_cast<void*>(to), std::bit_cast<void*>(from),
                                    static_cast<size_t>(bytes), copy_default, stream_));
  }
  void* fork_stream() override {
    const bool forked =
        event_record_(begin_, stream_) == success && stream_wait_(branch_, begin_, 0) == success;
    return forked ? branch_ : nullptr;
  }
  void join_stream() override {
    event_record_(end_, branch_);
    stream_wait_(stream_, end_, 0);
  }
  bool begin_capture() override { return begin_capture_(stream_, relaxed_capture) == success; }
  Captured end_capture() override {
    void *graph = nullptr, *instance = nullptr;
    const int code = end_capture_(stream_, &graph);
    if (code != success || !graph) return code == capture_unjoined ? Captured::unjoined : Captured::broken;
    const bool ran =
        instantiate_(&instance, graph, 0) == success && launch_graph_(instance, stream_) == success;
    if (instance) destroy_instance_(instance);
    destroy_graph_(graph);
    return ran ? Captured::complete : Captured::broken;
  }
  Result<Address> share(int descriptor, int64_t bytes) override {
    void* memory =
        ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return work_error(error_code::memory, "the shared memory can't be mapped");
    return reinterpret_cast<Address>(memory);
  }
  void unshare(Address address, int64_t bytes) override {
    ::munmap(std::bit_cast<void*>(address), static_cast<size_t>(bytes));
  }
  Result<void> fill(Address to, uint32_t word, int64_t words) override {
    std::fill_n(std::bit_cast<uint32_t*>(to), words, word);
    return {};
  }

  Result<void> synchronise() override { return checked(synchronise_()); }
  Result<void> flush_caches(int64_t) override { return {}; }
  // Kernels run on CPU threads of this process, and CPU time doesn't depend on how busy the machine is.
  clockid_t clock() const override { return CLOCK_PROCESS_CPUTIME_ID; }
  void mark_begin() override { event_record_(begin_, stream_); }
  void mark_end() override { event_record_(end_, stream_); }
  int64_t marked_ns() override {
    float milliseconds = 0;
    event_elapsed_(&milliseconds, begin_, end_);
    return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  int64_t bytes_in_use() override { return static_cast<int64_t>(memory_in_use_()); }
  std::string damage() override { return check_memory_(); }
  void forbid(Address address, int64_t bytes) override {
    if (asan_forbid_) asan_forbid_(std::bit_cast<void*>(address), static_cast<size_t>(bytes));
  }
  void permit(Address address, int64_t bytes) override {
    if (asan_permit_) asan_permit_(std::bit_cast<void*>(address), static_cast<size_t>(bytes));
  }

  void poison_fresh_memory(uint64_t poison) override { set_poison_(poison % 2 ? 0x7f : 0xff); }

  Result<void> start_profile(bool) override {
    log_start_();
    return {};
  }
  Result<std::vector<Activity>> end_profile() override {
    STITCH_TRY(Json log, parse_json(log_stop_()));
    std::vector<Activity> out;
    for (const Json& entry : log) {
      Activity activity;
      activity.name = entry.at("name").get<std::string>();
      const std::string kind = entry.at("kind").get<std::string>();
      activity.kind = kind == "memcpy"   ? ActivityKind::copy
                      : kind == "memset" ? ActivityKind::fill
                                         : ActivityKind::kernel;
      activity.in_graph = entry.value("graph", false);
      activity.bytes = entry.value("bytes", int64_t{0});
      activity.used = entry.value("used", std::vector<std::string>());
      activity.counters = entry.value("counters", std::map<std::string, double>());
      for (size_t i = 0; kind == "kernel" && i < 3; ++i) {
        activity.grid[i] = entry.at("grid").at(i).get<int>();
        activity.block[i] = entry.at("block").at(i).get<int>();
      }
      activity.shared_bytes =
          entry.value("shared_static", int64_t{0}) + entry.value("shared_dynamic", int64_t{0});
      out.push_back(std::move(activity));
    }
    return out;
  }

 private:
  Result<void> checked(int code) {
    if (code == success) return {};
    std::string report = last_report_();
    return work_error("device_fault",
                      report.empty() ? format("CUDA error {}: {}", code, error_text_(code)) : report);
  }

  using AsanFunction = void(const void*, size_t);
  int (*malloc_)(void**, size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*memcpy_)(void*, const void*, size_t, int) = nullptr;
  int (*synchronise_)() = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*memcpy_in_order_)(void*, const void*, size_t, int, void*) = nullptr;
  int (*stream_create_)(void**, unsigned) = nullptr;
  int (*begin_capture_)(void*, int) = nullptr;
  int (*end_capture_)(void*, void**) = nullptr;
  int (*instantiate_)(void**, void*, unsigned long long) = nullptr;
  int (*launch_graph_)(void*, void*) = nullptr;
  int (*destroy_instance_)(void*) = nullptr;
  int (*destroy_graph_)(void*) = nullptr;
  int (*event_create_)(void**) = nullptr;
  int (*event_record_)(void*, void*) = nullptr;
  int (*event_elapsed_)(float*, void*, void*) = nullptr;
  const char* (*last_report_)() = nullptr;
  const char* (*check_memory_)() = nullptr;
  int (*set_order_)(const char*) = nullptr;
  void (*settle_order_)() = nullptr;
  size_t (*memory_in_use_)() = nullptr;
  void* (*malloc_fenced_)(size_t, size_t, int) = nullptr;
  void (*close_to_host_)(int) = nullptr;
  void (*set_poison_)(int) = nullptr;
  void (*log_start_)() = nullptr;
  const char* (*log_stop_)() = nullptr;
  AsanFunction *asan_forbid_ = nullptr, *asan_permit_ = nullptr;
  int (*stream_wait_)(void*, void*, unsigned) = nullptr;
  void *stream_ = nullptr, *branch_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Backend>> start_emulated(const fs::path& runtime, const std::string& order) {
  return EmulatedBackend::start(runtime, order);
}

}  // namespace stitch::runner
