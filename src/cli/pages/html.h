// Pages of text, tables and drawings: one file each, nothing fetched.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stitch {

std::string escaped(std::string_view text);

struct HtmlCell {
  std::string text;
  std::string_view look = "";  // n (a number), text (a name that may wrap), long, good, bad, warning
  std::string link = {};       // an address; empty: none
};

// Header, then rows. Columns are right-aligned where their cells look "n", and left out where all cells are
// empty.
std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<HtmlCell>>& rows);
// Boxes with a figure and what it is.
std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts);
// `css`: of this page alone.
std::string html_page(std::string_view title, std::string_view body, std::string_view css = "");

}  // namespace stitch
