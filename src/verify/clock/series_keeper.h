// The other process of a series of calls: it makes inputs that the candidate has never seen, shows them, and
// reads every output. The reference over memory of the device where that can be shared, else this process
// over the host's arena.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/numerics.h"
#include "runner/candidate.h"
#include "verify/session.h"

namespace stitch::verifier {

// How calls lie in an arena.
struct SeriesShape {
  int slots = 1;
  int64_t inputs_step = 0, outputs_step = 0;
  std::vector<int64_t> inputs, outputs;  // within a call's; inputs that don't change from call to call: -1
};
// As many slots as `most`, or as the memory allows: `bytes` for all of what a series needs.
SeriesShape series_shape(const Signature& signature, int most, int64_t bytes);

// The code of an Error: this candidate can't see the keeper's memory.
inline constexpr std::string_view cannot_share = "cannot_share";

class SeriesKeeper {
 public:
  virtual ~SeriesKeeper() = default;
  virtual Result<void> connect(runner::Candidate& candidate) = 0;
  // The inputs of as many calls, in memory that the candidate doesn't see. Returns what a draw took.
  virtual Result<double> stage(std::span<const Question> questions) = 0;
  // Between these two the candidate may see the inputs of so many calls: the watch runs.
  virtual Result<void> reveal(int count) = 0;
  virtual Result<void> take(int count) = 0;  // every output, into memory that the candidate doesn't see
  virtual runner::Slots slots() const = 0;   // since reveal
  // Of what was taken last: whether the inputs are still what was shown, and the outputs of `slot` for later,
  // under a number.
  virtual Result<bool> intact(int count) = 0;
  virtual Result<void> keep(int slot, int number) = 0;
  // How far the calls that were taken last are from what PyTorch itself answers, the farthest first: as many
  // as are looked at in about so many seconds; none where that takes longer.
  virtual Result<std::vector<StrangeCall>> strange(int /*count*/, int /*most*/, double /*seconds*/) {
    return std::vector<StrangeCall>();
  }
  // Of each request, how many calls are worth keeping.
  virtual int kept_each() const { return 1; }
  virtual Result<Comparison> judge(int number, const Trial& trial, size_t output) = 0;
  virtual bool can_vary() const { return false; }  // draws of kind "varied" are to be had
  virtual std::string where() const = 0;           // in words
};

// Whether the graph's seed decides: PyTorch's own answer says nothing then.
bool is_drawn_here(const Signature& signature);

struct Keeping {
  SeriesShape shape;
  std::unique_ptr<SeriesKeeper> keeper;
};
// For series of at most so many calls: PyTorch over the device's memory where that can be, else this process,
// with a note that says why.
Keeping open_keeper(Session& session, int most_calls);
Keeping open_keeper_on_the_host(Session& session, int most_calls, const Error* why = nullptr);

std::unique_ptr<SeriesKeeper> host_keeper(Session& session, SeriesShape shape);
Result<std::unique_ptr<SeriesKeeper>> torch_keeper(Session& session, SeriesShape shape);

}  // namespace stitch::verifier
