// Processes started ahead: sandboxed, with CUDA or PyTorch initialised, waiting for a candidate.
//
// Starting CUDA takes half a second alone and seconds next to other starts; importing PyTorch takes longer.
// `expect` starts a process while a compiler is at work. Sandbox, scratch folder and limits are the process's
// own and are in place before its first line; it holds one candidate and ends with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runner/candidate.h"

namespace stitch::runner {

class ReadyCandidates {
 public:
  static ReadyCandidates& here();  // of this process
  ReadyCandidates() = default;
  ReadyCandidates(const ReadyCandidates&) = delete;
  ~ReadyCandidates();

  // A process of this kind will be needed soon. Returns at once. At most one waits: one of the same kind is
  // kept, another kind is ended. It ends after a minute unused.
  void expect(const Options& options);
  // One that is ready or starting; empty if there is none.
  std::optional<Candidate> take(const Options& options);
  // Waits, at most some seconds, until no process is starting: driver start-up would disturb a measurement.
  void settle();

 private:
  struct Waiting {
    Options options;
    Candidate candidate;
  };
  void start_them();
  bool is_under_way(const Options& options) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Options> wanted_;
  std::optional<Options> starting_;
  bool is_awaited_ = false;  // a caller waits for the one that is starting
  std::list<Waiting> waiting_;
  std::atomic<bool> over_ = false;
  std::thread starter_;  // they die with their starting thread, so that is not a verification's
};

// Whether one process can be used in place of the other.
bool same_kind(const Options& one, const Options& other);

}  // namespace stitch::runner
