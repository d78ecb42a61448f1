#include "code/family/unify.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/family/tokens.h"
#include "program/package.h"

namespace stitch::code {

namespace {

using Tokens = std::vector<Token>;

bool opens(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool closes(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }

// What kernels ask a type for, "Layer::images", has to be known when they are compiled: by header, the names
// behind each of its templates' types.
using KnownNames = std::map<std::string, std::set<std::string>, std::less<>>;
KnownNames known_names_in(const std::string& header) {
  KnownNames out;
  const auto files = find_program_files();
  const auto text = files ? read_file(*files / "include" / header) : files.error();
  if (!text) return out;
  const Tokens tokens = tokens_of(*text);
  std::set<std::string_view> types;
  for (size_t i = 0; i + 1 < tokens.size(); ++i)
    if (tokens[i].is("class") && tokens[i + 1].kind == Token::word) types.insert(tokens[i + 1].text);
  for (size_t i = 0; i + 2 < tokens.size(); ++i)
    if (types.contains(tokens[i].text) && tokens[i + 1].is("::"))
      out[std::string(tokens[i].text)].emplace(tokens[i + 2].text);
  return out;
}
const KnownNames& known_names(const std::string& header) {
  static std::mutex mutex;
  static std::map<std::string, KnownNames> all;
  std::lock_guard lock(mutex);
  auto known = all.find(header);
  if (known == all.end()) known = all.emplace(header, known_names_in(header)).first;
  return known->second;
}

// What braces or parentheses hold.
struct Scope {
  enum Kind : uint8_t { file, space, structure, function, other } kind = file;
  size_t begin = 0, end = 0;  // the braces
  size_t head = 0;            // the first token of what is in front of them
  std::string name;
  size_t outer = 0;  // the scope around it
};

struct Structure {
  size_t scope = 0;
  bool has_base = false;
  std::vector<std::pair<size_t, size_t>> members;  // statements with static constexpr numbers
  std::optional<size_t> last_field;                // the ';' of its last field that is no static
  std::set<std::string> varying;                   // its members and functions that need the sizes
};

class Unifier {
 public:
  Unifier(const SizeTable& table, std::span<const std::string> texts) : table_(table), texts_(texts) {}

  Result<std::string> unify() {
    for (const std::string& text : texts_) all_.push_back(tokens_of(text));
    edits_.resize(first().size());
    STITCH_CHECK(compare());
    find_scopes();
    STITCH_CHECK(place_numbers());
    STITCH_CHECK(change_structures());
    pass_sizes();
    return print();
  }

 private:
  struct Edit {
    std::optional<std::string> text;  // instead of the token's
    std::string before, after;
    bool dropped = false;
  };

  const Tokens& first() const { return all_[0]; }
  const Token& token(size_t i) const { return first()[i]; }
  size_t count() const { return first().size(); }

  std::string line_at(size_t text, size_t token) const {
    const std::string& whole = texts_[text];
    const Token& shown = all_[text][std::min(token, all_[text].size() - 1)];
    const auto at = static_cast<size_t>(shown.space.data() + shown.space.size() - whole.data());
    const size_t newline = at == 0 ? std::string::npos : whole.rfind('\n', at - 1);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return shorten(trim(whole.substr(begin, std::min(whole.find('\n', begin), whole.size()) - begin)), 120);
  }

  Error differs(size_t other, size_t token, const std::string& why) const {
    return user_error("sizes", format("{}: `{}` at some sizes, `{}` at others", why, line_at(0, token),
                                      line_at(other, token)));
  }

  // The row whose token differs from the first's.
  size_t other_row(size_t i) const {
    for (size_t row = 1; row < all_.size(); ++row)
      if (all_[row][i].text != token(i).text) return row;
    return 0;
  }

  // Large sizes are counted in 64 bits; then all are.
  static bool are_widths(const Token& a, const Token& b) {
    return (a.is("int") && b.is("int64_t")) || (a.is("int64_t") && b.is("int"));
  }

  Result<void> compare() {
    for (size_t row = 1; row < all_.size(); ++row) {
      const Tokens& other = all_[row];
      for (size_t i = 0; i < std::min(count(), other.size()); ++i) {
        const Token &a = token(i), &b = other[i];
        const bool alike = a.kind == b.kind && (a.text == b.text || a.kind == Token::number ||
                                                a.kind == Token::comment || are_widths(a, b));
        if (!alike) return differs(row, i, "the code has another form");
      }
      if (count() != other.size())
        return differs(row, std::min(count(), other.size()) - 1, "the code has another form");
    }
    for (size_t i = 0; i < count(); ++i) {
      if (other_row(i) == 0) continue;
      if (token(i).kind == Token::comment) {
        edits_[i].text = comment_at(i);
        continue;
      }
      if (token(i).kind == Token::word) {
        edits_[i].text = "int64_t";
        continue;
      }
      auto formula = number_at(i);
      if (!formula) return differs(other_row(i), i, "a number is no formula of the sizes");
      edits_[i].text = std::move(*formula);
      varied_.push_back(i);
    }
    return {};
  }

  // The formula of a whole number, or of one that is written as a float.
  std::optional<std::string> number_at(size_t i) const {
    std::vector<int64_t> values;
    std::vector<double> floats;
    bool single = false;
    for (const Tokens& each : all_) {
      const std::string text(each[i].text);
      if (const auto value = parse_integer(text)) values.push_back(*value);
      char* end = nullptr;
      floats.push_back(std::strtod(text.c_str(), &end));
      single = *end == 'f';
      if (*end != '\0' && !single) return std::nullopt;
    }
    if (values.size() == all_.size()) return table_.formula(values, "sizes.");
    auto rounded = [&](double value) {
      return single ? static_cast<double>(static_cast<float>(value)) : value;
    };
    const char* type = single ? "float" : "double";
    const char* one = single ? "1.0f" : "1.0";
    for (const bool inverse : {false, true}) {
      values.clear();
      for (double value : floats) {
        const double whole = std::round(inverse ? 1 / value : value);
        if (std::abs(whole) < 9e15 && rounded(inverse ? 1 / whole : whole) == rounded(value))
          values.push_back(static_cast<int64_t>(whole));
      }
      if (values.size() != floats.size()) continue;
      if (auto formula = table_.formula(values, "sizes."))
        return inverse ? format("{} / static_cast<{}>({})", one, type, *formula)
                       : format("static_cast<{}>({})", type, *formula);
    }
    if (const auto ratio = single ? std::nullopt : table_.ratio(floats, "sizes."))
      return format("static_cast<double>({}) / static_cast<double>({})", ratio->above, ratio->below);
    return std::nullopt;
  }

  // A comment with formulas for its numbers; where it is another sentence, the first's.
  std::string comment_at(size_t i) const {
    struct Piece {
      std::string text;
      bool number;
    };
    auto pieces_of = [](std::string_view text) {
      std::vector<Piece> out;
      for (char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (out.empty() || out.back().number != digit) out.push_back({{}, digit});
        out.back().text += c;
      }
      return out;
    };
    std::vector<std::vector<Piece>> pieces;
    for (const Tokens& each : all_) pieces.push_back(pieces_of(each[i].text));
    std::string out;
    for (size_t p = 0; p < pieces[0].size(); ++p) {
      std::vector<int64_t> values;
      for (const auto& each : pieces) {
        if (each.size() != pieces[0].size() || each[p].number != pieces[0][p].number ||
            (!each[p].number && each[p].text != pieces[0][p].text))
          return std::string(token(i).text);
        if (each[p].number) values.push_back(parse_integer(each[p].text).value_or(0));
      }
      const auto formula = values.empty() ? std::nullopt : table_.formula(values, "");
      out += formula ? *formula : pieces[0][p].text;
    }
    return out;
  }

  size_t previous(size_t i) const {
    while (i > 0 && token(i - 1).kind == Token::comment) --i;
    return i > 0 ? i - 1 : 0;
  }
  size_t following(size_t i) const {
    ++i;
    while (i + 1 < count() && token(i).kind == Token::comment) ++i;
    return i;
  }

  size_t closing(size_t open) const {
    size_t depth = 0;
    for (size_t i = open; i < count(); ++i) {
      if (opens(token(i))) ++depth;
      if (closes(token(i)) && --depth == 0) return i;
    }
    return count() - 1;
  }

  // The first token of a statement or declaration that `i` is in.
  size_t statement_begin(size_t i) const {
    size_t depth = 0;
    size_t begin = i;
    for (size_t at = i; at-- > 0;) {
      const Token& each = token(at);
      if (each.kind == Token::comment) continue;
      if (closes(each)) {
        if (each.is("}") && depth == 0) break;
        ++depth;
      } else if (opens(each)) {
        if (depth == 0) {
          if (each.is("{")) break;
        } else {
          --depth;
        }
      } else if (each.is(";") && depth == 0) {
        break;
      }
      begin = at;
    }
    return begin;
  }

  size_t statement_end(size_t i) const {
    for (size_t at = i; at < count(); ++at) {
      if (opens(token(at))) at = closing(at);
      if (token(at).is(";")) return at;
    }
    return count() - 1;
  }

  void find_scopes() {
    scopes_.push_back({.end = count()});
    scope_of_.resize(count());
    std::vector<size_t> open = {0};
    for (size_t i = 0; i < count(); ++i) {
      while (open.size() > 1 && i > scopes_[open.back()].end) open.pop_back();
      scope_of_[i] = open.back();
      if (!token(i).is("{")) continue;
      Scope scope{.begin = i, .end = closing(i), .head = statement_begin(i), .outer = open.back()};
      const Scope::Kind around = scopes_[open.back()].kind;
      const bool declares = around == Scope::file || around == Scope::space || around == Scope::structure;
      scope.kind = Scope::other;
      for (size_t h = scope.head; declares && h < i; ++h) {
        if (token(h).is("namespace")) scope.kind = Scope::space;
        if (token(h).is("struct") && scope.kind == Scope::other) {
          scope.kind = Scope::structure;
          scope.name = token(h + 1).text;
        }
        if (token(h).is("=")) break;
        if (token(h).is("(") && scope.kind == Scope::other) {
          scope.kind = Scope::function;
          scope.name = token(previous(h)).text;
        }
        if (token(h).is("__launch_bounds__")) h = closing(h + 1);
      }
      open.push_back(scopes_.size());
      scopes_.push_back(std::move(scope));
    }
  }

  // The innermost scope of a kind around a token.
  std::optional<size_t> around(size_t i, Scope::Kind kind) const {
    for (size_t scope = scope_of_[i];; scope = scopes_[scope].outer) {
      if (scopes_[scope].kind == kind) return scope;
      if (scope == 0) return std::nullopt;
    }
  }

  bool statement_has(size_t i, std::string_view word) const {
    for (size_t at = statement_begin(i); at < i; ++at)
      if (token(at).is(word)) return true;
    return false;
  }

  // Must a compiler know this number?
  bool must_be_known(size_t i) const {
    size_t depth = 0;
    for (size_t at = i; at-- > 0;) {
      const Token& each = token(at);
      if (closes(each)) ++depth;
      if (opens(each)) {
        if (depth > 0) {
          --depth;
          continue;
        }
        const Token& before = token(previous(at));
        if (each.is("(") &&
            (before.is("__launch_bounds__") || before.is("static_assert") || before.is("alignas")))
          return true;
        if (each.is("[") && before.kind == Token::word) {
          const Token& type = token(previous(previous(at)));
          if ((type.kind == Token::word && !type.is("return")) || type.is(">")) return true;
        }
        if (each.is("{")) break;
        continue;
      }
      if (depth > 0) continue;
      if (each.is(";") || each.is("#")) break;
      // A template's arguments stand close to its name, a comparison doesn't.
      if (each.is("<") && each.space.empty() && token(at - 1).kind == Token::word) {
        size_t inner = 0;
        bool closed = false;
        for (size_t between = at + 1; between < i && !closed; ++between) {
          if (opens(token(between))) ++inner;
          if (closes(token(between)) && inner > 0) --inner;
          closed = token(between).is(">") && inner == 0;
        }
        if (!closed) return true;
      }
    }
    if (token(previous(i)).is("case") || (i >= 2 && token(i - 1).is("unroll"))) return true;
    const bool in_function = around(i, Scope::function).has_value();
    return (in_function || !around(i, Scope::structure)) && statement_has(i, "constexpr");
  }

  Result<void> place_numbers() {
    for (size_t i : varied_) {
      auto& text = *edits_[i].text;
      if (must_be_known(i))
        return differs(other_row(i), i, "a size decides what has to be known to the compiler");
      const Token &before = token(previous(i)), &behind = token(following(i));
      auto is_one_of = [](const Token& each, std::initializer_list<std::string_view> marks) {
        return std::ranges::any_of(marks, [&](std::string_view mark) { return each.is(mark); });
      };
      const bool alone = is_one_of(before, {"(", ",", "=", "{", "[", "return", ";"}) &&
                         is_one_of(behind, {")", ",", ";", "}", "]"});
      if (!alone && text.find(' ') != std::string::npos) text = "(" + text + ")";
      const auto structure = around(i, Scope::structure);
      const auto function = around(i, Scope::function);
      if (structure && !declares_sizes(*structure))
        structures_[*structure].scope = *structure;
      else if (!structure && function && !takes_sizes(*function, i))
        return differs(other_row(i), i, "a size is needed before a run has one");
    }
    return {};
  }

  static bool is_enqueuing(std::string_view name) {
    return name.starts_with("enqueue_") || name.starts_with("prepare_");
  }

  // A function that has sizes where `i` stands.
  bool takes_sizes(size_t function, size_t i) const {
    const Scope& scope = scopes_[function];
    if (is_enqueuing(scope.name)) return true;
    return std::any_of(first().begin() + static_cast<int64_t>(scope.head),
                       first().begin() + static_cast<int64_t>(i),
                       [](const Token& each) { return each.is("Sizes"); });
  }
  bool declares_sizes(size_t structure) const {
    const Scope& scope = scopes_[structure];
    return std::any_of(first().begin() + static_cast<int64_t>(scope.begin),
                       first().begin() + static_cast<int64_t>(scope.end),
                       [](const Token& each) { return each.is("Sizes"); });
  }

  bool mentions(size_t begin, size_t end, const std::set<std::string>& names) const {
    for (size_t i = begin; i < end; ++i) {
      if (edits_[i].text && token(i).kind == Token::number) return true;
      if (token(i).kind == Token::word && names.contains(std::string(token(i).text)) && !token(i - 1).is("."))
        return true;
    }
    return false;
  }

  // The declarators of "static constexpr TYPE a = 1, b = 2;", each from its name to its ',' or ';'.
  std::vector<std::pair<size_t, size_t>> declarators(size_t begin, size_t end, size_t& type_end) const {
    std::vector<std::pair<size_t, size_t>> out;
    size_t equal = begin;
    while (equal < end && !token(equal).is("=")) ++equal;
    type_end = equal - 1;
    size_t name = type_end;
    for (size_t i = name; i <= end; ++i) {
      if (opens(token(i))) i = closing(i);
      if (token(i).is(",") || i == end) {
        out.emplace_back(name, i);
        name = i + 1;
      }
    }
    return out;
  }

  std::string printed(size_t begin, size_t end) const {
    std::string out;
    for (size_t i = begin; i < end; ++i)
      out += (i > begin ? std::string(token(i).space) : std::string()) +
             edits_[i].text.value_or(std::string(token(i).text));
    return out;
  }

  Result<void> change_structures() {
    for (auto& [number, structure] : structures_) STITCH_CHECK(change(structure));
    for (size_t i = 0; i < count(); ++i) make_with_sizes(i);
    return {};
  }

  Result<void> change(Structure& structure) {
    const Scope& scope = scopes_[structure.scope];
    for (size_t h = scope.head; h < scope.begin; ++h) structure.has_base |= token(h).is(":");
    // Statements at the structure's own level.
    struct Part {
      size_t begin, end;  // the end: ';' or the function's '}'
      std::optional<size_t> body;
    };
    std::vector<Part> functions, constants;
    for (size_t i = scope.begin + 1; i < scope.end;) {
      if (token(i).kind == Token::comment) {
        ++i;
        continue;
      }
      size_t end = i;
      std::optional<size_t> body;
      for (; end < scope.end && !token(end).is(";"); ++end)
        if (opens(token(end))) {
          const bool braces = token(end).is("{");
          if (braces) body = end;
          end = closing(end);
          if (braces && !token(following(end)).is(";") && !token(following(end)).is(",")) break;
        }
      bool is_static = false, is_constant = false, has_equal = false;
      for (size_t at = i; at < end && !token(at).is("("); ++at) {
        is_static |= token(at).is("static");
        is_constant |= token(at).is("constexpr");
        has_equal |= token(at).is("=");
      }
      if (body && token(end).is("}"))
        functions.push_back({i, end, body});
      else if (is_static && is_constant && has_equal)
        constants.push_back({i, end, {}});
      else if (!is_static && !token(i).is("using") && !token(i).is("template") && token(end).is(";"))
        structure.last_field = end;
      i = end + 1;
    }
    std::set<std::string> named = structure.varying;
    for (bool grew = true; grew;) {
      grew = false;
      for (const Part& part : constants) {
        size_t type_end = 0;
        for (auto [begin, end] : declarators(part.begin, part.end, type_end))
          if (mentions(begin + 1, end, named)) grew |= named.insert(std::string(token(begin).text)).second;
      }
      for (const Part& part : functions) {
        const std::string& name = scopes_[scope_of_[*part.body + 1]].name;
        if (mentions(*part.body, part.end, named) && name != scope.name) grew |= named.insert(name).second;
      }
    }
    structure.varying = named;
    for (const std::string& name : named)
      if (is_asked_of_type(scope.name, name))
        return differs(other_row(varied_in(scope.begin, scope.end)), varied_in(scope.begin, scope.end),
                       format("kernels have to know '{}' when they are compiled", name));
    // In their place, but behind the sizes that they are made from.
    std::string fields;
    for (const Part& part : constants) {
      STITCH_TRY(const std::string own, take_fields(part.begin, part.end, named));
      if (structure.last_field && part.begin < *structure.last_field)
        fields += own;
      else
        edits_[part.begin].before += own;
    }
    for (const Part& part : functions)
      if (named.contains(scopes_[scope_of_[*part.body + 1]].name))
        STITCH_CHECK(make_member(part.begin, *part.body));
    if (structure.last_field) {
      if (structure.has_base)
        return differs(1, scope.begin, "a struct with a base and fields takes no sizes");
      edits_[end_of_line(*structure.last_field)].after += "\n  Sizes sizes;" + fields;
      return {};
    }
    edits_[end_of_line(scope.begin)].after +=
        format("\n  Sizes sizes;\n  {}(const Sizes& of = {{}}) : sizes(of) {{}}", scope.name);
    return {};
  }

  // The comment behind a token, if it has one.
  size_t end_of_line(size_t at) const {
    const Token& next = token(at + 1);
    return next.kind == Token::comment && next.space.find('\n') == std::string_view::npos ? at + 1 : at;
  }

  // Takes what varies out of a declaration of constants: fields with the same initialisers.
  Result<std::string> take_fields(size_t begin, size_t end, const std::set<std::string>& named) {
    size_t type_end = 0;
    const auto each = declarators(begin, end, type_end);
    std::vector<std::string> constant, varying;
    for (auto [name, stop] : each)
      (mentions(name + 1, stop, named) ? varying : constant).push_back(printed(name, stop));
    if (varying.empty()) return std::string();
    std::string type;
    for (size_t i = begin; i < type_end; ++i)
      if (!token(i).is("static") && !token(i).is("constexpr"))
        type += (type.empty() ? "" : std::string(token(i).space)) + std::string(token(i).text);
    if (type == "auto" || type == "bool")
      return differs(other_row(varied_in(begin, end)), varied_in(begin, end),
                     "a size decides what has to be known to the compiler");
    for (size_t i = begin; i <= end; ++i) edits_[i].dropped = true;
    if (!constant.empty()) {
      edits_[begin].before =
          std::string(token(begin).space) + "static constexpr " + type + " " + join(constant, ", ") + ";";
    }
    return "\n  " + type + " " + join(varying, ", ") + ";";
  }

  // Structures are named for the types of the templates that take them: Conv1Layer.
  bool is_asked_of_type(const std::string& structure, const std::string& member) const {
    constexpr std::string_view include = "#include \"";
    for (size_t at = texts_[0].find(include); at != std::string::npos; at = texts_[0].find(include, at + 1)) {
      const size_t begin = at + include.size();
      const std::string header = texts_[0].substr(begin, texts_[0].find('"', begin) - begin);
      if (!header.starts_with("stitch/kernels/")) continue;
      for (const auto& [type, names] : known_names(header))
        if (structure.ends_with(type) && names.contains(member)) return true;
    }
    return false;
  }

  size_t varied_in(size_t begin, size_t end) const {
    for (size_t i : varied_)
      if (i >= begin && i <= end) return i;
    return begin;
  }

  // A static function becomes one of the object's.
  Result<void> make_member(size_t begin, size_t body) {
    bool was_static = false, is_const = false;
    for (size_t i = begin; i < body; ++i) {
      if (token(i).is("(")) {
        const size_t close = closing(i);
        const size_t second = token(close + 1).is("(") ? closing(close + 1) : close;  // operator()
        is_const = token(second + 1).is("const");
        if (was_static && !is_const) edits_[second].after += " const";
        break;
      }
      if (token(i).is("static")) {
        was_static = true;
        edits_[i].dropped = true;
      }
    }
    if (!was_static && !is_const)
      return differs(1, begin, "a function that changes its object takes no sizes");
    return {};
  }

  const Structure* structure_named(std::string_view name) const {
    for (const auto& [number, structure] : structures_)
      if (scopes_[structure.scope].name == name) return &structure;
    return nullptr;
  }

  // NAME{a, b} of a structure that takes sizes.
  void make_with_sizes(size_t i) {
    if (token(i).kind != Token::word || i == 0 || token(i - 1).is("struct")) return;
    if (!structure_named(token(i).text)) return;
    size_t open = i + 1;
    if (token(open).is("<"))
      while (open < count() && !token(open - 1).is(">")) ++open;
    if (!token(open).is("{")) return;
    const size_t close = closing(open);
    const auto function = around(i, Scope::function);
    // What is packed when the program is created depends on no size.
    const char* sizes = function && !takes_sizes(*function, i) ? "Sizes{}" : "sizes";
    edits_[close].before += close == open + 1 ? std::string(sizes) : format(", {}", sizes);
  }

  // enqueue_NAME(a, b, stream), and its declaration.
  void pass_sizes() {
    for (size_t i = 1; i + 1 < count(); ++i) {
      if (token(i).kind != Token::word || !is_enqueuing(token(i).text) || !token(i + 1).is("(") ||
          token(i - 1).is("::"))
        continue;
      const size_t close = closing(i + 1);
      // Of a variant's code, which is unified already.
      if (std::any_of(first().begin() + static_cast<int64_t>(i),
                      first().begin() + static_cast<int64_t>(close),
                      [](const Token& each) { return each.is("sizes"); }))
        continue;
      size_t last = close;
      for (size_t at = close; at > i + 1; --at) {
        if (closes(token(at - 1))) {
          size_t depth = 1;
          for (--at; depth > 0 && at > i + 1; --at) {
            if (closes(token(at - 1))) ++depth;
            if (opens(token(at - 1))) --depth;
          }
          ++at;
          continue;
        }
        if (token(at - 1).is(",") || at - 1 == i + 1) {
          last = at;
          break;
        }
      }
      while (token(last).kind == Token::comment) ++last;
      const bool declares = token(last).is("cudaStream_t");
      edits_[last].before += declares ? "const Sizes& sizes, " : "sizes, ";
    }
  }

  std::string print() const {
    std::string out;
    for (size_t i = 0; i < count(); ++i) {
      const Edit& edit = edits_[i];
      if (edit.dropped) {
        out += edit.before + edit.after;
        continue;
      }
      out += token(i).space;
      out += edit.before + edit.text.value_or(std::string(token(i).text)) + edit.after;
    }
    return out;
  }

  const SizeTable& table_;
  std::span<const std::string> texts_;
  std::vector<Tokens> all_;
  std::vector<Edit> edits_;
  std::vector<size_t> varied_;  // number tokens
  std::vector<Scope> scopes_;
  std::vector<size_t> scope_of_;            // by token
  std::map<size_t, Structure> structures_;  // by their scope
};

}  // namespace

Result<std::string> unify(const SizeTable& table, std::span<const std::string> texts) {
  return Unifier(table, texts).unify();
}

}  // namespace stitch::code
