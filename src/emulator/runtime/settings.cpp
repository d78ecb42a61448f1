#include "settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "stitch_emulated.h"

namespace stitch_emulated {

namespace {

size_t parse_bytes(const char* text, size_t otherwise) {
  char* end = nullptr;
  double value = std::strtod(text, &end);
  if (end == text || value <= 0) {
    std::fprintf(stderr, "stitch emulated GPU: '%s' is not a size in bytes (such as 512M); it is ignored\n",
                 text);
    return otherwise;
  }
  switch (*end | 32) {
    case 'k': value *= 1024; break;
    case 'm': value *= 1024 * 1024; break;
    case 'g': value *= 1024.0 * 1024 * 1024; break;
    default: break;
  }
  return static_cast<size_t>(value);
}

Settings from_environment() {
  Settings out;
  out.workers = std::max(1u, std::thread::hardware_concurrency());
  out.memory_bytes = size_t{139} << 30;  // an H200's
  if (const char* text = std::getenv("STITCH_EMULATED_ORDER"); text && !parse_order(text, out.order))
    std::fprintf(stderr,
                 "stitch emulated GPU: '%s' is not an order (forward, reverse, shuffle:SEED, lag:SEED)\n",
                 text);
  if (const char* text = std::getenv("STITCH_EMULATED_THREADS")) {
    int count = std::atoi(text);
    if (count >= 1 && count <= 4096) out.workers = static_cast<unsigned>(count);
  }
  if (const char* text = std::getenv("STITCH_EMULATED_POISON")) out.poison = std::atoi(text) & 0xFF;
  if (const char* text = std::getenv("STITCH_EMULATED_MEMORY"))
    out.memory_bytes = parse_bytes(text, out.memory_bytes);
  if (const char* text = std::getenv("STITCH_EMULATED_STACK"))
    out.stack_bytes = std::max<size_t>(16 * 1024, parse_bytes(text, out.stack_bytes));
  return out;
}

}  // namespace

Settings& settings() {
  static Settings all = from_environment();
  return all;
}

bool parse_order(const char* text, Order& out) {
  if (!std::strcmp(text, "forward")) {
    out = {Order::forward, 0};
  } else if (!std::strcmp(text, "reverse")) {
    out = {Order::reverse, 0};
  } else if (!std::strncmp(text, "shuffle", 7) && (!text[7] || text[7] == ':')) {
    out = {Order::shuffle, text[7] ? std::strtoull(text + 8, nullptr, 10) : 1};
  } else if (!std::strncmp(text, "lag", 3) && (!text[3] || text[3] == ':')) {
    out = {Order::lag, text[3] ? std::strtoull(text + 4, nullptr, 10) : 1};
  } else {
    return false;
  }
  return true;
}

}  // namespace stitch_emulated

namespace {

bool order_is_settled = false;

}  // namespace

extern "C" void stitch_emulated_settle_order(void) { order_is_settled = true; }
extern "C" int stitch_emulated_set_order(const char* order) {
  if (order_is_settled) return 1;
  return stitch_emulated::parse_order(order, stitch_emulated::settings().order) ? 0 : 1;
}
extern "C" void stitch_emulated_set_threads(unsigned count) {
  stitch_emulated::settings().workers = count ? count : 1;
}
extern "C" void stitch_emulated_set_memory(size_t bytes) { stitch_emulated::settings().memory_bytes = bytes; }
extern "C" void stitch_emulated_take_host_memory(int yes) {
  stitch_emulated::settings().host_memory_too = yes != 0;
}
extern "C" void stitch_emulated_set_poison(int byte) { stitch_emulated::settings().poison = byte & 0xFF; }
