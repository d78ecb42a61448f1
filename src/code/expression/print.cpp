#include "code/expression/statement.h"

#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "program/fold.h"

namespace stitch::code {

namespace {

using Kind = Expression::Kind;

constexpr size_t columns = generated_columns;

enum Precedence : int {
  of_conditional,
  of_or,
  of_and,
  of_bit_or,
  of_bit_xor,
  of_bit_and,
  of_equality,
  of_comparison,
  of_sum,
  of_product,
  of_unary,
  of_primary
};

struct Spelling {
  const char* text;
  Precedence precedence;
};
Spelling spelling_of(Operator op) {
  switch (op) {
    case Operator::negate: return {"-", of_unary};
    case Operator::logical_not: return {"!", of_unary};
    case Operator::bitwise_not: return {"~", of_unary};
    case Operator::multiply: return {"*", of_product};
    case Operator::divide: return {"/", of_product};
    case Operator::remainder: return {"%", of_product};
    case Operator::add: return {"+", of_sum};
    case Operator::subtract: return {"-", of_sum};
    case Operator::less: return {"<", of_comparison};
    case Operator::less_equal: return {"<=", of_comparison};
    case Operator::greater: return {">", of_comparison};
    case Operator::greater_equal: return {">=", of_comparison};
    case Operator::equal: return {"==", of_equality};
    case Operator::not_equal: return {"!=", of_equality};
    case Operator::bitwise_and: return {"&", of_bit_and};
    case Operator::bitwise_xor: return {"^", of_bit_xor};
    case Operator::bitwise_or: return {"|", of_bit_or};
    case Operator::logical_and: return {"&&", of_and};
    case Operator::logical_or: return {"||", of_or};
  }
  return {"", of_primary};
}

Precedence precedence_of(const Expression& x) {
  if (x->kind == Kind::conditional) return of_conditional;
  if (x->kind == Kind::unary || x->kind == Kind::binary) return spelling_of(x->op).precedence;
  const bool negative = (x->kind == Kind::integer && x->integer < 0) ||
                        (x->kind == Kind::number && (x->number < 0 || std::signbit(x->number)));
  return negative ? of_unary : of_primary;
}

std::string in_parentheses(const Expression& x, bool needed) {
  return needed ? "(" + text_of(x) + ")" : text_of(x);
}

// a / b * c, a && b || c and a < b == c are right without parentheses, but easily misread.
bool confusing(Operator outer, const Expression& left) {
  if (left->kind != Kind::binary) return false;
  const Precedence own = spelling_of(outer).precedence, inner = spelling_of(left->op).precedence;
  if (own == of_product && inner == of_product)
    return outer != Operator::multiply || left->op != Operator::multiply;
  if (own == of_or && inner == of_and) return true;
  if (own >= of_bit_or && own <= of_bit_and) return inner != own || outer != left->op;
  return own == of_equality && (inner == of_comparison || inner == of_equality);
}

bool left_in_parentheses(const Expression& x) {
  const Expression& left = x->operands[0];
  return precedence_of(left) < spelling_of(x->op).precedence || confusing(x->op, left);
}
bool right_in_parentheses(const Expression& x) {
  const Expression& right = x->operands[1];
  const bool negative = precedence_of(right) == of_unary;  // x - -1
  return !negative && (precedence_of(right) <= spelling_of(x->op).precedence || confusing(x->op, right));
}

std::string arguments_of(const Expression& x, size_t first) {
  std::string out;
  for (size_t i = first; i < x->operands.size(); ++i)
    out += (i > first ? ", " : "") + text_of(x->operands[i]);
  return out;
}

std::string primary(const Expression& x) { return in_parentheses(x, precedence_of(x) < of_primary); }

// Fills lines with pieces; later lines begin at `column`.
std::string filled(const std::vector<std::string>& pieces, size_t column, size_t start, size_t behind) {
  std::string out;
  size_t used = start;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t after = i + 1 == pieces.size() ? behind : 0;
    if (i > 0 && used + 1 + pieces[i].size() + after > columns) {
      out += "\n" + std::string(column, ' ');
      used = column;
    } else if (i > 0) {
      out += " ";
      ++used;
    }
    out += pieces[i];
    size_t line = pieces[i].rfind('\n');
    used = line == std::string::npos ? used + pieces[i].size() : pieces[i].size() - line - 1;
  }
  return out;
}

bool is_chain(Operator op) {
  return op == Operator::logical_and || op == Operator::logical_or || op == Operator::add ||
         op == Operator::subtract || op == Operator::multiply;
}

// Whether the text fits the columns with `behind` more after its last line.
bool fits(std::string_view text, size_t column, size_t behind) {
  for (size_t at = 0;; column = 0) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const bool last = end == text.size();
    if (column + end - at + (last ? behind : 0) > columns) return false;
    if (last) return true;
    at = end + 1;
  }
}

std::string folded(const Expression& x, size_t column, size_t behind);

std::string folded_in_parentheses(const Expression& x, bool needed, size_t column, size_t behind) {
  return needed ? "(" + folded(x, column + 1, behind + 1) + ")" : folded(x, column, behind);
}

// a + b + c as its parts, each with its operator; a part too long for a line is folded.
void add_parts(const Expression& x, Precedence precedence, size_t column, size_t behind,
               std::vector<std::string>& out) {
  const Expression &left = x->operands[0], &right = x->operands[1];
  if (left->kind == Kind::binary && spelling_of(left->op).precedence == precedence && is_chain(left->op))
    add_parts(left, precedence, column, 3, out);
  else
    out.push_back(folded_in_parentheses(left, left_in_parentheses(x), column, 3));
  out.back() += format(" {}", spelling_of(x->op).text);
  out.push_back(folded_in_parentheses(right, right_in_parentheses(x), column, behind));
}

// a ? x : b ? y : z in clang-format's layout, the question marks aligned:
//   a   ? x
//   : b ? y
//       : z
// or each value on its own line if there is no room.
std::string folded_conditional(const Expression& x, size_t column, size_t behind) {
  std::vector<std::pair<Expression, Expression>> choices;
  Expression rest = x;
  for (; rest->kind == Kind::conditional; rest = rest->operands[2])
    choices.emplace_back(rest->operands[0], rest->operands[1]);
  std::vector<std::string> conditions;
  size_t widest = 0;
  for (const auto& [condition, value] : choices) {
    conditions.push_back(in_parentheses(condition, precedence_of(condition) == of_conditional));
    widest = std::max(widest, conditions.back().size() + (conditions.size() > 1 ? 2 : 0));
  }
  auto value_at = [&](size_t i, size_t at) {
    const Expression& value = choices[i].second;
    return folded_in_parentheses(value, precedence_of(value) == of_conditional, at, 0);
  };
  const std::string margin = "\n" + std::string(column, ' ');
  if (choices.size() > 1) {
    std::string out;
    for (size_t i = 0; i < choices.size(); ++i) {
      const std::string head = (i > 0 ? ": " : "") + conditions[i];
      out += (i > 0 ? margin : "") + head + std::string(widest - head.size(), ' ') + " ? ";
      out += value_at(i, column + widest + 3);
    }
    out += margin + std::string(widest, ' ') + " : " + folded(rest, column + widest + 3, behind);
    if (fits(out, column, behind)) return out;
  }
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Expression& condition = choices[i].first;
    out += i > 0 ? margin + "    : " : "";
    out += folded_in_parentheses(condition, precedence_of(condition) == of_conditional,
                                 column + (i > 0 ? 6 : 0), 0);
    out += margin + "    ? " + value_at(i, column + 6);
  }
  return out + margin + "    : " + folded(rest, column + 6, behind);
}

// `head` and a bracket, then the operands from `first` on: aligned to the first, or further left if there is
// no room.
std::string folded_list(const std::string& head, const Expression& x, size_t first, char close, size_t column,
                        size_t behind) {
  if (x->operands.size() == first) return head + close;
  auto from = [&](size_t inner) {
    std::vector<std::string> parts;
    for (size_t i = first; i < x->operands.size(); ++i) {
      const bool last = i + 1 == x->operands.size();
      parts.push_back(folded(x->operands[i], inner, last ? behind + 1 : 1) + (last ? close : ','));
    }
    return filled(parts, inner, inner, behind);
  };
  const size_t inner = column + head.size();
  std::string out = head + from(inner);
  if (fits(out, column, behind) || head.size() <= 4) return out;
  return head + "\n" + std::string(column + 4, ' ') + from(column + 4);
}

// The expression from `column` on, over several lines if necessary; `behind` columns follow it.
std::string folded(const Expression& x, size_t column, size_t behind) {
  std::string flat = text_of(x);
  if (column + flat.size() + behind <= columns) return flat;
  switch (x->kind) {
    case Kind::binary: {
      if (!is_chain(x->op)) return flat;
      std::vector<std::string> parts;
      add_parts(x, spelling_of(x->op).precedence, column, behind, parts);
      return filled(parts, column, column, behind);
    }
    case Kind::conditional: return folded_conditional(x, column, behind);
    case Kind::call: return folded_list(x->name + "(", x, 0, ')', column, behind);
    case Kind::braces: return folded_list(x->name + "{", x, 0, '}', column, behind);
    case Kind::method:
      return folded_list(primary(x->operands[0]) + "." + x->name + "(", x, 1, ')', column, behind);
    default: return flat;
  }
}

class Printer {
 public:
  void print(const Block& block, size_t indent) {
    for (const Statement& statement : block) {
      std::string margin(indent, ' ');
      std::string comment = statement.comment.empty() ? "" : "  // " + statement.comment;
      std::visit([&](const auto& each) { print(each, indent, margin, comment); }, statement.what);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void line(const std::string& margin, const std::string& text, const std::string& comment) {
    out_ += margin + text + comment + "\n";
  }
  // `head value;`, the value on its own line if both don't fit.
  void with_value(const std::string& margin, const std::string& head, const Expression& value,
                  const std::string& comment) {
    std::string flat = head + " " + text_of(value) + ";";
    if (margin.size() + flat.size() <= columns) return line(margin, flat, comment);
    std::string inner = margin + "    ";
    line(margin, head + "\n" + inner + folded(value, inner.size(), 1) + ";", comment);
  }

  void print(const Declare& each, size_t, const std::string& margin, const std::string& comment) {
    std::string head;
    if (each.storage == Declare::shared) head = "__shared__ ";
    if (each.storage == Declare::constant && !each.type.pointer) head = "const ";
    if (each.storage == Declare::dynamic_shared)
      return line(margin,
                  format("{0}* const {1} = stitch::shared_row<{0}>({2});", each.type.name, each.name,
                         text_of(each.value)),
                  comment);
    head += each.type.name + " ";
    if (each.storage == Declare::constant && each.type.pointer) head += "const ";
    head += each.name;
    for (int64_t extent : each.extents) head += format("[{}]", extent);
    if (each.value.empty()) return line(margin, head + ";", comment);
    with_value(margin, head + " =", each.value, comment);
  }
  void print(const Assign& each, size_t, const std::string& margin, const std::string& comment) {
    const bool one =
        each.op == Operator::add && each.value->kind == Kind::integer && each.value->integer == 1;
    if (one) return line(margin, "++" + text_of(each.target) + ";", comment);
    with_value(margin, format("{} {}=", text_of(each.target), each.op ? spelling_of(*each.op).text : ""),
               each.value, comment);
  }
  void print(const Evaluate& each, size_t, const std::string& margin, const std::string& comment) {
    line(margin, folded(each.call, margin.size(), 1) + ";", comment);
  }
  void print(const Return& each, size_t, const std::string& margin, const std::string& comment) {
    if (each.value.empty()) return line(margin, "return;", comment);
    line(margin, "return " + folded(each.value, margin.size() + 7, 1) + ";", comment);
  }
  void print(const Barrier&, size_t, const std::string& margin, const std::string& comment) {
    line(margin, "__syncthreads();", comment);
  }
  void print(const If& each, size_t indent, const std::string& margin, const std::string& comment) {
    body(margin + "if (" + folded(each.condition, indent + 4, 3) + ")", each.body, each.braces, indent,
         comment);
  }
  void print(const While& each, size_t indent, const std::string& margin, const std::string& comment) {
    body(margin + "while (" + folded(each.condition, indent + 7, 3) + ")", each.body, true, indent, comment);
  }
  void print(const For& each, size_t indent, const std::string& margin, const std::string& comment) {
    if (each.unroll == For::whole) out_ += "#pragma unroll\n";
    if (each.unroll > 0) out_ += format("#pragma unroll {}\n", each.unroll);
    const bool one = each.step->kind == Kind::integer && each.step->integer == 1;
    std::string step = one ? "++" + each.variable : format("{} += {}", each.variable, text_of(each.step));
    const std::vector<std::string> parts = {
        format("{} {} = {};", each.type.name, each.variable, text_of(each.begin)),
        format("{} < {};", each.variable, text_of(each.end)), step + ")"};
    body(margin + "for (" + filled(parts, indent + 5, indent + 5, 2), each.body, each.braces, indent,
         comment);
  }
  // A single statement follows its header if it fits there.
  void body(const std::string& header, const Block& block, bool braces, size_t indent,
            const std::string& comment) {
    if (!braces) {
      Printer inner;
      inner.print(block, 0);
      std::string text = inner.take();
      const bool fits = header.size() + text.size() <= columns && text.find('\n') + 1 == text.size();
      if (fits) {
        text.pop_back();
        out_ += header + " " + text + comment + "\n";
      } else {
        out_ += header + comment + "\n";
        print(block, indent + 2);
      }
      return;
    }
    out_ += header + " {" + comment + "\n";
    print(block, indent + 2);
    out_ += std::string(indent, ' ') + "}\n";
  }

  std::string out_;
};

}  // namespace

std::string text_of(const Expression& x) {
  switch (x->kind) {
    case Kind::number: return literal(x->number, x->dtype);
    case Kind::integer: return std::to_string(x->integer);
    case Kind::name: return x->name;
    case Kind::text: return quote(x->name);
    case Kind::element: return primary(x->operands[0]) + "[" + text_of(x->operands[1]) + "]";
    case Kind::member: return primary(x->operands[0]) + "." + x->name;
    case Kind::unary:
      return spelling_of(x->op).text +
             in_parentheses(x->operands[0], precedence_of(x->operands[0]) <= of_unary);
    case Kind::binary:
      return format("{} {} {}", in_parentheses(x->operands[0], left_in_parentheses(x)),
                    spelling_of(x->op).text, in_parentheses(x->operands[1], right_in_parentheses(x)));
    case Kind::conditional:
      return format("{} ? {} : {}",
                    in_parentheses(x->operands[0], precedence_of(x->operands[0]) == of_conditional),
                    in_parentheses(x->operands[1], precedence_of(x->operands[1]) == of_conditional),
                    text_of(x->operands[2]));
    case Kind::call: return x->name + "(" + arguments_of(x, 0) + ")";
    case Kind::method: return primary(x->operands[0]) + "." + x->name + "(" + arguments_of(x, 1) + ")";
    case Kind::braces: return x->name + "{" + arguments_of(x, 0) + "}";
  }
  return {};
}

std::string text_of(const Block& block, size_t indent) {
  Printer printer;
  printer.print(block, indent);
  return printer.take();
}

}  // namespace stitch::code
