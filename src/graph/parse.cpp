#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "graph/text.h"

namespace stitch {

namespace {

// A cursor over one line of the text.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  Error wrong(std::string message) const {
    return at(format("line {}, column {}", number_, next_ + 1), user_error("graph_text", std::move(message)));
  }
  void skip_spaces() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
  }
  bool done() {
    skip_spaces();
    return next_ == text_.size();
  }
  char peek() {
    skip_spaces();
    return next_ < text_.size() ? text_[next_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++next_;
    return true;
  }
  Result<void> expect(char c) {
    if (take(c)) return {};
    return wrong(format("expected '{}'", c));
  }
  // Letters, digits, '_' and '.'.
  std::string_view word() {
    skip_spaces();
    size_t begin = next_;
    while (next_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[next_])) ||
                                    text_[next_] == '_' || text_[next_] == '.'))
      ++next_;
    return text_.substr(begin, next_ - begin);
  }
  // What a number may be made of.
  std::string_view numeral() {
    skip_spaces();
    size_t begin = next_;
    while (next_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[next_])) ||
                                    text_[next_] == '-' || text_[next_] == '+' || text_[next_] == '.'))
      ++next_;
    return text_.substr(begin, next_ - begin);
  }
  Result<std::string> quoted() {
    skip_spaces();
    size_t end = next_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (peek() != '"' || end >= text_.size()) return wrong("expected a quoted string");
    auto out = unquote(text_.substr(next_, end + 1 - next_));
    if (!out) return wrong("this string has an unknown escape");
    next_ = end + 1;
    return *std::move(out);
  }
  Result<int64_t> integer() {
    if (auto value = parse_integer(numeral())) return *value;
    return wrong("expected an integer");
  }
  Result<std::vector<int64_t>> integers(char open, char close) {
    STITCH_CHECK(expect(open));
    std::vector<int64_t> out;
    if (take(close)) return out;
    do {
      STITCH_TRY(int64_t value, integer());
      out.push_back(value);
    } while (take(','));
    STITCH_CHECK(expect(close));
    return out;
  }

 private:
  std::string_view text_;
  int number_;
  size_t next_ = 0;
};

Result<TensorType> read_type(Line& line) {
  std::string_view word = line.word();
  auto dtype = parse_dtype(word);
  if (!dtype) return line.wrong(format("'{}' is no dtype", word));
  TensorType type{*dtype, {}, {}};
  STITCH_TRY(type.shape, line.integers('[', ']'));
  if (!shape_fits(type.shape))
    return line.wrong(format("the shape {} is not a usable one", text(type.shape)));
  if (line.peek() == '{') {
    STITCH_TRY(type.strides, line.integers('{', '}'));
    if (type.strides.size() != type.shape.size()) return line.wrong("strides are one for each dimension");
  }
  return type;
}

Result<std::string> read_name(Line& line) {
  STITCH_CHECK(line.expect('%'));
  if (line.peek() == '"') return line.quoted();
  std::string_view word = line.word();
  if (word.empty()) return line.wrong("expected a value's name");
  return std::string(word);
}

Result<AttributeValue> read_attribute(Line& line, const AttributeSpec& spec) {
  switch (kind_of(spec.value)) {
    case AttributeKind::flag: {
      std::string_view word = line.word();
      if (word != "true" && word != "false") return line.wrong("expected true or false");
      return AttributeValue(word == "true");
    }
    case AttributeKind::integer: {
      STITCH_TRY(int64_t value, line.integer());
      return AttributeValue(value);
    }
    case AttributeKind::number: {
      auto value = parse_number(line.numeral());
      if (!value) return line.wrong("expected a number");
      return AttributeValue(*value);
    }
    case AttributeKind::text: {
      STITCH_TRY(std::string value, line.quoted());
      return AttributeValue(std::move(value));
    }
    case AttributeKind::dtype: {
      std::string_view word = line.word();
      auto value = parse_dtype(word);
      if (!value) return line.wrong(format("'{}' is no dtype", word));
      return AttributeValue(*value);
    }
    case AttributeKind::integers: {
      STITCH_TRY(std::vector<int64_t> value, line.integers('[', ']'));
      return AttributeValue(std::move(value));
    }
    case AttributeKind::numbers: {
      STITCH_CHECK(line.expect('['));
      std::vector<double> out;
      if (line.take(']')) return AttributeValue(out);
      do {
        auto value = parse_number(line.numeral());
        if (!value) return line.wrong("expected a number");
        out.push_back(*value);
      } while (line.take(','));
      STITCH_CHECK(line.expect(']'));
      return AttributeValue(std::move(out));
    }
  }
  throw Bug("unknown attribute kind");
}

class Parser {
 public:
  Result<Graph> parse(std::string_view text) {
    // Checked first, or a truncated text would be reported as a bad word.
    if (!whole(text))
      return at(
          format("line {}", std::ranges::count(text, '\n') + 1),
          user_error("graph_text", "the text stops before 'end': it was cut off", "import the model again"));
    bool ended = false;
    int number = 0;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin);
      if (end == std::string_view::npos) end = text.size();
      Line line(text.substr(begin, end - begin), ++number);
      begin = end + 1;
      if (line.done()) continue;
      if (ended) return line.wrong("text after 'end'");
      STITCH_TRY(ended, read_line(line, number));
    }
    STITCH_CHECK(verify(graph_));
    return std::move(graph_);
  }

 private:
  static bool whole(std::string_view text) {
    size_t last = text.find_last_not_of(" \n");
    if (last == std::string_view::npos) return false;
    text = text.substr(0, last + 1);
    return text == "end" || text.ends_with("\nend");
  }

  // True at 'end'.
  Result<bool> read_line(Line& line, int number) {
    if (line.peek() == '%') {
      STITCH_CHECK(read_node(line));
      return false;
    }
    std::string keyword(line.word());
    if (number == 1 && keyword != "graph") return line.wrong("a graph's text begins with: graph \"name\"");
    if (keyword == "graph") {
      if (number != 1) return line.wrong("a second graph");
      STITCH_TRY(graph_.name, line.quoted());
    } else if (keyword == "output") {
      STITCH_TRY(ValueId id, read_reference(line));
      graph_.outputs.push_back(id);
    } else if (keyword == "update") {
      STITCH_TRY(ValueId target, read_reference(line));
      STITCH_CHECK(line.expect('='));
      STITCH_TRY(ValueId value, read_reference(line));
      graph_.updates.push_back({target, value});
    } else if (keyword == "end") {
      if (!line.done()) return line.wrong("more than is understood");
      return true;
    } else {
      STITCH_CHECK(read_leaf(line, keyword));
    }
    if (!line.done()) return line.wrong("more than is understood");
    return false;
  }

  Result<void> read_leaf(Line& line, const std::string& keyword) {
    constexpr std::array roles = {Role::input, Role::parameter, Role::buffer, Role::constant, Role::seed};
    auto role = std::ranges::find(roles, keyword, [](Role r) { return name(r); });
    if (role == roles.end()) return line.wrong(format("'{}' begins no line of a graph", keyword));
    STITCH_TRY(std::string own, read_new_name(line));
    STITCH_CHECK(line.expect(':'));
    STITCH_TRY(TensorType type, read_type(line));
    std::string data;
    bool has_data = *role != Role::input && *role != Role::seed;
    if (has_data) data = own;
    if (line.take('=')) {
      if (!has_data) return line.wrong(format("a {} has no data", keyword));
      STITCH_TRY(data, line.quoted());
    }
    graph_.add_leaf(*role, own, std::move(type), std::move(data));
    return {};
  }

  Result<void> read_node(Line& line) {
    std::vector<std::string> names;
    do {
      STITCH_TRY(std::string own, read_new_name(line));
      if (std::ranges::find(names, own) != names.end()) return line.wrong(format("%{} is named twice", own));
      names.push_back(std::move(own));
    } while (line.take(','));
    STITCH_CHECK(line.expect('='));
    std::string op_name(line.word());
    const OpInfo* entry = find_op(op_name);
    if (!entry) return line.wrong(unknown_op(op_name));
    Node node{entry->op, {}, {}, {}, {}, {}};
    STITCH_CHECK(line.expect('('));
    if (!line.take(')')) {
      do {
        STITCH_TRY(ValueId id, read_operand(line));
        node.operands.push_back(id);
      } while (line.take(','));
      STITCH_CHECK(line.expect(')'));
    }
    if (!entry->variadic() && node.operands.size() < entry->operands.size())
      node.operands.resize(entry->operands.size(), ValueId::none);
    STITCH_CHECK(read_attributes(line, *entry, node));
    std::vector<TensorType> types;
    do {
      STITCH_TRY(TensorType type, read_type(line));
      types.push_back(std::move(type));
    } while (line.take(','));
    if (types.size() != names.size())
      return line.wrong(format("{} names and {} types", names.size(), types.size()));
    if (line.take('@')) {
      STITCH_TRY(node.where, line.quoted());
      if (line.peek() == '"') {
        STITCH_TRY(node.module, line.quoted());
      }
    }
    if (!line.done()) return line.wrong("more than is understood");
    for (size_t i = 0; i < names.size(); ++i)
      node.results.push_back(graph_.add_leaf(Role::result, names[i], std::move(types[i])));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> read_attributes(Line& line, const OpInfo& entry, Node& node) {
    Attributes given;
    while (!line.take(':')) {
      std::string key(line.word());
      auto spec = std::ranges::find(entry.attributes, key, &AttributeSpec::name);
      if (key.empty()) return line.wrong("expected an attribute or ':'");
      if (spec == entry.attributes.end())
        return line.wrong(format("{} has no attribute '{}'", entry.name, key));
      if (given.find(key)) return line.wrong(format("the attribute '{}' is there twice", key));
      STITCH_CHECK(line.expect('='));
      STITCH_TRY(AttributeValue value, read_attribute(line, *spec));
      given.set(key, std::move(value));
    }
    auto all = complete(entry, given);
    if (!all) return line.wrong(all.error().message);
    node.attributes = *std::move(all);
    return {};
  }

  Result<std::string> read_new_name(Line& line) {
    STITCH_TRY(std::string own, read_name(line));
    if (graph_.find(own) != ValueId::none) return line.wrong(format("%{} is there already", own));
    return own;
  }

  Result<ValueId> read_reference(Line& line) {
    STITCH_TRY(std::string own, read_name(line));
    ValueId id = graph_.find(own);
    if (id == ValueId::none)
      return line.wrong(format("%{} is not known here: it is never computed, or only later (a cycle)", own));
    return id;
  }

  Result<ValueId> read_operand(Line& line) {
    if (line.peek() == '%') return read_reference(line);
    if (line.word() == "none") return ValueId::none;
    return line.wrong("expected a value or none");
  }

  static std::string unknown_op(const std::string& op_name) {
    std::vector<std::string> names;
    for (const OpInfo& entry : all_ops()) names.emplace_back(entry.name);
    auto near = nearest(op_name, names);
    return near ? format("'{}' is no op; did you mean '{}'?", op_name, *near)
                : format("'{}' is no op", op_name);
  }

  Graph graph_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) { return Parser().parse(text); }

}  // namespace stitch
