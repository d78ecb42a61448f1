// Ctrl-C, kill and hang-up leave nothing half-written: folders that are being made are removed first.
#pragma once

#include <filesystem>

namespace stitch {

// Called once by main, before any thread is started.
void clean_up_on_interrupts();

// A folder that must not outlive an interrupted process.
void remove_if_interrupted(const std::filesystem::path& folder);
void keep_if_interrupted(const std::filesystem::path& folder);

// While one of these lives, the first Ctrl-C is only a request, and stop_requested() says so; the second one
// ends the process as ever.
class StopPolitely {
 public:
  StopPolitely();
  StopPolitely(const StopPolitely&) = delete;
  StopPolitely& operator=(const StopPolitely&) = delete;
  ~StopPolitely();
};
bool stop_requested();

}  // namespace stitch
