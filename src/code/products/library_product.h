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

// Every `run` neighbours along `inner`, counted from its start, lie side by side in memory: four of f32 or
// eight of a 16-bit type at 16 bytes, if the tensor does.
bool lies_in_quads(const Contraction& contraction, const Axes& inner, int64_t Axis::*tensor, int64_t offset,
                   int64_t run = 4);

struct LibraryProduct {
  const RegionRequest& request;
  Parts parts;
  Products products;
  Contraction contraction;  // left and right have changed places where the result is stored by columns
  Axes at_once;             // the batches of a call of the library: all of them, or one axis …
  Axes turns;               // … and a call for each step of the others
  bool swapped = false;
  Epilogue epilogue;
  LibraryEpilogue in_library;  // what the library does itself
  bool finishes = false;       // a pass of its own applies the epilogue or moves the result
  bool in_place = false;       // … to where the library wrote it
  int64_t partials = 1;        // results of the library that the pass adds up
  int64_t enlarged = 1;        // above 1: rows of two results side by side, the second so many times as large
  int64_t pitch = 0;           // of the rows that the pass reads, where it isn't the columns
  int64_t more_rows = 0;       // that the library writes behind them
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
  int64_t dense_pitch() const { return pitch ? pitch : columns(); }
  bool is_weight(const View& view) const;
  // Weights that the library keeps pointers to: the bias.
  std::vector<std::string> kept_weights() const;
  // Batches along several axes that no one stride describes, but operands of `type` that otherwise lie as the
  // library takes them: calls in turn instead of copies.
  void take_turns(DType type);
  // The library writes the result in pieces behind each other, which the finishing pass adds up.
  void add_up(int64_t pieces);
  // What lies side by side has to be a multiple of 16 bytes long, of the operands and of the result, or the
  // library falls back to kernels several times as slow: 7.9 ms for 8205 x 2949 x 5921 split on an H200,
  // whatever the distance between rows. So it makes more rows and columns, which the finishing pass leaves.
  void fill_up(int64_t rows_to, int64_t columns_to);
  // Workspace for a result that isn't written in place: before anything that names it.
  void reserve_result();
  // A local pointer into the workspace.
  void reserve(const std::string& name, std::string_view type, int64_t elements, const std::string& comment);
  // Where the library writes: a C expression.
  std::string result_pointer() const;
  // Lines of a MatmulSpec about the result and the epilogue.
  std::string result_spec() const;
  // Appends the finishing pass, and puts all the text together. `idea` is the comment's second line.
  RegionCode finish(std::string_view idea);
  // Puts the text together where the body has applied the epilogue and returned.
  RegionCode finish_own(std::string_view idea);
};

// For `accepts`: one product of two operands with elements, of f32, f16 or bf16.
Result<void> accepts_library_product(const Graph& graph, const plan::Region& region);
// `operand`: the type in which the library multiplies. `turns`: it may be called several times. `adds`: it is
// asked to add what it can: a residual (in_library.added), a bias before a pass in place.
Result<LibraryProduct> library_product(const RegionRequest& request, DType operand, bool turns,
                                       bool adds = false);

// Does a tensor have the depth inside, rather than its other side?
bool lies_by_depth(const Axes& depth, const Axes& side, int64_t Axis::*tensor);
std::string product_struct(const Contraction& contraction, const std::string& name);
std::string cuda_type(DType dtype);  // CUDA_R_32F

}  // namespace stitch::code
