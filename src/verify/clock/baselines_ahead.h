// PyTorch's baselines get ready ahead: in a process of their own while the reference answers questions, or,
// where there is none, by the reference itself while the program is built.
#pragma once

#include <future>

#include "reference/torch_reference.h"
#include "verify/session.h"

namespace stitch::verifier {

// Compiles and times baselines for as long as the Verifier lives.
class BaselineProcess {
 public:
  // Begins at once: loads the task and gets ready what no cache has of `session`'s baselines.
  BaselineProcess(TorchProcess process, const Session& session);
  BaselineProcess(const BaselineProcess&) = delete;
  BaselineProcess& operator=(const BaselineProcess&) = delete;
  // Waits until it is ready. Null: it failed, and the reference has to do.
  TorchReference* get();

 private:
  std::future<std::unique_ptr<TorchReference>> loading_;
  std::unique_ptr<TorchReference> torch_;
};
// Is there room on the GPU for baselines beside trials and candidates?
bool has_room_for_baselines(const Session& session);

class BaselinesAhead {
 public:
  // Begins, if asked for and not begun elsewhere. Until the end only this object speaks to the
  // session's reference.
  explicit BaselinesAhead(Session& session);
  BaselinesAhead(const BaselinesAhead&) = delete;
  BaselinesAhead& operator=(const BaselinesAhead&) = delete;
  ~BaselinesAhead() {
    if (work_.valid()) work_.wait();
  }
  bool is_at_work() const { return work_.valid(); }
  // Waits; what came of it is in Session::prepared.
  void finish();

 private:
  using Prepared = std::map<std::string, Result<Samples>>;
  Session& session_;
  std::future<Prepared> work_;
};

}  // namespace stitch::verifier
