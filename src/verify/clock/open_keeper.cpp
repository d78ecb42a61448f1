#include "verify/clock/series_keeper.h"

namespace stitch::verifier {

namespace {

constexpr int64_t device_memory_of_a_series = int64_t{2} << 30, host_memory_of_a_series = int64_t{256} << 20;

}  // namespace

Keeping open_keeper_on_the_host(Session& session, int most_calls, const Error* why) {
  if (why) session.notes.push_back("timed calls go through the host's memory: " + why->message);
  SeriesShape shape = series_shape(session.task.signature, most_calls, host_memory_of_a_series);
  auto keeper = host_keeper(session, shape);
  return {std::move(shape), std::move(keeper)};
}

Keeping open_keeper(Session& session, int most_calls) {
  // On a CPU the device's memory is the host's: nothing to gain for a Python candidate.
  const bool on_cpu = session.python && session.options.device != runner::Device::cuda;
  if (!session.torch || on_cpu || is_drawn_here(session.task.signature))
    return open_keeper_on_the_host(session, most_calls);
  SeriesShape shape = series_shape(session.task.signature, most_calls, device_memory_of_a_series);
  auto keeper = torch_keeper(session, shape);
  if (!keeper) return open_keeper_on_the_host(session, most_calls, &keeper.error());
  return {std::move(shape), *std::move(keeper)};
}

}  // namespace stitch::verifier
