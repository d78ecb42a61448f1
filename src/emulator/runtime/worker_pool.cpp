#include "scheduler.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace stitch_emulated {

namespace {

class Pool {
 public:
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(unsigned helpers, const std::function<void()>& work) {
    std::lock_guard turn(turn_);
    {
      std::lock_guard lock(mutex_);
      while (threads_.size() < helpers) threads_.emplace_back([this, i = threads_.size()] { serve(i); });
      work_ = &work;
      helpers_ = helpers;
      busy_ = helpers;
      ++generation_;
    }
    wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    work_ = nullptr;
  }

 private:
  void serve(size_t rank) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || (generation_ != seen && rank < helpers_ && work_); });
      if (ending_) return;
      seen = generation_;
      const std::function<void()>* work = work_;
      lock.unlock();
      (*work)();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_;  // serialises host threads
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const std::function<void()>* work_ = nullptr;
  uint64_t generation_ = 0;
  unsigned helpers_ = 0, busy_ = 0;
  bool ending_ = false;
};

}  // namespace

void run_on_pool(unsigned helpers, const std::function<void()>& work) {
  if (helpers == 0) return work();
  static Pool pool;
  pool.run(helpers, work);
}

}  // namespace stitch_emulated
