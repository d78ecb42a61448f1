// A region whose product a library computes, and what lies around the call: workspace, packed weights, the
// result written in place or finished by a pass of its own.
#pragma once

#include "code/products/contraction.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"

namespace stitch::code {

// A matrix (first, second) as libraries take it: row after row, or the other way round.
struct MatrixForm {
  bool transposed = false;  // stored as (second, first)
  int64_t row_stride = 0;   // of what is stored
  int64_t batch_stride = 0;
};
// Nothing: it has to be copied first.
std::optional<MatrixForm> form_of(const Axes& batch, const Axes& first, const Axes& second,
                                  int64_t Axis::*tensor);

struct LibraryProduct {
  const RegionRequest& request;
  Parts parts;
  Products products;
  Contraction contraction;  // left and right have changed places where the result is stored by columns
  bool swapped = false;
  Epilogue epilogue;
  LibraryEpilogue in_library;  // what the library does itself
  bool finishes = false;       // a pass of its own applies the epilogue or moves the result
  bool in_place = false;       // … to where the library wrote it
  MatrixForm result_form;
  DType result_type = DType::f32;  // as the library writes it

  std::string product;  // the name of the struct with its indices
  Signature signature;
  RegionCode code;
  std::string definitions;  // structs, then functions, in the region's own namespace
  std::string body;

  explicit LibraryProduct(const RegionRequest& made_for)
      : request(made_for),
        product(type_name(made_for.name, "Product")),
        signature("enqueue_" + made_for.name) {}

  int64_t batches() const { return extent(contraction.batch); }
  int64_t rows() const { return extent(contraction.rows); }
  int64_t columns() const { return extent(contraction.columns); }
  int64_t depth() const { return extent(contraction.depth); }
  bool is_weight(const View& view) const;
  // A local pointer into the workspace.
  void reserve(const std::string& name, std::string_view type, int64_t elements, const std::string& comment);
  // Where the library writes: a C expression.
  std::string result_pointer() const;
  // Lines of a MatmulSpec about the result, the epilogue and the algorithm.
  std::string result_spec() const;
  // Appends the finishing pass, and puts all the text together. `idea` is the comment's second line.
  RegionCode finish(std::string_view idea);
};

// For `accepts`: one product of two operands with elements, of f32, f16 or bf16.
Result<void> accepts_library_product(const Graph& graph, const plan::Region& region);
// `operand`: the type in which the library multiplies.
Result<LibraryProduct> library_product(const RegionRequest& request, DType operand);

std::string product_struct(const Contraction& contraction, const std::string& name);
std::string cuda_type(DType dtype);  // CUDA_R_32F

}  // namespace stitch::code
