#include "mutants/mutation.h"

#include <algorithm>

#include "base/text.h"
#include "mutants/marked_source.h"

namespace stitch::mutants {

std::string_view name(Kind kind) {
  constexpr std::array<std::string_view, all_kinds.size()> names = {
      "constant", "index", "bound",       "epsilon", "arithmetic", "barrier", "axis",
      "tile",     "tail",  "accumulator", "stride",  "term",       "state"};
  return names[static_cast<size_t>(kind)];
}

std::vector<Mutation> mutations_of(std::string_view source) {
  MarkedSource marked(source);
  add_number_rules(marked);
  add_loop_rules(marked);
  add_arithmetic_rules(marked);
  add_thread_rules(marked);
  add_state_rules(marked);
  return marked.take();
}

std::string applied(std::string_view source, const Mutation& mutation) {
  std::string out;
  // Restart line numbers, so that messages and debug information are unchanged.
  if (!mutation.include.empty()) out = "#include <" + mutation.include + ">\n#line 1\n";
  out += source.substr(0, mutation.begin);
  out += mutation.text;
  return out += source.substr(mutation.end);
}

Change change_of(std::string_view source, const Mutation& mutation) {
  size_t begin = source.rfind('\n', mutation.begin);
  begin = begin == source.npos ? 0 : begin + 1;
  const size_t end = std::min(source.find('\n', mutation.end), source.size());
  std::string after(source.substr(begin, mutation.begin - begin));
  after += mutation.text;
  after += source.substr(mutation.end, end - mutation.end);
  auto in_one_line = [](std::string_view text) {
    std::string out;
    for (char c : text) {
      const char kept = c == '\n' || c == '\t' ? ' ' : c;
      if (kept != ' ' || (!out.empty() && out.back() != ' ')) out += kept;
    }
    return trim(out);
  };
  return {in_one_line(source.substr(begin, end - begin)), in_one_line(after)};
}

}  // namespace stitch::mutants
