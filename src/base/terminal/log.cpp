#include "base/terminal/log.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace stitch {

namespace {

std::mutex log_lock;
std::atomic<bool> listening = false;
std::function<void(std::string_view)>& listener() {
  static auto* one = new std::function<void(std::string_view)>;  // outlives every static destructor
  return *one;
}

}  // namespace

void set_log(std::function<void(std::string_view)> take) {
  std::lock_guard hold(log_lock);
  listening = static_cast<bool>(take);
  listener() = std::move(take);
}

bool is_logging() { return listening; }

void log_line(std::string_view line) {
  if (!listening) return;
  std::lock_guard hold(log_lock);
  if (listener()) listener()(line);
}

}  // namespace stitch
