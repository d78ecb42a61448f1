#include "learn/synthesis/compose.h"

#include <algorithm>

#include "base/text.h"
#include "code/limits.h"
#include "learn/synthesis/recipes.h"
#include "passes/pipeline.h"

namespace stitch::learn {

namespace {

template <size_t n>
int64_t drawn(Draw& draw, const int64_t (&sizes)[n]) {
  return sizes[draw.below(static_cast<int64_t>(n))];
}

// The first input: as large as in models, or small; the same numbers are drawn for both.
Shape first_shape(Cursor& at) {
  static constexpr int64_t batches[] = {16, 64, 128, 256, 512, 1024, 2048, 4096},
                           few[] = {1, 2, 4, 8, 16, 32}, images[] = {1, 4, 8, 16, 32, 64},
                           lengths[] = {64, 128, 197, 256, 512, 1024, 2048},
                           sides[] = {7, 14, 28, 32, 56, 64, 112, 128, 224},
                           samples[] = {256, 512, 1000, 2048, 4096, 8192};
  switch (at.form) {
    case Form::matrix: {
      const int64_t batch = drawn(at.draw, batches), width = at.width();
      return at.small ? Shape{3, width} : Shape{batch, width};
    }
    case Form::sequence: {
      const int64_t batch = drawn(at.draw, few), length = drawn(at.draw, lengths), width = at.width();
      return at.small ? Shape{2, 5 + length % 3, width} : Shape{batch, length, width};
    }
    case Form::image: {
      const int64_t batch = drawn(at.draw, images), side = drawn(at.draw, sides);
      const bool colours = at.draw.chance(0.2);
      const int64_t channels = at.channels();
      at.halvings = side >= 28 ? 2 : side >= 14 ? 1 : 0;
      return at.small ? Shape{2, colours ? 3 : channels, 8, 8}
                      : Shape{batch, colours ? 3 : channels, side, side};
    }
    case Form::signal: {
      const int64_t batch = drawn(at.draw, few), length = drawn(at.draw, samples), channels = at.channels();
      at.halvings = 2;
      return at.small ? Shape{2, channels, 16} : Shape{batch, channels, length};
    }
  }
  return {};
}

const Recipe& drawn_recipe(Cursor& at, int most_operators) {
  double sum = 0;
  for (const Recipe& recipe : all_recipes())
    if (suits(recipe, at.form) && recipe.operators <= most_operators) sum += recipe.weight;
  double left = at.draw.uniform() * sum;
  const Recipe* last = nullptr;
  for (const Recipe& recipe : all_recipes()) {
    if (!suits(recipe, at.form) || recipe.operators > most_operators) continue;
    last = &recipe;
    if ((left -= recipe.weight) < 0) break;
  }
  return *last;
}

}  // namespace

Result<Composed> compose(uint64_t seed, int64_t number, Scale scale) {
  Draw draw(seed, static_cast<uint64_t>(number));
  Composed out;
  out.name = format("synthetic_{:06}", number);
  const double kind = draw.uniform();
  out.dtype = kind < 0.6 ? DType::f32 : kind < 0.85 ? DType::f16 : DType::bf16;
  Draft draft(out.name, out.dtype);
  Cursor at{draft, draw};
  at.small = scale == Scale::miniature;
  static constexpr Form forms[] = {Form::matrix, Form::sequence, Form::sequence,
                                   Form::image,  Form::image,    Form::signal};
  at.form = draw.of(std::span<const Form>(forms));
  int left = 1 + static_cast<int>(draw.below(8));
  try {
    at.value = draft.input(first_shape(at));
    while (left > 0) {
      const Recipe& recipe = drawn_recipe(at, left);
      recipe.apply(at);
      left -= recipe.operators;
      out.recipes.emplace_back(recipe.name);
    }
  } catch (const ImpossibleDraft& impossible) {
    return user_error("synthesis", impossible.what());
  }
  draft.graph.outputs = {at.value};
  out.python = draft.python(format("Synthetic: {}.", join(out.recipes, "; ")));
  STITCH_CHECK(verify(draft.graph));
  out.graph = std::move(draft.graph);
  static const RewriteLimits limits = code::limits_on(*find_gpu("H200"));  // as the Coder's weights
  run_pipeline(out.graph, cleanup_pipeline(), {.limits = limits});
  return out;
}

}  // namespace stitch::learn
