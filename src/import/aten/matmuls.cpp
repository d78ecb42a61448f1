// Matrix products in all of PyTorch's spellings.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

// torch.matmul: vectors get a second dimension, and the result loses it again.
ValueId matmul(Call& call, ValueId a, ValueId b) {
  bool row = call.rank(a) == 1, column = call.rank(b) == 1;
  if (row) a = call.reshape(a, {1, call.shape(a)[0]});
  if (column) b = call.reshape(b, {call.shape(b)[0], 1});
  ValueId product = call.emit(Op::matmul, {a, b});
  Shape shape = call.shape(product);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return call.reshape(product, shape);
}

// beta * self + alpha * product
ValueId plus_self(Call& call, ValueId product) {
  DType dtype = call.type(product).dtype;
  double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  if (alpha != 1) product = call.emit(Op::mul, {product, call.scalar(dtype, alpha)});
  if (beta == 0) return product;
  ValueId self = call.tensor("self");
  if (beta != 1) self = call.emit(Op::mul, {self, call.scalar(dtype, beta)});
  return call.emit(Op::add, {self, product});
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// "...ij,jk" becomes letters only, with the result written out.
Equation spell_out(Call& call, const std::string& text, const Values& operands) {
  std::string squeezed;
  for (char c : text)
    if (c != ' ') squeezed += c;
  size_t arrow = squeezed.find("->");
  Equation equation{split(squeezed.substr(0, arrow), ','), {}};
  if (equation.operands.size() != operands.size())
    refuse(format("einsum \"{}\" with {} operands", text, operands.size()));

  std::string free_letters;
  for (char c = 'A'; c <= 'z'; ++c)
    if (std::isalpha(static_cast<unsigned char>(c)) && squeezed.find(c) == std::string::npos)
      free_letters += c;
  size_t hidden = 0;  // the most dimensions any ellipsis stands for
  for (size_t i = 0; i < operands.size(); ++i)
    if (equation.operands[i].find("...") != std::string::npos)
      hidden =
          std::max(hidden, static_cast<size_t>(call.rank(operands[i])) + 3 - equation.operands[i].size());
  if (hidden > free_letters.size()) refuse(format("einsum \"{}\" has too many dimensions", text));
  std::string ellipsis = free_letters.substr(0, hidden);
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string& letters = equation.operands[i];
    if (size_t dots = letters.find("..."); dots != std::string::npos) {
      size_t count = static_cast<size_t>(call.rank(operands[i])) + 3 - letters.size();
      letters.replace(dots, 3, ellipsis.substr(hidden - count));
    }
  }
  if (arrow != std::string::npos) {
    equation.result = squeezed.substr(arrow + 2);
    if (size_t dots = equation.result.find("..."); dots != std::string::npos)
      equation.result.replace(dots, 3, ellipsis);
    return equation;
  }
  // Without an arrow: the ellipsis, then every letter that stands once, in order.
  std::string all = join(equation.operands, "");
  std::set<char> letters(all.begin(), all.end());
  equation.result = ellipsis;
  for (char c : letters)
    if (ellipsis.find(c) == std::string::npos && std::ranges::count(all, c) == 1) equation.result += c;
  return equation;
}

ValueId einsum(Call& call) {
  Values operands = call.tensors("tensors");
  Equation equation = spell_out(call, call.text("equation"), operands);
  // A dimension of 1 broadcasts against a larger one of the same letter: it is dropped.
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (equation.operands[i].size() != call.shape(operands[i]).size())
      refuse(format("einsum's \"{}\" stands for an operand of rank {}", equation.operands[i],
                    call.rank(operands[i])));
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      int64_t& size = sizes.try_emplace(equation.operands[i][d], 1).first->second;
      size = std::max(size, call.shape(operands[i])[d]);
    }
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string kept;
    Shape shape;
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      char letter = equation.operands[i][d];
      if (call.shape(operands[i])[d] == 1 && sizes[letter] != 1) continue;
      kept += letter;
      shape.push_back(call.shape(operands[i])[d]);
    }
    operands[i] = call.reshape(operands[i], shape);
    equation.operands[i] = kept;
  }
  return call.emit(Op::einsum, operands,
                   {{"equation", join(equation.operands, ",") + "->" + equation.result}});
}

ValueId outer(Call& call) {
  DType dtype = call.output().dtype;  // operands of different ones are promoted
  ValueId a = call.operand("self", dtype), b = call.operand(call.has("vec2") ? "vec2" : "other", dtype);
  return call.emit(Op::mul, {call.reshape(a, {call.shape(a)[0], 1}), call.reshape(b, {1, call.shape(b)[0]})});
}

ValueId kron(Call& call) {
  DType dtype = call.output().dtype;
  ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
  size_t rank = std::max(call.shape(a).size(), call.shape(b).size());
  Shape wide, narrow, result;
  for (size_t i = 0; i < rank; ++i) {
    auto size = [&](ValueId x) {
      size_t have = call.shape(x).size();
      return i + have < rank ? 1 : call.shape(x)[i + have - rank];
    };
    wide.insert(wide.end(), {size(a), 1});
    narrow.insert(narrow.end(), {1, size(b)});
    result.push_back(size(a) * size(b));
  }
  return call.reshape(call.emit(Op::mul, {call.reshape(a, wide), call.reshape(b, narrow)}), result);
}

// Distances between all rows of x1 (..., p, m) and x2 (..., r, m).
ValueId cdist(Call& call) {
  ValueId a = call.tensor("x1"), b = call.tensor("x2");
  Shape left = call.shape(a), right = call.shape(b);
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  ValueId gap = call.emit(Op::sub, {call.reshape(a, left), call.reshape(b, right)});
  return call.emit(Op::norm, {gap},
                   {{"dims", std::vector<int64_t>{call.rank(gap) - 1}}, {"order", call.number("p", 2)}});
}

ValueId bilinear(Call& call) {
  ValueId a = call.tensor("input1"), b = call.tensor("input2"), weight = call.tensor("weight");
  std::string batch = std::string("abcdefgh").substr(0, static_cast<size_t>(call.rank(a)) - 1);
  ValueId y = call.emit(Op::einsum, {a, weight, b}, {{"equation", format("{0}x,oxy,{0}y->{0}o", batch)}});
  return call.has("bias") ? call.emit(Op::add, {y, call.tensor("bias")}) : y;
}

ComputeOne product_of(const char* left, const char* right) {
  return [=](Call& call) { return matmul(call, call.tensor(left), call.tensor(right)); };
}

ComputeOne product_plus_self(const char* left, const char* right) {
  return [=](Call& call) { return plus_self(call, matmul(call, call.tensor(left), call.tensor(right))); };
}

}  // namespace

void add_matmuls(AtenTable& table) {
  table.one("aten.linear.default", [](Call& call) {
    ValueId x = call.tensor("input"), weight = call.tensor("weight");
    // A vector weight (nn.functional.linear allows it) is a dot product.
    if (call.rank(weight) == 1) {
      ValueId y = matmul(call, x, weight);
      return call.has("bias") ? call.emit(Op::add, {y, call.tensor("bias")}) : y;
    }
    return call.emit(Op::linear, {x, weight, call.tensor_or_none("bias")});
  });
  table.one("aten.matmul.default", product_of("self", "other"));
  table.one("aten.linalg_matmul.default", product_of("self", "other"));
  table.one("aten.mm.default", product_of("self", "mat2"));
  table.one("aten.bmm.default", product_of("self", "mat2"));
  table.one("aten.mv.default", product_of("self", "vec"));
  table.one("aten.dot.default", product_of("self", "tensor"));
  table.one("aten.vdot.default", product_of("self", "other"));
  table.one("aten.inner.default", [](Call& call) {
    ValueId a = call.tensor("self"), b = call.tensor("other");
    if (call.rank(a) == 0 || call.rank(b) == 0) return call.emit(Op::mul, {a, b});
    std::string left = std::string("abcdefg").substr(0, static_cast<size_t>(call.rank(a)) - 1);
    std::string right = std::string("hijklmn").substr(0, static_cast<size_t>(call.rank(b)) - 1);
    return call.emit(Op::einsum, {a, b}, {{"equation", format("{0}z,{1}z->{0}{1}", left, right)}});
  });
  table.one("aten.addmm.default", product_plus_self("mat1", "mat2"));
  table.one("aten.addmv.default", product_plus_self("mat", "vec"));
  table.one("aten.baddbmm.default", product_plus_self("batch1", "batch2"));
  table.one("aten.addbmm.default", [](Call& call) {
    return plus_self(
        call,
        call.reduce(Op::sum, call.emit(Op::matmul, {call.tensor("batch1"), call.tensor("batch2")}), {0}));
  });
  table.one("aten.addr.default", [](Call& call) {
    ValueId a = call.tensor("vec1"), b = call.tensor("vec2");
    return plus_self(call, call.emit(Op::mul, {call.reshape(a, {call.shape(a)[0], 1}),
                                               call.reshape(b, {1, call.shape(b)[0]})}));
  });
  table.one("aten.einsum.default", einsum);
  table.one("aten.outer.default", outer);
  table.one("aten.ger.default", outer);
  table.one("aten.kron.default", kron);
  table.one("aten.cdist.default", cdist);
  table.one("aten._cdist_forward.default", cdist);
  table.one("aten.bilinear.default", bilinear);
  table.one("aten.tensordot.default", [](Call& call) {
    ValueId a = call.tensor("self"), b = call.tensor("other");
    auto left = call.integers("dims_self"), right = call.integers("dims_other");
    std::string a_letters, b_letters(static_cast<size_t>(call.rank(b)), '?'), result;
    for (int64_t i = 0; i < call.rank(a); ++i) a_letters += static_cast<char>('a' + i);
    for (size_t i = 0; i < left.size(); ++i)
      b_letters[static_cast<size_t>(call.dimension(right[i], call.rank(b)))] =
          a_letters[static_cast<size_t>(call.dimension(left[i], call.rank(a)))];
    for (char c : a_letters)
      if (b_letters.find(c) == std::string::npos) result += c;
    char next = 'A';
    for (char& c : b_letters)
      if (c == '?') result += c = next++;
    return call.emit(Op::einsum, {a, b}, {{"equation", a_letters + "," + b_letters + "->" + result}});
  });
}

}  // namespace stitch
