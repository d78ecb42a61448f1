// What models are made of: one row a recipe.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "learn/draw.h"

namespace stitch::learn {

// A model in the making: its graph and its PyTorch text grow together, an operator at a time.

// An operator that its operands do not allow: caught where a whole draft is made.
struct ImpossibleDraft : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Draft {
  explicit Draft(std::string name, DType dtype);

  Graph graph;
  std::vector<std::string> modules, lines;  // of __init__ and of forward
  std::vector<std::string> inputs;          // "torch.rand(…)"

  ValueId input(const Shape& shape);
  const Shape& shape(ValueId id) const { return graph.type(id).shape; }

  // One operand; `text`: the expression, with {} for the operand.
  ValueId pointwise(Op op, ValueId x, std::string_view text, const Attributes& attributes = {});
  ValueId binary(Op op, ValueId a, ValueId b, std::string_view sign);
  ValueId with_number(Op op, ValueId x, std::string_view sign, double number);
  ValueId reduce(Op op, ValueId x, std::vector<int64_t> dims, bool keep, std::string_view text);
  ValueId softmax(ValueId x, int64_t dim, bool log);
  ValueId cumsum(ValueId x, int64_t dim);
  ValueId norm(ValueId x, int64_t dim);  // L2, kept
  ValueId linear(ValueId x, int64_t out, bool bias);
  ValueId matmul(ValueId a, ValueId b, bool transpose_b);
  ValueId parameter(const Shape& shape);  // an nn.Parameter of its own
  struct Window {
    std::vector<int64_t> kernel;
    int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  };
  ValueId conv(ValueId x, int64_t out, const Window& window, bool bias);
  ValueId conv_transpose(ValueId x, int64_t out, const Window& window, bool bias);
  ValueId pool(ValueId x, const Window& window, bool maximum);
  ValueId batch_norm(ValueId x);
  ValueId group_norm(ValueId x, int64_t groups);
  ValueId layer_norm(ValueId x);
  ValueId reshape(ValueId x, const Shape& shape);
  ValueId permute(ValueId x, const std::vector<int64_t>& dims);
  ValueId concat(const std::vector<ValueId>& parts, int64_t dim);
  ValueId slice(ValueId x, int64_t dim, int64_t start, int64_t end);
  ValueId attention(ValueId q, ValueId k, ValueId v, bool causal);
  ValueId recurrence(ValueId x, int64_t hidden, bool lstm);  // batch first; all outputs

  // The whole file, in KernelBench's form.
  std::string python(const std::string& about) const;

 private:
  ValueId node(Op op, std::vector<ValueId> operands, const Attributes& attributes);
  ValueId said(ValueId id, const std::string& expression);  // v7 = expression
  std::string module(std::string_view kind, const std::string& constructor);
  ValueId weight(const std::string& module, const char* name, const Shape& shape,
                 Role role = Role::parameter);
  const std::string& variable(ValueId id) const { return variables_[index_of(id)]; }

  DType dtype_;
  std::vector<std::string> variables_;  // by value
  int named_ = 0;
};

// What the dimensions of the value at hand are.
enum class Form : uint8_t {
  matrix,    // (batch, width)
  sequence,  // (batch, length, width)
  image,     // (batch, channels, height, width)
  signal,    // (batch, channels, length)
};

struct Cursor {
  Draft& draft;
  Draw& draw;
  ValueId value = ValueId::none;
  Form form = Form::matrix;
  bool small = false;  // a miniature: the same decisions, small sizes
  int halvings = 0;    // of an image that are left

  const Shape& shape() const { return draft.shape(value); }
  // A width of a layer; in a miniature a small one, a multiple of eight as they all are.
  int64_t width();
  int64_t channels();
};

struct Recipe {
  std::string_view name;
  unsigned forms;  // bits of Form
  int operators;   // that it counts as
  double weight;   // how often it is taken
  void (*apply)(Cursor& at);
};
std::span<const Recipe> all_recipes();
inline bool suits(const Recipe& recipe, Form form) {
  return recipe.forms >> static_cast<unsigned>(form) & 1U;
}

// Composes models from operators and whole blocks: the same seed and number are the same model, on every
// machine.

struct Composed {
  std::string name;                  // "synthetic_000017"
  std::string python;                // KernelBench's form
  Graph graph;                       // as the text says it, cleaned up
  std::vector<std::string> recipes;  // what it is made of
  DType dtype = DType::f32;
};

enum class Scale : uint8_t {
  full,       // sizes as models have them
  miniature,  // the same model in small: what it computes can be checked in milliseconds
};
Result<Composed> compose(uint64_t seed, int64_t number, Scale scale);

}  // namespace stitch::learn
