// Processes that hold no candidate yet: behind their walls, CUDA or PyTorch in them, waiting at their socket.
//
// Starting CUDA takes a process half a second alone and seconds among others, importing PyTorch more. Whoever
// knows that a process will be wanted says so ahead, and it starts while a compiler is at work. Nothing is
// shared by that: walls, scratch folder and limits are each process's own, and stand before its first line;
// one that was taken holds one candidate, ends with it, and is never given back.
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
  static ReadyCandidates& here();  // this process's
  ReadyCandidates() = default;
  ReadyCandidates(const ReadyCandidates&) = delete;
  ~ReadyCandidates();

  // A process of this kind will be wanted soon. Returns at once. One waits at a time: where it is of this
  // kind, nothing happens, and one of another kind ends. So does one that nobody wants for a minute.
  void expect(const Options& options);
  // One that is ready, or will be as soon as it has started; nothing where none is under way.
  std::optional<Candidate> take(const Options& options);
  // Until nothing is being started, or some seconds: whoever measures wants no driver at work beside.
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
  bool is_awaited_ = false;  // somebody waits for the one that starts
  std::list<Waiting> waiting_;
  std::atomic<bool> over_ = false;
  std::thread starter_;  // they die with the thread that started them: not with a verification's
};

// Whether one process can stand in for the other.
bool same_kind(const Options& one, const Options& other);

}  // namespace stitch::runner
