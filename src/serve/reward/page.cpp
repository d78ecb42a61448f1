#include "serve/reward/page.h"

#include "base/json.h"

namespace stitch {
// Made from page.* and the pages' common sheet by cmake/embed.cmake.
extern const std::string_view embedded_service_html, embedded_service_css, embedded_service_js,
    embedded_service_base_css;
}  // namespace stitch

namespace stitch::serve {

namespace {

void fill(std::string& page, std::string_view place, std::string_view text) {
  const size_t at = page.find(place);
  if (at != std::string::npos) page.replace(at, place.size(), text);
}

}  // namespace

std::string service_page(const Json& status) {
  std::string page(embedded_service_html);
  fill(page, "{{css}}", std::string(embedded_service_base_css) + '\n' + std::string(embedded_service_css));
  fill(page, "{{js}}", embedded_service_js);
  // No text of others ends the element: < is written as JSON's escape.
  std::string data;
  for (char c : line_text(status)) data += c == '<' ? "\\u003c" : std::string(1, c);
  fill(page, "{{status}}", data);
  return page;
}

}  // namespace stitch::serve
