// ATen's operators, one table: name -> meaning. Families fill it, each in its own file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/lowering.h"

namespace stitch {

// One ATen node's arguments, read by their schema names, and the emitters that lower it.
class Call {
 public:
  Call(Lowering& lowering, const AtenNode& node);

  // The same call, a tensor argument (or a list of them) replaced.
  Call with(const std::string& name, std::vector<ValueId> values) const;

  // Arguments. A tensor argument is read as it stands now.
  bool has(const char* name) const;  // there, and not null
  bool is_tensor(const char* name) const;
  bool is_text(const char* name) const;
  bool is_integer(const char* name) const;
  bool is_flag(const char* name) const;
  bool is_list(const char* name) const;
  bool is_complex(const char* name) const;  // a complex tensor, or a list with one in it
  std::vector<std::string> names() const;   // of all arguments
  ValueId tensor(const char* name) const;
  ValueId tensor_or_none(const char* name) const { return has(name) ? tensor(name) : ValueId::none; }
  std::vector<ValueId> tensors(const char* name) const;          // a list
  std::vector<ValueId> tensors_or_none(const char* name) const;  // a list with holes
  std::string tensor_name(const char* name) const;
  int64_t integer(const char* name) const;
  int64_t integer(const char* name, int64_t otherwise) const { return has(name) ? integer(name) : otherwise; }
  double number(const char* name) const;
  double number(const char* name, double otherwise) const { return has(name) ? number(name) : otherwise; }
  bool flag(const char* name) const;
  bool flag(const char* name, bool otherwise) const { return has(name) ? flag(name) : otherwise; }
  std::string text(const char* name) const;
  std::vector<int64_t> integers(const char* name) const;  // a single integer is a list of one
  std::vector<double> numbers(const char* name) const;
  std::optional<DType> dtype(const char* name) const;
  const AtenNode& node() const { return node_; }
  const TensorType& output(size_t i = 0) const;

  // Emitters.
  ValueId emit(Op op, std::vector<ValueId> operands, const Attributes& attributes = {}) const {
    return lowering_.emit(op, std::move(operands), attributes);
  }
  std::vector<ValueId> emit_all(Op op, std::vector<ValueId> operands,
                                const Attributes& attributes = {}) const {
    return lowering_.emit_all(op, std::move(operands), attributes);
  }
  const TensorType& type(ValueId id) const { return lowering_.type(id); }
  const Shape& shape(ValueId id) const { return type(id).shape; }
  int64_t rank(ValueId id) const { return type(id).rank(); }
  Lowering& lowering() const { return lowering_; }

  ValueId cast(ValueId x, DType dtype) const;
  ValueId full(const Shape& shape, DType dtype, double value) const;
  ValueId scalar(DType dtype, double value) const { return full({}, dtype, value); }
  // Exact, also past 2^53.
  ValueId whole_scalar(DType dtype, int64_t value) const;
  ValueId reshape(ValueId x, const Shape& shape) const;
  ValueId permute(ValueId x, const std::vector<int64_t>& dims) const;
  ValueId swap_last(ValueId x) const;
  ValueId expand(ValueId x, const Shape& shape) const;
  ValueId slice(ValueId x, int64_t dim, int64_t start, int64_t end, int64_t step = 1) const;
  ValueId random(const Shape& shape, DType dtype, std::string distribution, double a, double b) const;
  ValueId reduce(Op op, ValueId x, const std::vector<int64_t>& dims = {}, bool keepdim = false) const;
  // An argument that is a tensor or a number, as a value of this dtype.
  ValueId operand(const char* name, DType dtype) const;

  // Complex numbers: {real, imaginary}. A real tensor's or number's imaginary part is none.
  std::vector<ValueId> parts(const char* name) const;
  std::vector<ValueId> parts_of(ValueId held) const;  // of a value whose last dimension holds both
  ValueId joined(ValueId real, ValueId imaginary) const;

  // dim counted from the start.
  int64_t dimension(int64_t dim, int64_t rank) const;

 private:
  const Json& argument(const char* name) const;
  ValueId read(const std::string& tensor) const;
  Lowering& lowering_;
  const AtenNode& node_;
  std::map<std::string, std::vector<ValueId>, std::less<>> given_;
  std::optional<DType> computed_;  // autocast: what floating operands are cast to
};

using Values = std::vector<ValueId>;
// A functional op: its results. `aten.foo_.x` is `aten.foo.x` written back to `self`.
using Compute = std::function<Values(Call&)>;
using ComputeOne = std::function<ValueId(Call&)>;
// A view: for each output the steps that lead to it from the tensor argument.
struct Alias {
  const char* base;
  std::function<std::vector<View>(Call&)> views;
};

// An op that is a view or not depending on its arguments, or that writes to them.
using Custom = std::function<void(Lowering&, Call&)>;

class AtenTable {
 public:
  void one(std::string_view op, ComputeOne compute);
  void many(std::string_view op, Compute compute);
  void view(std::string_view op, const char* base, std::function<View(Call&)> view);
  void views(std::string_view op, const char* base, std::function<std::vector<View>(Call&)> views);
  void custom(std::string_view op, Custom custom);
  void nothing(std::string_view op);  // checks and the like, without results

  const Compute* compute(std::string_view op) const;
  const Alias* alias(std::string_view op) const;
  const Custom* custom(std::string_view op) const;
  bool ignores(std::string_view op) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Compute, std::less<>> computes_;
  std::map<std::string, Alias, std::less<>> aliases_;
  std::map<std::string, Custom, std::less<>> customs_;
  std::set<std::string, std::less<>> ignored_;
};

void add_pointwise(AtenTable&);
void add_arithmetic(AtenTable&);
void add_reductions(AtenTable&);
void add_matmuls(AtenTable&);
void add_convolutions(AtenTable&);
void add_norms(AtenTable&);
void add_pools(AtenTable&);
void add_attention(AtenTable&);
void add_recurrences(AtenTable&);
void add_views(AtenTable&);
void add_movements(AtenTable&);
void add_indexing(AtenTable&);
void add_losses(AtenTable&);
void add_creation(AtenTable&);
void add_composites(AtenTable&);
void add_special_functions(AtenTable&);
void add_fourier(AtenTable&);
void add_sampling(AtenTable&);
void add_groups(AtenTable&);
void add_factors(AtenTable&);
void add_assorted(AtenTable&);
void add_ctc(AtenTable&);

// A node with a complex tensor among its arguments or results.
bool concerns_complex(const Lowering& lowering, const AtenNode& node);
void lower_complex(Lowering& lowering, Call& call);
// aten.add_.Tensor -> aten.add.Tensor; nothing for functional ops.
std::optional<std::string> functional_name(const std::string& op);
// What to write instead of an operator that has no meaning here.
[[noreturn]] void refuse_unknown(const AtenNode& node);

const AtenTable& aten_table();
// Lowers one node; refuses what has no meaning here, by name.
void lower_aten(Lowering& lowering, const AtenNode& node);

}  // namespace stitch
