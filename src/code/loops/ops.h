// Code for an element of an op's result, one family per file (emit_*.cpp). Each adds statements to the
// emitter's open scope.
#pragma once

#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

Expression pointwise_element(Emitter& emitter, const Node& node, const Indices& at);
Expression moved_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression joined_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);  // concat
Expression indexed_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression searched_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression scattered_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression pooled_element(Emitter& emitter, ValueId id, const Node& node, size_t result, const Indices& at);
Expression resized_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression created_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at);
Expression reduced_element(Emitter& emitter, const Node& node, const Reduction& reduction, size_t result,
                           const Indices& at);
// `found`: the channel's statistics, in training.
Expression batch_norm_element(Emitter& emitter, const Node& node, const Indices& at, const Expressions& found,
                              size_t result);

// The checks needed for low <= index < high; none: always true.
struct Range {
  Expression condition;
  bool never = false;
};
Range within(const Index& index, int64_t low, int64_t high);

}  // namespace stitch::code::loops
