#include "code/model_lines.h"

#include <algorithm>

#include "base/text.h"

namespace stitch::code {

namespace {

constexpr size_t longest_code = 80;

// "resnet18.py:83, in forward: x = self.conv1(x)" without the function's name, and without a folder.
std::string as_comment(const std::string& where) {
  const size_t function = where.find(", in "), code = where.find(": ", function);
  std::string place = where.substr(0, function);
  place.erase(0, place.rfind('/') + 1);
  if (function == std::string::npos || code == std::string::npos) return place;
  std::string text = where.substr(code + 2);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  text = text.substr(0, text.find("  #"));  // the model's own comment
  // A backslash at its end would continue the comment.
  while (!text.empty() && (text.back() == '\\' || text.back() == ' ')) text.pop_back();
  if (text.size() > longest_code) {
    size_t end = longest_code;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;  // don't cut a UTF-8 character
    text = text.substr(0, end) + "…";
  }
  return place + ": " + text;
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

std::string few(const std::vector<std::string>& list) {
  constexpr size_t most = 4;
  if (list.size() <= most) return join(list, ", ");
  return join(std::vector(list.begin(), list.begin() + most), ", ") +
         format(" and {} more", list.size() - most);
}

}  // namespace

std::vector<std::string> model_lines(const Graph& graph, const plan::Region& region) {
  std::vector<std::string> out;
  for (int32_t n : region.nodes) add_once(out, as_comment(graph.node(n).where));
  return out;
}

std::string model_line(const Graph& graph, const plan::Region& region) {
  const std::vector<std::string> lines = model_lines(graph, region);
  if (lines.size() < 2) return join(lines, "");
  return format("{} (and {} more line{})", lines[0], lines.size() - 1, lines.size() > 2 ? "s" : "");
}

std::string model_words(const Graph& graph, const plan::Region& region) {
  std::vector<std::string> modules, ops;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    add_once(modules, node.module);
    ops.emplace_back(info(node.op).name);
  }
  const std::string computes = few(ops);
  return modules.empty() ? computes : format("{} ({})", few(modules), computes);
}

}  // namespace stitch::code
