#include "verify/gpu_share.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/file.h"

namespace stitch::verifier {

namespace {

constexpr int all_parts = 8;  // of the GPU's memory
constexpr std::chrono::milliseconds between_looks{50};

// The locked file, or -1 if somebody else has it and `how` doesn't wait.
Result<int> lock(const std::string& name, int how) {
  fs::path file = cache_folder() / name;
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return work_error("lock", format("cannot open {}: {}", file.string(), std::strerror(errno)),
                      "set STITCHCUDA_CACHE to a folder that can be written");
  while (::flock(descriptor, how) != 0) {
    if (errno == EINTR) continue;
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

double gpu_bytes_of(const Signature& signature) {
  double inputs = 0, outputs = 0, truth = 0;
  for (const ManifestTensor& input : signature.inputs) inputs += static_cast<double>(input.type.bytes());
  for (const ManifestTensor& output : signature.outputs) {
    outputs += static_cast<double>(output.type.bytes());
    truth += static_cast<double>(output.type.elements()) * 8;
  }
  return 2 * (inputs + outputs) + 2 * truth + 2 * inputs + std::max(inputs, outputs);
}

GpuShare::~GpuShare() {
  for (int descriptor : descriptors_) ::close(descriptor);
}

Result<GpuShare> GpuShare::take(double bytes, double total) {
  const int wanted = std::clamp(static_cast<int>(std::ceil(all_parts * bytes / total)), 1, all_parts);
  // One at a time takes parts: two that have half of what they want would wait for ever.
  STITCH_TRY(int door, lock("gpu.memory.door", LOCK_EX));
  GpuShare behind_the_door({door}), share({});
  for (std::vector<bool> mine(all_parts); static_cast<int>(share.parts()) < wanted;) {
    for (int part = 0; part < all_parts && static_cast<int>(share.parts()) < wanted; ++part) {
      if (mine[static_cast<size_t>(part)]) continue;
      STITCH_TRY(int descriptor, lock(format("gpu.memory.{}", part), LOCK_EX | LOCK_NB));
      if (descriptor < 0) continue;
      mine[static_cast<size_t>(part)] = true;
      share.descriptors_.push_back(descriptor);
    }
    if (static_cast<int>(share.parts()) < wanted) std::this_thread::sleep_for(between_looks);
  }
  return share;
}

}  // namespace stitch::verifier
