// Ctrl-C, kill and hang-up leave nothing half-written: folders that are being made are removed first.
#pragma once

#include <filesystem>
#include <functional>

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

// While one of these lives, waiting for a child process (base/machine/process.h) calls `wanted` a few times a
// second; once it says so the child is ended, and waiting for it is an Error of code "stopped". For a server
// whose client gave a request up. At most one at a time: it counts for every thread.
class EndChildrenWhen {
 public:
  explicit EndChildrenWhen(std::function<bool()> wanted);
  EndChildrenWhen(const EndChildrenWhen&) = delete;
  EndChildrenWhen& operator=(const EndChildrenWhen&) = delete;
  ~EndChildrenWhen();
};
bool children_are_watched();  // such an object exists
bool children_should_end();

}  // namespace stitch
