// Einstein summation: operands are contracted in pairs from the left, each pair by a batched product.
#include "graph/einsum.h"

#include "oracle/call.h"
#include "oracle/ops/product.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

// A tensor with a letter for each dimension.
struct Term {
  std::string letters;
  Tensor tensor;
};

bool in(char letter, const std::string& letters) { return letters.find(letter) != std::string::npos; }

// The term with its dimensions in the order of `kept` and all others summed. A repeated letter is a diagonal;
// every letter of `kept` is one of the term's.
Term arranged(const Term& term, const std::string& kept) {
  if (term.letters == kept) return term;
  std::vector<int64_t> own = contiguous_strides(term.tensor.shape());
  std::string done;
  Shape shape, summed_shape;
  std::vector<int64_t> strides, summed_strides;
  for (char letter : kept + term.letters) {
    if (in(letter, done)) continue;
    done += letter;
    bool keep = in(letter, kept);
    int64_t stride = 0, size = 0;
    for (size_t d = 0; d < term.letters.size(); ++d)
      if (term.letters[d] == letter) {
        stride += own[d];
        size = term.tensor.shape()[d];
      }
    (keep ? shape : summed_shape).push_back(size);
    (keep ? strides : summed_strides).push_back(stride);
  }
  Tensor out(term.tensor.dtype(), shape);
  // Offset of each summed element from the kept position.
  std::vector<int64_t> offsets(static_cast<size_t>(element_count(summed_shape)));
  walk_range(Walk<1>{summed_shape, {summed_strides}}, 0, std::ssize(offsets),
             [&](int64_t first, Places<1> at, Places<1> step, int64_t count) {
               for (int64_t i = 0; i < count; ++i)
                 offsets[static_cast<size_t>(first + i)] = at[0] + i * step[0];
             });
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = term.tensor.data<T>();
    T* y = out.writable<T>();
    walk_all(Walk<1>{shape, {strides}}, [&](int64_t first, Places<1> at, Places<1> step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const T* from = x + at[0] + i * step[0];
        if constexpr (std::is_same_v<T, double>) {
          y[first + i] =
              sum_of(std::ssize(offsets), [&](int64_t j) { return from[offsets[static_cast<size_t>(j)]]; });
        } else {
          uint64_t sum = 0;
          for (int64_t offset : offsets) sum += static_cast<uint64_t>(from[offset]);
          y[first + i] = wrapped(static_cast<int64_t>(sum), out.dtype());
        }
      }
    });
  });
  return {kept, std::move(out)};
}

int64_t size_of_letters(const std::string& letters, const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (char letter : letters) count *= sizes[static_cast<size_t>(letter)];
  return count;
}

// Letters of `term` that occur in `needed`, without repeats.
std::string needed_letters(const std::string& term, const std::string& needed) {
  std::string out;
  for (char letter : term)
    if (in(letter, needed) && !in(letter, out)) out += letter;
  return out;
}

Term contracted(const Term& left, const Term& right, const std::string& needed,
                const std::vector<int64_t>& sizes) {
  // Letters of one side that aren't needed later are summed before the product.
  std::string a = needed_letters(left.letters, right.letters + needed);
  std::string b = needed_letters(right.letters, left.letters + needed);
  std::string batch, shared, rows, columns;
  for (char letter : a) (!in(letter, b) ? rows : in(letter, needed) ? batch : shared) += letter;
  for (char letter : b)
    if (!in(letter, a)) columns += letter;
  Term first = arranged(left, batch + rows + shared), second = arranged(right, batch + shared + columns);
  int64_t count = size_of_letters(batch, sizes), m = size_of_letters(rows, sizes);
  int64_t n = size_of_letters(columns, sizes), k = size_of_letters(shared, sizes);
  Shape shape;
  for (char letter : batch + rows + columns) shape.push_back(sizes[static_cast<size_t>(letter)]);
  Tensor out(first.tensor.dtype(), shape);
  multiply_matrices(first.tensor, second.tensor, out, count, m, n, k, false, [=](int64_t i) {
    return Starts{i * m * k, i * k * n};
  });
  return {batch + rows + columns, std::move(out)};
}

}  // namespace

Outcome evaluate_einsum(const Call& call) {
  STITCH_TRY(Einsum einsum, parse_einsum(call.attributes().text("equation")));
  std::vector<Shape> shapes;
  for (const Tensor* operand : call.operands) shapes.push_back(operand->shape());
  STITCH_TRY(std::vector<int64_t> sizes, letter_sizes(einsum, shapes));
  Term held{einsum.operands[0], call.in(0)};
  for (size_t i = 1; i < call.operands.size(); ++i) {
    std::string needed = einsum.result;
    for (size_t j = i + 1; j < einsum.operands.size(); ++j) needed += einsum.operands[j];
    held = contracted(held, {einsum.operands[i], call.in(i)}, needed, sizes);
  }
  return one(arranged(held, einsum.result).tensor);
}

}  // namespace stitch::oracle
