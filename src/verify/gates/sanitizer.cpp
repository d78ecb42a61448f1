// NVIDIA's compute-sanitizer around the candidate, both behind the walls: out-of-bounds accesses, races in
// shared memory, reads of memory that was never written. For the emulated GPU the program is built once more
// with AddressSanitizer, which sees accesses that lie within another allocation.
#include <array>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "sandbox/sandbox.h"
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

// Whether the tool works behind the walls: a program that uses no GPU, which it complains about.
bool works_confined() {
  static const bool works = [] {
    auto program = find_program("compute-sanitizer");
    auto scratch = ScratchFolder::create("stitchcuda-sanitizer");
    if (!program || !scratch) return false;
    sandbox::Policy policy{.writable = {scratch->path()},
                           .may_start_processes = true,
                           .gpu = true,
                           .own_network = true,
                           .errors_to_output = true};
    std::error_code ignored;
    policy.readable = {program->parent_path(), fs::weakly_canonical(*program, ignored).parent_path()};
    auto command = sandbox::confine(
        {{program->string(), "--tool", "memcheck", "/bin/true"}, {}, std::chrono::seconds(30)}, policy);
    std::string printed;
    return command && run(*command, [&](std::string_view line) { printed += line; }) &&
           printed.find("before first instrumented API call") != std::string::npos;
  }();
  return works;
}

// The same program, built and asked once more.
Result<Passed> with_address_sanitizer(Session& session, Json& evidence) {
  if (session.options.address_sanitizer) return skipped("all of it ran under AddressSanitizer");
  session.progress("building with AddressSanitizer");
  VerifyOptions options = session.options;
  options.address_sanitizer = true;
  Session again(options, session.task, session.reference, session.arena);
  again.torch = session.torch;
  again.seed = session.next_seed();
  again.package = session.package;
  again.settings = session.settings;
  again.manifest = session.manifest;
  Json unread;
  if (auto built = build(again, unread); !built)
    return built.error().blame == Error::Blame::work
               ? skipped("can't be built with AddressSanitizer here: " + built.error().message)
               : Result<Passed>(built.error());
  session.progress("AddressSanitizer");
  auto attempt = Attempt::start(again, Weights::task);
  if (!attempt && attempt.error().code == error_code::no_sanitizer) return skipped(attempt.error().message);
  if (!attempt) return std::move(attempt).error();
  STITCH_CHECK(attempt->ask(session.trials[0], {.poison = session.next_seed()}));
  evidence["address_sanitizer"] = "no errors";
  return Passed{"AddressSanitizer found nothing; the emulated GPU checks accesses besides"};
}

}  // namespace

Result<Passed> sanitizer(Session& session, Json& evidence) {
  if (!session.options.sanitizer) return skipped("not asked for");
  session.attempt.reset();  // its memory is others' from here on
  if (session.python) return skipped("PyTorch's own kernels would be checked too");
  if (session.trials.empty()) return skipped("no trial to repeat");
  if (session.options.device == runner::Device::emulated) return with_address_sanitizer(session, evidence);
  if (!find_program("compute-sanitizer")) return skipped("compute-sanitizer is not on the PATH");
  if (!sandbox::can_confine_tools())
    return skipped("not run: the candidate would be outside the walls (" +
                   sandbox::why_tools_are_not_confined() + ")");
  if (!works_confined())
    return skipped("not run: compute-sanitizer doesn't work behind the walls, and nothing runs without them");
  for (std::string_view tool : tools) STITCH_CHECK(run_tool(session, tool, evidence));
  return Passed{"memcheck, racecheck and initcheck found nothing"};
}

}  // namespace stitch::verifier
