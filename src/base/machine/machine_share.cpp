#include "base/machine/machine_share.h"

#include <chrono>
#include <thread>

#include "base/machine/time_account.h"

namespace stitch {

namespace {
constexpr std::chrono::milliseconds between_looks{20};
}

Result<MachineShare> MachineShare::take(const std::string& name, int wanted, int all) {
  const SpentOn waiting("for a share of " + name, TimeAccount::Kind::waiting);
  // One at a time takes parts: two that have half of what they want would wait for ever.
  STITCH_TRY(FileLock door, FileLock::wait(name + ".door"));
  MachineShare share;
  for (std::vector<bool> mine(static_cast<size_t>(all)); static_cast<int>(share.parts()) < wanted;) {
    for (int part = 0; part < all && static_cast<int>(share.parts()) < wanted; ++part) {
      if (mine[static_cast<size_t>(part)]) continue;
      STITCH_TRY(std::optional<FileLock> got, FileLock::if_free(format("{}.{}", name, part)));
      if (!got) continue;
      mine[static_cast<size_t>(part)] = true;
      share.locks_.push_back(*std::move(got));
    }
    if (static_cast<int>(share.parts()) < wanted) std::this_thread::sleep_for(between_looks);
  }
  return share;
}

}  // namespace stitch
