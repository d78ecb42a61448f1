#include "agents/record/shipped_before.h"

#include <algorithm>

#include "base/digest/sha256.h"
#include "base/machine/machine_memory.h"
#include "base/text.h"

namespace stitch::agents {

namespace {

// Sources, headers, a page, objects of compilers.
constexpr int64_t least_space = int64_t{64} << 20;

std::string fact(const ProgramFacts& facts, const char* name) {
  auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

bool comparable(const ProgramFacts& a, const ProgramFacts& b) {
  return std::ranges::all_of(
      std::initializer_list<const char*>{"task", "class", "mode", "numerics", "times", "gpu"},
      [&](const char* name) { return fact(a, name) == fact(b, name); });
}

}  // namespace

ProgramFacts facts_of(const OptimizeOptions& options, bool judged_fully) {
  auto source = sha256_of_file(options.model);
  const bool measured = options.device == runner::Device::cuda && options.timing;
  return {{"task", source ? *source : ""},
          {"class", options.task.model_class},
          {"mode", std::string(name(options.task.mode))},
          {"numerics", std::string(name(options.numerics))},
          {"times", measured ? "measured" : "estimated"},
          {"gpu", options.gpu.name},
          {"judged", judged_fully ? "fully" : "quickly"}};
}

std::string why_better(const ProgramFacts& there, const ProgramFacts& fresh) {
  if (!comparable(there, fresh)) return "";
  const std::string before = fact(there, "judged"), now = fact(fresh, "judged");
  if (before == "fully" && now == "quickly") return "it passed every gate, this one only the quick ones";
  auto old_seconds = parse_number(fact(there, "seconds")), seconds = parse_number(fact(fresh, "seconds"));
  // Measured times of one program differ that much from run to run.
  const double noise = fact(fresh, "times") == "measured" ? 0.02 : 1e-9;
  if (before != now || !old_seconds || !seconds || *old_seconds >= (1 - noise) * *seconds) return "";
  return format("it takes {} per call, this one {} ({})", seconds_text(*old_seconds), seconds_text(*seconds),
                fact(fresh, "times"));
}

Result<void> check_place(const OptimizeOptions& options) {
  STITCH_CHECK(OutputFolder::check(options.out, options.overwrite));
  for (const fs::path& place : {options.out, fs::temp_directory_path()})
    STITCH_CHECK(check_free_space(place, least_space));
  if (options.overwrite == Overwrite::force) return {};
  auto there = read_record(options.out);
  if (!there) return {};
  if (std::string why = why_better(there->facts, facts_of(options, !options.quick)); !why.empty())
    return at(options.out.string(), user_error("exists", "the program there is better: " + why,
                                               "leave --quick out, name another folder, or add --force"));
  return {};
}

}  // namespace stitch::agents
