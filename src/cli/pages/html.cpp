#include "cli/pages/html.h"

#include <algorithm>

#include "base/format.h"

namespace stitch {

// Made from page/*.css by cmake/embed.cmake.
extern const std::string_view embedded_base_css, embedded_report_css;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<HtmlCell>>& rows) {
  auto has_content = [&](size_t column) {
    return rows.empty() || std::ranges::any_of(rows, [&](const auto& row) {
             return column < row.size() && !row[column].text.empty();
           });
  };
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (size_t i = 0; i < header.size(); ++i) {
    if (!has_content(i)) continue;
    bool number = !rows.empty() && i < rows[0].size() && rows[0][i].look == "n";
    out += format("<th class=\"{}\">{}</th>", number ? "n" : "", escaped(header[i]));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      if (!has_content(i)) continue;
      out += format("<td class=\"{}\" data-column=\"{}\">{}</td>", row[i].look,
                    i < header.size() ? escaped(header[i]) : "",
                    row[i].link.empty()
                        ? escaped(row[i].text)
                        : format("<a href=\"{}\">{}</a>", escaped(row[i].link), escaped(row[i].text)));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<div class=\"facts\">";
  for (const auto& [value, what] : facts)
    out += format("<div><b>{}</b><span>{}</span></div>", escaped(value), escaped(what));
  return out + "</div>\n";
}

std::string html_page(std::string_view title, std::string_view body, std::string_view css) {
  return format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>{0}</title>\n<style>\n{1}\n{2}\n{4}\n</style></head><body>\n"
      "<h1>{0}</h1>\n{3}</body></html>\n",
      escaped(title), embedded_base_css, embedded_report_css, body, css);
}

}  // namespace stitch
