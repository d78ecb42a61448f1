// What models are made of: one row a recipe.
#pragma once

#include <span>
#include <string_view>

#include "learn/draw.h"
#include "learn/synthesis/draft.h"

namespace stitch::learn {

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

}  // namespace stitch::learn
