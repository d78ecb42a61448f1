#include "code/expression/print.h"

#include <cmath>

#include "base/format.h"
#include "base/text.h"

namespace stitch::code {

namespace {

using Kind = Expression::Kind;

constexpr size_t columns = 110;

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

// a / b * c, a && b || c and a < b == c are right without parentheses, and read wrong.
bool confusing(Operator outer, const Expression& left) {
  if (left->kind != Kind::binary) return false;
  const Precedence own = spelling_of(outer).precedence, inner = spelling_of(left->op).precedence;
  if (own == of_product && inner == of_product)
    return outer != Operator::multiply || left->op != Operator::multiply;
  if (own == of_or && inner == of_and) return true;
  if (own >= of_bit_or && own <= of_bit_and) return inner != own || outer != left->op;
  return own == of_equality && (inner == of_comparison || inner == of_equality);
}

std::string left_of(const Expression& x) {
  const Expression& left = x->operands[0];
  return in_parentheses(left, precedence_of(left) < spelling_of(x->op).precedence || confusing(x->op, left));
}
std::string right_of(const Expression& x) {
  const Expression& right = x->operands[1];
  const bool negative = precedence_of(right) == of_unary;  // x - -1
  return in_parentheses(
      right, !negative && (precedence_of(right) <= spelling_of(x->op).precedence || confusing(x->op, right)));
}

std::string arguments_of(const Expression& x, size_t first) {
  std::string out;
  for (size_t i = first; i < x->operands.size(); ++i)
    out += (i > first ? ", " : "") + text_of(x->operands[i]);
  return out;
}

std::string primary(const Expression& x) { return in_parentheses(x, precedence_of(x) < of_primary); }

// Pieces, as many a line as fit; later lines begin at `column`.
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

// a + b + c as its parts, each with the operator behind it.
void add_parts(const Expression& x, Precedence precedence, std::vector<std::string>& out) {
  const Expression& left = x->operands[0];
  if (left->kind == Kind::binary && spelling_of(left->op).precedence == precedence && is_chain(left->op))
    add_parts(left, precedence, out);
  else
    out.push_back(left_of(x));
  out.back() += format(" {}", spelling_of(x->op).text);
  out.push_back(right_of(x));
}

// The expression from `column` on, over several lines if it must be; `behind` columns follow it.
std::string folded(const Expression& x, size_t column, size_t behind) {
  std::string flat = text_of(x);
  if (column + flat.size() + behind <= columns) return flat;
  if (x->kind == Kind::binary && is_chain(x->op)) {
    std::vector<std::string> parts;
    add_parts(x, spelling_of(x->op).precedence, parts);
    return filled(parts, column, column, behind);
  }
  if (x->kind == Kind::conditional) {
    const Expression &condition = x->operands[0], &a = x->operands[1], &b = x->operands[2];
    std::string margin = "\n" + std::string(column + 4, ' ');
    return folded(condition, column, 0) + margin + "? " + folded(a, column + 6, 0) + margin + ": " +
           folded(b, column + 6, behind);
  }
  if (x->kind == Kind::call || x->kind == Kind::method) {
    const size_t first = x->kind == Kind::method;
    std::string head = first ? primary(x->operands[0]) + "." + x->name + "(" : x->name + "(";
    const size_t inner = column + head.size();
    std::vector<std::string> parts;
    for (size_t i = first; i < x->operands.size(); ++i) {
      const bool last = i + 1 == x->operands.size();
      parts.push_back(folded(x->operands[i], inner, last ? behind + 1 : 1) + (last ? ")" : ","));
    }
    if (!parts.empty()) return head + filled(parts, inner, inner, behind);
  }
  return flat;
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
  // `head value;`, the value on a line of its own where both don't fit.
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
    body(format("{}for ({} {} = {}; {} < {}; {})", margin, each.type.name, each.variable, text_of(each.begin),
                each.variable, text_of(each.end), step),
         each.body, each.braces, indent, comment);
  }
  // One statement goes behind its header where it fits there.
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
    case Kind::binary: return format("{} {} {}", left_of(x), spelling_of(x->op).text, right_of(x));
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
