#include "prompts/template.h"

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace stitch::prompts {

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
  });
}

// `on_text` for what stands between names, `on_name` for them.
Result<void> walk(std::string_view text, const std::function<void(std::string_view)>& on_text,
                  const std::function<Result<void>(std::string_view)>& on_name) {
  size_t done = 0;
  for (size_t open; (open = text.find("{{", done)) != std::string_view::npos;) {
    const size_t close = text.find("}}", open);
    const std::string_view name =
        close == std::string_view::npos ? std::string_view() : text.substr(open + 2, close - open - 2);
    if (!is_name(name)) {
      const auto line = std::ranges::count(text.substr(0, open), '\n') + 1;
      return user_error("template", format("line {}: {{{{ without a name and }}}} behind it", line),
                        "write {{name}}, in lower case with underscores");
    }
    on_text(text.substr(done, open - done));
    STITCH_CHECK(on_name(name));
    done = close + 2;
  }
  on_text(text.substr(done));
  return {};
}

// A value may hold the mark that ends its block; a zero-width change would be invisible, this one isn't.
std::string guarded(std::string_view value) {
  static constexpr std::string_view ends = "</material", begins = "<material";
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    auto is = [&](std::string_view mark) {
      return value.size() - i >= mark.size() &&
             std::ranges::equal(value.substr(i, mark.size()), mark, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
             });
    };
    out += is(ends) || is(begins) ? "&lt;" : std::string(1, value[i]);
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> names_in(std::string_view text) {
  std::vector<std::string> names;
  STITCH_CHECK(walk(
      text, [](std::string_view) {},
      [&](std::string_view name) -> Result<void> {
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        return {};
      }));
  return names;
}

Result<std::string> fill(std::string_view text, const Values& values) {
  std::string out;
  STITCH_CHECK(walk(
      text, [&](std::string_view plain) { out += plain; },
      [&](std::string_view name) -> Result<void> {
        auto value = values.find(name);
        if (value == values.end()) return user_error("template", format("no value for {{{{{}}}}}", name));
        out += guarded(value->second);
        return {};
      }));
  return out;
}

}  // namespace stitch::prompts
