// A region whose product a library computes, and everything around the call: workspace, packed weights, the
// result written in place or finished by a separate pass.
#pragma once

#include "code/products/epilogue.h"
#include "code/products/matmul/contraction.h"
#include "code/products/signature.h"

namespace stitch::code {

// A matrix (first, second) for a library: row-major or column-major.
struct MatrixForm {
  bool transposed = false;  // stored as (second, first)
  int64_t row_stride = 0;   // of what is stored
  int64_t batch_stride = 0;
};
// Empty: it must be copied first.
std::optional<MatrixForm> form_of(const Axes& batch, const Axes& first, const Axes& second,
                                  int64_t Axis::*tensor);

// Whether every `run` elements along `inner`, counted from its start, are contiguous: four of f32 or eight of
// a 16-bit type, 16-byte aligned if the tensor is.
bool lies_in_quads(const Contraction& contraction, const Axes& inner, int64_t Axis::*tensor, int64_t offset,
                   int64_t run = 4);

struct LibraryProduct {
  const RegionRequest& request;
  Parts parts;
  Products products;
  Contraction contraction;  // left and right are exchanged if the result is stored by columns
  Axes at_once;             // the batches of one library call: all, or one axis …
  Axes turns;               // … and one call per step of the others
  bool swapped = false;
  Epilogue epilogue;
  LibraryEpilogue in_library;  // done by the library
  bool finishes = false;       // a separate pass applies the epilogue or moves the result
  bool in_place = false;       // … where the library wrote it
  int64_t partials = 1;        // results of the library that the pass sums
  int64_t enlarged = 1;        // above 1: rows of two results interleaved, the second scaled by this
  int64_t filled = 1;          // rows that the pass reads are filled up to a multiple of this
  int64_t more_rows = 0;       // of padding written by the library
  MatrixForm result_form;
  DType result_type = DType::f32;  // written by the library

  std::string product;  // the struct with its indices
  Signature signature;
  RegionCode code;
  std::string definitions;  // structs, then functions, in the region's namespace
  std::string body;

  explicit LibraryProduct(const RegionRequest& made_for)
      : request(made_for),
        product(type_name(made_for.name, "Product")),
        signature("enqueue_" + made_for.name) {}

  int64_t batches() const { return extent(contraction.batch); }
  int64_t rows() const { return extent(contraction.rows); }
  int64_t columns() const { return extent(contraction.columns); }
  int64_t depth() const { return extent(contraction.depth); }
  int64_t dense_pitch() const { return (columns() + filled - 1) / filled * filled; }
  bool is_weight(const View& view) const;
  // Weights to which the library keeps pointers: the bias.
  std::vector<std::string> kept_weights() const;
  // For batches over several axes without a common stride, whose operands of `type` otherwise suit the
  // library: several calls instead of copies.
  void take_turns(DType type);
  // The library writes the result in consecutive pieces, which the finishing pass sums.
  void add_up(int64_t pieces);
  // Contiguous dimensions of operands and result must be multiples of 16 bytes, or the library uses kernels
  // several times as slow: 7.9 ms for 8205 x 2949 x 5921 split on an H200, for any row stride. So it computes
  // padding rows and columns, which the finishing pass skips.
  void fill_up(int64_t rows_to, int64_t columns_to);
  // Workspace for a result that isn't written in place; call before using its name.
  void reserve_result();
  // A local pointer into the workspace.
  void reserve(const std::string& name, std::string_view type, int64_t elements, const std::string& comment);
  // Where the library writes, as a C expression.
  std::string result_pointer() const;
  // Lines of a MatmulSpec for the result and epilogue.
  std::string result_spec() const;
  // Appends the finishing pass and assembles the text. `idea`: the comment's second line.
  RegionCode finish(std::string_view idea);
  // Assembles the text if the body has applied the epilogue and returned.
  RegionCode finish_own(std::string_view idea);
};

// For `accepts`: one product of two non-empty operands of f32, f16 or bf16.
Result<void> accepts_library_product(const Graph& graph, const plan::Region& region);
// The same of f32 alone, and that it reads nothing else, for techniques that split what they read.
Result<void> accepts_f32_product(const Graph& graph, const plan::Region& region);
Result<void> reads_f32(const plan::Context& context, const plan::Plan& plan, const plan::Region& region);
// `operand`: the multiplied type. `turns`: several calls are allowed. `adds`: the library adds what it can: a
// residual (in_library.added), a bias before a pass in place.
Result<LibraryProduct> library_product(const RegionRequest& request, DType operand, bool turns,
                                       bool adds = false);

// Whether the depth rather than the other side is contiguous.
bool lies_by_depth(const Axes& depth, const Axes& side, int64_t Axis::*tensor);
std::string product_struct(const Contraction& contraction, const std::string& name);
// Threads for each element of the result in kernels/matmul.h; 0: tiles.
int64_t product_lanes(int64_t batches, int64_t rows, int64_t columns, int64_t depth, bool padded = false);
int64_t product_lanes(const Contraction& contraction);
std::string cuda_type(DType dtype);  // CUDA_R_32F

}  // namespace stitch::code
