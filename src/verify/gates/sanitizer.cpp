// NVIDIA's compute-sanitizer around the candidate: out-of-bounds accesses, races in shared memory, reads of
// memory nobody wrote. On the emulated GPU, whose memory is ours anyway, AddressSanitizer instead.
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

constexpr std::array<std::string_view, 3> tools = {"memcheck", "racecheck", "initcheck"};

// The last "ERROR SUMMARY: 0 errors" or "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)".
std::optional<std::string> summary_line(const std::string& printed) {
  std::optional<std::string> found;
  for (const std::string& line : split(printed, '\n'))
    if (size_t at = line.find(" SUMMARY: "); at != std::string::npos) found = line.substr(at + 10);
  return found;
}

std::string first_complaint(const std::string& printed) {
  for (const std::string& line : split(printed, '\n')) {
    std::string text = trim(line.substr(std::min(line.find_first_not_of("= "), line.size())));
    for (std::string_view word : {"Invalid", "Error:", "hazard", "Uninitialized", "Program hit"})
      if (text.find(word) != std::string::npos) return text;
  }
  return "see the evidence";
}

Result<void> run_tool(Session& session, std::string_view tool, Json& evidence) {
  session.progress(format("compute-sanitizer {}", tool));
  STITCH_TRY(Attempt attempt, Attempt::start_under(session, std::string(tool)));
  STITCH_CHECK(attempt.ask(session.trials[0], {.poison = session.next_seed()}));
  std::string printed = attempt.candidate().finish();
  auto summary = summary_line(printed);
  evidence[std::string(tool)] = summary ? *summary : "no summary";
  if (!summary)
    return work_error("sanitizer",
                      format("compute-sanitizer {} said nothing: {}", tool, printed.substr(0, 500)));
  if (summary->starts_with("0 ")) return {};
  evidence["output"] = printed.substr(0, 20'000);
  return found(std::string(tool), format("{}: {}", tool, first_complaint(printed)));
}

}  // namespace

Result<Passed> sanitizer(Session& session, Json& evidence) {
  session.attempt.reset();  // its memory is others' from here on
  if (!session.options.sanitizer) return skipped("not asked for");
  if (session.python) return skipped("PyTorch's own kernels would be checked too");
  if (session.trials.empty()) return skipped("no trial to repeat");
  if (session.options.device == runner::Device::emulated)
    return skipped("the emulated GPU checks every access already");
  if (!find_program("compute-sanitizer")) return skipped("compute-sanitizer is not on the PATH");
  for (std::string_view tool : tools) STITCH_CHECK(run_tool(session, tool, evidence));
  return Passed{"memcheck, racecheck and initcheck found nothing"};
}

}  // namespace stitch::verifier
