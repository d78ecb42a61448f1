// PyTorch's baselines are compiled while the program is built: that is other processes' work on both sides.
#pragma once

#include <future>

#include "verify/session.h"

namespace stitch::verifier {

class BaselinesAhead {
 public:
  // Begins, where that is asked for and the GPU's memory has room. Until the end nobody else speaks to the
  // session's reference.
  explicit BaselinesAhead(Session& session);
  BaselinesAhead(const BaselinesAhead&) = delete;
  BaselinesAhead& operator=(const BaselinesAhead&) = delete;
  ~BaselinesAhead() {
    if (work_.valid()) work_.wait();
  }
  // Waits; what came of it is in Session::prepared.
  void finish();

 private:
  using Prepared = std::map<std::string, Result<Samples>>;
  Session& session_;
  std::future<Prepared> work_;
};

}  // namespace stitch::verifier
