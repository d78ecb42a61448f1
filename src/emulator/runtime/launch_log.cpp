#include "launch_log.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "access_counters.h"
#include "stitch_emulated.h"

namespace stitch_emulated {

thread_local int InGraph::depth = 0;

namespace {

std::atomic<bool> logging{false};
std::mutex mutex;
std::vector<std::string> entries;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}
std::string triple(dim3 size) {
  return "[" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + "]";
}

void add(const char* kind, const std::string& name, const std::string& rest) {
  std::lock_guard lock(mutex);
  entries.push_back(std::string("{\"kind\":\"") + kind + "\",\"name\":" + quoted(name) + rest +
                    ",\"graph\":" + (InGraph::depth ? "true" : "false") + "}");
}

// "void scale<float>(float*, int)" becomes scale<float>.
std::string without_parameters(std::string text) {
  if (text.empty() || text.back() != ')') return text;
  size_t at = text.size();
  for (int open = 0; at-- > 0;) {
    open += text[at] == ')';
    open -= text[at] == '(';
    if (!open) break;
  }
  text.resize(at);
  return text.starts_with("void ") ? text.substr(5) : text;
}

// A launch has the kernel's name as written in the source; the symbol has the template arguments' values.
std::string name_of(const Kernel& kernel) {
  Dl_info info{};
  if (!kernel.exact || !dladdr(kernel.function, &info) || info.dli_saddr != kernel.function ||
      !info.dli_sname)
    return kernel.name;
  int status = 0;
  char* text = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string out = text ? without_parameters(text) : info.dli_sname;
  std::free(text);
  return out;
}

}  // namespace

bool is_logging() { return logging.load(std::memory_order_relaxed); }

void log_kernel(const LaunchState& launch) {
  if (!is_logging()) return;
  const LaunchConfig& config = launch.config;
  std::string used;
  auto add_used = [&](bool yes, const char* what) {
    if (yes) used += (used.empty() ? "\"" : ",\"") + std::string(what) + '"';
  };
  add_used(launch.static_shared_bytes + config.shared_bytes > 0, "shared_memory");
  add_used(launch.used & Did::barriers, "barriers");
  add_used(launch.used & Did::shuffles, "shuffles");
  add_used(launch.used & Did::tensor_cores, "tensor_cores");
  const std::string counters = take_counters();
  add("kernel", name_of(*launch.kernel),
      ",\"grid\":" + triple(config.grid) + ",\"block\":" + triple(config.block) +
          ",\"shared_static\":" + std::to_string(launch.static_shared_bytes) +
          ",\"shared_dynamic\":" + std::to_string(config.shared_bytes) +
          ",\"cooperative\":" + (config.cooperative ? "true" : "false") + ",\"used\":[" + used + "]" +
          (counters.empty() ? "" : ",\"counters\":" + counters));
}

void log_library(const std::string& name) {
  if (is_logging()) add("library", name, "");
}

void log_copy(const CopyOperation& copy) {
  if (!is_logging()) return;
  constexpr const char* names[] = {"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default"};
  add("memcpy", std::string("cudaMemcpy ") + names[copy.kind],
      ",\"bytes\":" + std::to_string(copy.width * copy.height));
}

void log_fill(const FillOperation& fill) {
  if (is_logging())
    add("memset", "cudaMemset",
        ",\"bytes\":" + std::to_string(fill.width * fill.height * fill.element_bytes));
}

}  // namespace stitch_emulated

using namespace stitch_emulated;

extern "C" void stitch_emulated_log_start() {
  std::lock_guard lock(mutex);
  entries.clear();
  logging = true;
}
extern "C" const char* stitch_emulated_log_stop() {
  static thread_local std::string text;
  std::lock_guard lock(mutex);
  logging = false;
  text = "[";
  for (const std::string& entry : entries) text += (text.size() > 1 ? ",\n " : "") + entry;
  text += "]";
  entries.clear();
  return text.c_str();
}
