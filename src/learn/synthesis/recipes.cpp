#include "learn/synthesis/recipes.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "code/limits.h"
#include "passes/pipeline.h"

namespace stitch::learn {

namespace {

constexpr unsigned matrix = 1U << 0, sequence = 1U << 1, image = 1U << 2, signal = 1U << 3;
constexpr unsigned rows = matrix | sequence, pixels = image | signal, any = rows | pixels;

struct Activation {
  Op op;
  std::string_view text;
};
constexpr auto activations = std::to_array<Activation>({
    {Op::relu, "torch.relu({})"},
    {Op::gelu, "F.gelu({})"},
    {Op::silu, "F.silu({})"},
    {Op::tanh, "torch.tanh({})"},
    {Op::sigmoid, "torch.sigmoid({})"},
    {Op::mish, "F.mish({})"},
    {Op::softplus, "F.softplus({})"},
    {Op::hardswish, "F.hardswish({})"},
    {Op::leaky_relu, "F.leaky_relu({})"},
    {Op::elu, "F.elu({})"},
});

ValueId activated(Cursor& at, ValueId x) {
  const Activation& one = at.draw.of(std::span<const Activation>(activations));
  return at.draft.pointwise(one.op, x, one.text);
}

void activation(Cursor& at) { at.value = activated(at, at.value); }

void scale_and_shift(Cursor& at) {
  static constexpr double factors[] = {0.5, 2.0, 0.1, 1.5};
  const ValueId scaled =
      at.draft.with_number(Op::mul, at.value, "*", at.draw.of(std::span<const double>(factors)));
  at.value = at.draft.with_number(Op::add, scaled, "+", 0.25);
}

void clamp(Cursor& at) {
  at.value =
      at.draft.pointwise(Op::clamp, at.value, "torch.clamp({}, -0.5, 1.5)", {{"low", -0.5}, {"high", 1.5}});
}

void gate_with_itself(Cursor& at) {
  const ValueId gate = at.draft.pointwise(Op::sigmoid, at.value, "torch.sigmoid({})");
  at.value = at.draft.binary(Op::mul, at.value, gate, "*");
}

void add_parameter(Cursor& at) {
  const bool in_rows = at.form == Form::matrix || at.form == Form::sequence;
  Shape shape = {in_rows ? at.shape().back() : at.shape()[1]};
  if (!in_rows) shape.resize(at.shape().size() - 1, 1);
  at.value = at.draft.binary(Op::add, at.value, at.draft.parameter(shape), "+");
}

void second_input(Cursor& at) {
  const ValueId other = at.draft.input(at.shape());
  static constexpr std::pair<Op, std::string_view> ops[] = {{Op::add, "+"}, {Op::mul, "*"}, {Op::sub, "-"}};
  const auto& [op, sign] = at.draw.of(std::span<const std::pair<Op, std::string_view>>(ops));
  at.value = at.draft.binary(op, at.value, other, sign);
}

void linear(Cursor& at) { at.value = at.draft.linear(at.value, at.width(), at.draw.chance(0.7)); }

void linear_activation(Cursor& at) {
  linear(at);
  activation(at);
}

void mlp(Cursor& at) {
  const int64_t width = at.shape().back();
  at.value = at.draft.linear(at.value, 4 * width, true);
  activation(at);
  at.value = at.draft.linear(at.value, width, true);
}

void residual_mlp(Cursor& at) {
  const ValueId skip = at.value;
  at.value = at.draft.layer_norm(at.value);
  mlp(at);
  at.value = at.draft.binary(Op::add, skip, at.value, "+");
}

void gated_linear(Cursor& at) {
  const int64_t width = at.width();
  const ValueId gate = activated(at, at.draft.linear(at.value, width, false));
  const ValueId up = at.draft.linear(at.value, width, false);
  at.value = at.draft.binary(Op::mul, gate, up, "*");
}

void two_branches(Cursor& at) {
  const int64_t width = at.width();
  const ValueId left = activated(at, at.draft.linear(at.value, width, true));
  const ValueId right = at.draft.linear(at.value, width, true);
  at.value = at.draft.concat({left, right}, at.draft.graph.type(left).rank() - 1);
}

void layer_norm(Cursor& at) { at.value = at.draft.layer_norm(at.value); }

void rms_norm(Cursor& at) {
  const ValueId square = at.draft.binary(Op::mul, at.value, at.value, "*");
  const ValueId mean = at.draft.reduce(Op::mean, square, {-1}, true, "torch.mean");
  const ValueId shifted = at.draft.with_number(Op::add, mean, "+", 1e-5);
  const ValueId factor = at.draft.pointwise(Op::rsqrt, shifted, "torch.rsqrt({})");
  const ValueId scaled = at.draft.binary(Op::mul, at.value, factor, "*");
  at.value = at.draft.binary(Op::mul, scaled, at.draft.parameter({at.shape().back()}), "*");
}

void softmax(Cursor& at) {
  const bool log = at.draw.chance(0.3);
  at.value = at.draft.softmax(at.value, at.form == Form::image || at.form == Form::signal ? 1 : -1, log);
}

void unit_length(Cursor& at) {
  const int64_t dim = at.form == Form::image || at.form == Form::signal ? 1 : -1;
  at.value = at.draft.binary(Op::div, at.value, at.draft.norm(at.value, dim), "/");
}

void scan(Cursor& at) { at.value = at.draft.cumsum(at.value, at.form == Form::sequence ? 1 : -1); }

void over_time(Cursor& at) {
  static constexpr std::pair<Op, std::string_view> ops[] = {{Op::mean, "torch.mean"},
                                                            {Op::sum, "torch.sum"},
                                                            {Op::amax, "torch.amax"},
                                                            {Op::logsumexp, "torch.logsumexp"}};
  const auto& [op, text] = at.draw.of(std::span<const std::pair<Op, std::string_view>>(ops));
  at.value = at.draft.reduce(op, at.value, {1}, false, text);
  at.form = Form::matrix;
}

void product_with_input(Cursor& at) {
  Shape other = at.shape();
  if (at.form == Form::matrix) other = {at.width(), other.back()};
  at.value = at.draft.matmul(at.value, at.draft.input(other), true);
}

// Projections, heads, attention, the projection back; with its input added.
void self_attention(Cursor& at) {
  const Shape shape = at.shape();
  const int64_t heads = shape[2] % 64 == 0 && !at.small ? shape[2] / 64 : 4, width = shape[2] / heads;
  const bool causal = at.draw.chance(0.4), one_projection = at.draw.chance(0.5), skip = at.draw.chance(0.6);
  const ValueId before = at.value;
  std::array<ValueId, 3> parts;
  if (one_projection) {
    const ValueId all = at.draft.linear(at.value, 3 * shape[2], true);
    for (size_t i = 0; i < 3; ++i) {
      const auto n = static_cast<int64_t>(i);
      parts[i] = at.draft.slice(all, 2, n * shape[2], (n + 1) * shape[2]);
    }
  } else {
    for (ValueId& part : parts) part = at.draft.linear(at.value, shape[2], false);
  }
  for (ValueId& part : parts)
    part = at.draft.permute(at.draft.reshape(part, {shape[0], shape[1], heads, width}), {0, 2, 1, 3});
  const ValueId mixed = at.draft.attention(parts[0], parts[1], parts[2], causal);
  const ValueId joined = at.draft.reshape(at.draft.permute(mixed, {0, 2, 1, 3}), shape);
  at.value = at.draft.linear(joined, shape[2], true);
  if (skip) at.value = at.draft.binary(Op::add, before, at.value, "+");
}

void recurrence(Cursor& at) {
  static constexpr int64_t widths[] = {64, 128, 256, 512};
  const int64_t hidden = at.draw.of(std::span<const int64_t>(widths));
  at.value = at.draft.recurrence(at.value, at.small ? 16 : hidden, at.draw.chance(0.5));
}

Draft::Window window(const Cursor& at, int64_t kernel, int64_t stride = 1) {
  return {.kernel = std::vector<int64_t>(at.form == Form::image ? 2 : 1, kernel),
          .stride = stride,
          .padding = kernel / 2};
}

ValueId conv_of(Cursor& at, ValueId x, int64_t out, int64_t kernel, int64_t stride = 1) {
  return at.draft.conv(x, out, window(at, kernel, stride), at.draw.chance(0.5));
}

void conv(Cursor& at) {
  static constexpr int64_t kernels[] = {3, 3, 3, 1, 1, 5, 7};
  const int64_t kernel = at.draw.of(std::span<const int64_t>(kernels));
  const bool strided = at.halvings > 0 && at.draw.chance(0.25);
  at.halvings -= strided;
  at.value = conv_of(at, at.value, at.channels(), kernel, strided ? 2 : 1);
}

void conv_activation(Cursor& at) {
  conv(at);
  activation(at);
}

void conv_norm_activation(Cursor& at) {
  conv(at);
  at.value = at.draft.batch_norm(at.value);
  activation(at);
}

void residual_conv(Cursor& at) {
  const ValueId skip = at.value;
  const int64_t channels = at.shape()[1];
  at.value = at.draft.batch_norm(conv_of(at, at.value, channels, 3));
  activation(at);
  at.value = at.draft.batch_norm(conv_of(at, at.value, channels, 3));
  at.value = at.draft.binary(Op::add, at.value, skip, "+");
  at.value = at.draft.pointwise(Op::relu, at.value, "torch.relu({})");
}

void separable_conv(Cursor& at) {
  const int64_t channels = at.shape()[1];
  Draft::Window depthwise = window(at, at.draw.chance(0.7) ? 3 : 5);
  depthwise.groups = channels;
  at.value = at.draft.conv(at.value, channels, depthwise, false);
  if (at.draw.chance(0.5)) activation(at);
  at.value = conv_of(at, at.value, at.channels(), 1);
}

void branches_of_convs(Cursor& at) {
  const int64_t left = at.channels(), right = at.channels();
  const ValueId a = conv_of(at, at.value, left, 1), b = conv_of(at, at.value, right, 3);
  at.value = at.draft.concat({activated(at, a), b}, 1);
}

void transposed_conv(Cursor& at) {
  Draft::Window twice = window(at, 2, 2);
  twice.padding = 0;
  at.value = at.draft.conv_transpose(at.value, at.channels(), twice, true);
}

void batch_norm(Cursor& at) { at.value = at.draft.batch_norm(at.value); }
void group_norm(Cursor& at) {
  const int64_t channels = at.shape()[1];
  at.value = at.draft.group_norm(at.value, channels % 8 == 0 ? 8 : 1);
}

void pool(Cursor& at) {
  const bool maximum = at.draw.chance(0.6), shrinks = at.halvings > 0;
  at.halvings -= shrinks;
  Draft::Window one = window(at, 3, shrinks ? 2 : 1);
  at.value = at.draft.pool(at.value, one, maximum);
}

void squeeze_and_excite(Cursor& at) {
  const Shape shape = at.shape();
  const ValueId pooled = at.draft.reduce(Op::mean, at.value, {2, 3}, false, "torch.mean");
  const int64_t inner = at.small || shape[1] < 64 ? 8 : shape[1] / 8;
  const ValueId narrow = at.draft.pointwise(Op::relu, at.draft.linear(pooled, inner, true), "torch.relu({})");
  const ValueId gates =
      at.draft.pointwise(Op::sigmoid, at.draft.linear(narrow, shape[1], true), "torch.sigmoid({})");
  at.value = at.draft.binary(Op::mul, at.value, at.draft.reshape(gates, {shape[0], shape[1], 1, 1}), "*");
}

void global_pool(Cursor& at) {
  at.value = at.form == Form::image ? at.draft.reduce(Op::mean, at.value, {2, 3}, false, "torch.mean")
                                    : at.draft.reduce(Op::amax, at.value, {2}, false, "torch.amax");
  at.form = Form::matrix;
}

void patches(Cursor& at) {
  const Shape shape = at.shape();
  const int64_t pixels_of = shape.size() == 4 ? shape[2] * shape[3] : shape[2];
  at.value = at.draft.permute(at.draft.reshape(at.value, {shape[0], shape[1], pixels_of}), {0, 2, 1});
  at.form = Form::sequence;
}

constexpr auto recipes = std::to_array<Recipe>({
    {"activation", any, 1, 3, activation},
    {"scale and shift", any, 2, 1, scale_and_shift},
    {"clamp", any, 1, 0.7, clamp},
    {"self gate", any, 2, 0.7, gate_with_itself},
    {"add parameter", any, 1, 1, add_parameter},
    {"second input", any, 1, 0.7, second_input},
    {"linear", rows, 1, 3, linear},
    {"linear and activation", rows, 2, 3, linear_activation},
    {"mlp", rows, 3, 1.5, mlp},
    {"residual mlp", rows, 5, 1, residual_mlp},
    {"gated linear", rows, 4, 1, gated_linear},
    {"two branches", rows, 4, 0.7, two_branches},
    {"layer norm", rows, 1, 1.5, layer_norm},
    {"rms norm", rows, 5, 0.7, rms_norm},
    {"softmax", any, 1, 1, softmax},
    {"unit length", any, 2, 0.5, unit_length},
    {"cumulative sum", rows, 1, 0.4, scan},
    {"reduction over time", sequence, 1, 0.7, over_time},
    {"product with an input", rows, 1, 1, product_with_input},
    {"self attention", sequence, 6, 2, self_attention},
    {"recurrence", sequence, 1, 0.5, recurrence},
    {"conv", pixels, 1, 3, conv},
    {"conv and activation", pixels, 2, 3, conv_activation},
    {"conv, norm, activation", pixels, 3, 2, conv_norm_activation},
    {"residual convs", pixels, 7, 0.8, residual_conv},
    {"separable conv", pixels, 2, 1.5, separable_conv},
    {"branches of convs", pixels, 4, 0.8, branches_of_convs},
    {"transposed conv", pixels, 1, 0.5, transposed_conv},
    {"batch norm", pixels, 1, 0.8, batch_norm},
    {"group norm", pixels, 1, 0.8, group_norm},
    {"pool", pixels, 1, 1, pool},
    {"squeeze and excite", image, 6, 0.5, squeeze_and_excite},
    {"global pool", pixels, 1, 0.5, global_pool},
    {"patches", pixels, 2, 0.3, patches},
});

}  // namespace

std::span<const Recipe> all_recipes() { return recipes; }

int64_t Cursor::width() {
  static constexpr int64_t widths[] = {64,  128,  192,  256,  384,  512,  640,
                                       768, 1000, 1024, 1536, 2048, 3072, 4096};
  const int64_t which = draw.below(std::ssize(widths));
  return small ? 16 + 8 * (which % 3) : widths[which];
}

int64_t Cursor::channels() {
  static constexpr int64_t counts[] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
  const int64_t which = draw.below(std::ssize(counts));
  return small ? 8 * (1 + which % 2) : counts[which];
}

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
