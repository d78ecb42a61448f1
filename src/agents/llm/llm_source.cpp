#include "agents/llm/llm_source.h"

#include <charconv>

#include "base/text.h"
#include "code/write_program.h"

namespace stitch::agents {

plan::Source source_from(const RegionBrief& brief, std::string text, std::string author) {
  plan::Source out{.function = brief.function, .text = std::move(text), .author = std::move(author)};
  constexpr std::string_view mark = "// workspace:";
  for (const std::string& line : split(out.text, '\n')) {
    const std::string trimmed = trim(line);
    if (!trimmed.starts_with(mark)) continue;
    const std::string number = trim(std::string_view(trimmed).substr(mark.size()));
    std::from_chars(number.data(), number.data() + number.size(), out.workspace_bytes);
    break;
  }
  return out;
}

Result<Draft> draft_of(const Situation& now, const Proposal& step, plan::Plan plan, std::string author) {
  STITCH_TRY(PackageContents contents, code::write_program(now.context, plan));
  if (!step.settings.empty()) code::set_values(contents, step.settings);
  return Draft{std::move(plan), std::move(contents), std::move(author)};
}

llm::AskOptions ask_options(const Situation& now) {
  llm::AskOptions out;
  out.should_stop = now.should_stop;
  out.deadline = llm::Clock::now() + std::chrono::duration_cast<llm::Clock::duration>(
                                         std::chrono::duration<double>(std::max(now.seconds_left, 0.0)));
  return out;
}

}  // namespace stitch::agents
