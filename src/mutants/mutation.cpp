#include "mutants/mutation.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

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

namespace {

constexpr size_t nowhere = static_cast<size_t>(-1);

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool closes(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

}  // namespace

MarkedSource::MarkedSource(std::string_view source)
    : source_(source), lexed_(rubric::lex(source, rubric::Language::cuda)), tokens_(lexed_.tokens) {
  partner_.resize(size());
  enclosing_.assign(size(), nowhere);
  std::vector<size_t> open;
  for (size_t i = 0; i < size(); ++i) {
    partner_[i] = i;
    const bool punctuation = kind(i) == rubric::Token::punctuation;
    if (punctuation && closes(text(i)) && !open.empty()) {
      partner_[i] = open.back();
      partner_[open.back()] = i;
      open.pop_back();
    }
    enclosing_[i] = open.empty() ? nowhere : open.back();
    if (punctuation && opens(text(i))) open.push_back(i);
  }
}

std::optional<size_t> MarkedSource::enclosing(size_t i) const {
  return enclosing_[i] == nowhere ? std::nullopt : std::optional(enclosing_[i]);
}

bool MarkedSource::in_body(size_t i) const {
  for (auto at = enclosing(i); at; at = enclosing(*at))
    if (is(*at, "{")) {
      // namespace x { and extern "C" { hold declarations.
      size_t before = *at;
      while (before > 0 && (is(before - 1, "::") || (is_word(before - 1) && !is(before - 1, "namespace"))))
        --before;
      const bool declares =
          before > 0 && (is(before - 1, "namespace") || kind(before - 1) == rubric::Token::string);
      if (!declares) return true;
    }
  return false;
}

std::optional<size_t> MarkedSource::head_of(size_t i, std::string_view keyword) const {
  auto at = enclosing(i);
  return at && is(*at, "(") && *at > 0 && is(*at - 1, keyword) ? at : std::nullopt;
}

bool MarkedSource::is_binary(size_t i) const {
  const auto blank = [&](size_t place) {
    return place < source_.size() && (source_[place] == ' ' || source_[place] == '\n');
  };
  return begin(i) > 0 && blank(begin(i) - 1) && blank(end(i));
}

std::optional<MarkedSource::Statement> MarkedSource::statement_of(size_t i) const {
  // Brackets belong to the statement around them: MACRO(call());
  for (auto bracket = enclosing(i); bracket && !is(*bracket, "{"); bracket = enclosing(i)) {
    if (!is(*bracket, "(") || (*bracket > 0 && is(*bracket - 1, "for"))) return std::nullopt;
    i = *bracket;
  }
  size_t first = i, last = i;
  for (size_t before; first > 0; first = before) {
    before = first - 1;
    if (is(before, ")") || is(before, "]")) before = partner(before);
    if (enclosing_[before] != enclosing_[i] || is(before, ";") || is(before, "}") || is(before, "{") ||
        kind(before) == rubric::Token::pragma)
      break;
  }
  // `else f();` and `if (…) f();`: skips to the call.
  for (bool moved = true; moved && first < i;) {
    moved = true;
    if (is(first, "else"))
      ++first;
    else if ((is(first, "if") || is(first, "for") || is(first, "while")) && is(first + 1, "("))
      first = partner(first + 1) + 1;
    else
      moved = false;
  }
  while (last < size() && !is(last, ";")) {
    if (opens(text(last)) && partner(last) > last) last = partner(last);
    ++last;
    if (last < size() && closes(text(last))) return std::nullopt;
  }
  if (first > i || last >= size()) return std::nullopt;
  return Statement{first, last};
}

void MarkedSource::add(Kind of, size_t first, size_t last, std::string new_text, std::string include) {
  Mutation made{of, begin(first), end(last), std::move(new_text), line(first), std::move(include)};
  const bool known = std::ranges::any_of(found_, [&](const Mutation& other) {
    return other.begin == made.begin && other.end == made.end && other.text == made.text;
  });
  if (!known && source_.substr(made.begin, made.end - made.begin) != made.text)
    found_.push_back(std::move(made));
}

std::vector<Mutation> MarkedSource::take() {
  std::ranges::stable_sort(found_, {}, &Mutation::begin);
  return std::move(found_);
}

}  // namespace stitch::mutants
