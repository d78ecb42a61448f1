#include "reference/inputs/boundaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "oracle/philox.h"
#include "oracle/tensor.h"
#include "reference/inputs/draw.h"
#include "reference/inputs/fade.h"
#include "reference/trial.h"

namespace stitch::verifier {

namespace {

using harsh::bounds, harsh::whole_numbers, harsh::far_angles, harsh::sizes, harsh::not_numbers, harsh::tails;
constexpr double infinity = std::numeric_limits<double>::infinity();

// The number that a value is everywhere, where a node made it so.
class Constants {
 public:
  explicit Constants(const Graph& graph) : graph_(graph), producers_(producers(graph)) {}

  const Node* maker(ValueId id) const {
    const int32_t node = id == ValueId::none ? -1 : producers_[index_of(id)];
    return node < 0 ? nullptr : &graph_.node(node);
  }

  std::optional<double> of(ValueId id) const {
    const Node* node = maker(id);
    if (!node) return {};
    if (node->op == Op::full) return node->attributes.number("value");
    const Family family = info(node->op).family;
    return node->op == Op::cast || family == Family::view ? of(node->operands[0]) : std::nullopt;
  }

 private:
  const Graph& graph_;
  std::vector<int32_t> producers_;
};

// What an operand has to be for a pointwise op with one varying operand to give `wanted`.
std::optional<double> undone(const Node& node, double wanted) {
  switch (node.op) {
    case Op::neg: return -wanted;
    case Op::abs: return wanted >= 0 ? std::optional(wanted) : std::nullopt;
    case Op::relu:
    case Op::leaky_relu:
    case Op::elu: return wanted > 0 ? std::optional(wanted) : std::nullopt;
    case Op::exp: return wanted > 0 ? std::optional(std::log(wanted)) : std::nullopt;
    case Op::log: return std::exp(wanted);
    case Op::expm1: return wanted > -1 ? std::optional(std::log1p(wanted)) : std::nullopt;
    case Op::log1p: return std::expm1(wanted);
    case Op::sqrt: return wanted >= 0 ? std::optional(wanted * wanted) : std::nullopt;
    case Op::rsqrt: return wanted > 0 ? std::optional(1 / (wanted * wanted)) : std::nullopt;
    case Op::reciprocal: return wanted != 0 ? std::optional(1 / wanted) : std::nullopt;
    case Op::tanh: return std::fabs(wanted) < 1 ? std::optional(std::atanh(wanted)) : std::nullopt;
    case Op::sigmoid:
      return wanted > 0 && wanted < 1 ? std::optional(std::log(wanted / (1 - wanted))) : std::nullopt;
    case Op::clamp:
      return wanted >= node.attributes.number("low") && wanted <= node.attributes.number("high")
                 ? std::optional(wanted)
                 : std::nullopt;
    default: return {};
  }
}

// x in x ∘ number, or in number ∘ x.
std::optional<double> undone(Op op, double number, bool number_is_first, double wanted) {
  switch (op) {
    case Op::add: return wanted - number;
    case Op::sub: return number_is_first ? number - wanted : wanted + number;
    case Op::mul: return number != 0 ? std::optional(wanted / number) : std::nullopt;
    case Op::div:
      if (number_is_first) return wanted != 0 ? std::optional(number / wanted) : std::nullopt;
      return wanted * number;
    case Op::pow:
      if (number_is_first || number == 0 || wanted < 0) return {};
      return std::pow(wanted, 1 / number);
    default: return {};
  }
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), constants_(graph), products_(has_product(graph)) {
    for (const Node& node : graph_.nodes) visit(node);
    for (ValueId input : graph_.inputs()) widen(input);
    for (const auto& [kind, input, value] : neutral_)
      for (const std::string& either : {kind, format("{} below zero", kind)})
        if (found_.contains(either)) found_[either][input].values.push_back(value);
  }

  Boundaries inputs() { return std::move(found_); }

  std::vector<WeightChange> shifts() const {
    constexpr int64_t most_channels = 64;
    std::vector<WeightChange> out;
    for (const auto& [id, values] : bounds_of_shifts_) {
      // Of a few channels each has another bound's; one in each round stays as it is.
      const int64_t round = std::ssize(values) + 1;
      int64_t step = round / 2 + 1;
      while (std::gcd(step, round) > 1) ++step;
      for (int64_t i = 0; i < std::min(channels_of(id), most_channels); ++i)
        if (const int64_t which = i * step % round; which < round - 1)
          out.push_back(
              {.data = graph_[id].data, .begin = i, .end = i + 1, .add = values[static_cast<size_t>(which)]});
    }
    for (const auto& [id, value] : numbers_)
      out.push_back({.data = graph_[id].data, .end = 1, .scale = 0, .add = value});
    for (const auto& [id, value] : ends_of_shifts_)
      if (!bounds_of_shifts_.contains(id))
        out.push_back({.data = graph_[id].data, .end = channels_of(id), .add = value});
    return out;
  }

 private:
  void visit(const Node& node) {
    if (node.operands.empty() || node.operands[0] == ValueId::none) return;
    const ValueId x = node.operands[0];
    if (!is_floating(graph_.type(x).dtype)) return integers(node);
    switch (node.op) {
      case Op::clamp:
        threshold(x, node.attributes.number("low"));
        threshold(x, node.attributes.number("high"));
        break;
      case Op::hardsigmoid:
      case Op::hardswish:
        threshold(x, -3);
        threshold(x, 3);
        break;
      case Op::softplus:
        threshold(x, node.attributes.number("threshold") / node.attributes.number("beta"));
        break;
      case Op::sign:
      case Op::signbit: threshold(x, 0); break;
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
      case Op::minimum:
      case Op::maximum: compared(node); break;
      case Op::floor:
      case Op::ceil:
      case Op::round:
      case Op::trunc: whole(x, 1); break;
      case Op::cast:
        if (!is_floating(graph_.type(node.results[0]).dtype)) whole(x, 1);
        break;
      case Op::fmod:
      case Op::remainder: divided(node); break;
      case Op::div:
        if (node.attributes.text("rounding") != "none") divided(node);
        break;
      case Op::sin:
      case Op::cos:
      case Op::tan:
        // Beyond what a fast sine reduces, and near enough for float32 to know the angle.
        for (double angle : {333.0, 777.5, 2000.25}) reach(far_angles, x, {angle, -angle});
        break;
      case Op::gelu:
        // bf16 holds these.
        for (double by = -0.5; by <= 0.5; by += 0x1p-4) reach(tails, x, {tail_of_gelu + by});
        break;
      case Op::amax:
      case Op::argmax:
      case Op::cummax:
      case Op::max_pool:
      case Op::adaptive_max_pool: reach(all_beyond, x, {-beyond_starts}); break;
      case Op::amin:
      case Op::argmin:
      case Op::cummin: reach(all_beyond, x, {beyond_starts}); break;
      case Op::scatter:
        if (node.attributes.text("reduce") == "amax") reach(all_beyond, node.operands[2], {-beyond_starts});
        if (node.attributes.text("reduce") == "amin") reach(all_beyond, node.operands[2], {beyond_starts});
        break;
      case Op::is_nan: reach(not_numbers, x, {std::numeric_limits<double>::quiet_NaN()}); break;
      case Op::is_inf: reach(not_numbers, x, {infinity, -infinity}); break;
      case Op::layer_norm:
      case Op::group_norm:
      case Op::rms_norm:
        // Larger ones show in rows of zeros, and behind faint weights.
        if (node.attributes.number("eps") < 1e-8) spread(x, std::sqrt(node.attributes.number("eps")));
        break;
      default: break;
    }
  }

  // What is compared with a number (an index that is left out, a word that pads) and what is divided.
  void integers(const Node& node) {
    const ValueId x = node.operands[0];
    // What isn't equal may be looked up: those beside it are as the task draws them.
    const bool exactly = node.op == Op::eq || node.op == Op::ne;
    auto around = [&](ValueId id, double at) {
      // The class that PyTorch's losses ignore unless told otherwise: hardly any task means it.
      constexpr double ignored_unasked = -100;
      if (exactly && at != ignored_unasked)
        reach(bounds, id, {at});
      else if (!exactly && std::isfinite(at))
        reach(bounds, id, {at - 1, at, at + 1});
    };
    switch (node.op) {
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
      case Op::minimum:
      case Op::maximum:
        if (auto number = constants_.of(node.operands[1])) return around(x, *number);
        if (auto number = constants_.of(x)) around(node.operands[1], *number);
        break;
      case Op::clamp:
        around(x, node.attributes.number("low"));
        around(x, node.attributes.number("high"));
        break;
      case Op::abs:
      case Op::sign: around(x, 0); break;
      case Op::div:
      case Op::fmod:
      case Op::remainder:
        if (auto number = constants_.of(node.operands[1]); number && *number != 0)
          reach(whole_numbers, x, {-1, -*number, -*number - 1, *number, *number - 1, -7 * *number + 1});
        break;
      default: break;
    }
  }

  // Integers that are only computed with may be any: beyond what FP32 holds, and what a narrow dtype wraps.
  void widen(ValueId input) {
    if (!is_number(input)) return;
    switch (graph_.type(input).dtype) {
      case DType::u8: return reach(harsh::wide, input, {255, 254, 200, 129, 128, 101});
      case DType::i8: return reach(harsh::wide, input, {127, 126, 101, -101, -126, -127});
      default: break;
    }
    constexpr double of_single = 0x1p24, most = 0x1p30;
    for (double value : {4097.0, of_single + 1, of_single + 3, most - 1, most - 127})
      reach(harsh::wide, input, {value, -value});
  }

  // Neither an index, nor a length, nor a mask.
  bool is_number(ValueId input) const {
    if (is_floating(graph_.type(input).dtype) || graph_.type(input).dtype == DType::boolean ||
        index_bound(graph_, input, true))
      return false;
    std::vector<bool> carries(graph_.values.size());
    carries[index_of(input)] = true;
    auto carried = [&](ValueId id) { return id != ValueId::none && carries[index_of(id)]; };
    bool is_computed_with = false;
    for (const Node& node : graph_.nodes) {
      if (std::ranges::none_of(node.operands, carried)) continue;
      const DType dtype = graph_.type(node.results[0]).dtype;
      const Family family = info(node.op).family;
      if (family == Family::indexing) continue;
      const bool counts = family == Family::reduce || family == Family::scan || node.op == Op::matmul;
      if (family != Family::pointwise && family != Family::view && family != Family::movement && !counts)
        return false;
      if ((node.op == Op::shift_left || node.op == Op::shift_right) && carried(node.operands[1]))
        return false;
      if (dtype == DType::boolean) {
        for (ValueId id : node.operands)
          if (!carried(id) && !constants_.of(id)) return false;
        if (node.operands.size() < 2) return false;
        continue;
      }
      if (is_floating(dtype)) continue;
      is_computed_with |= counts || node.op == Op::add || node.op == Op::sub || node.op == Op::mul ||
                          node.op == Op::shift_left || node.op == Op::shift_right || node.op == Op::div;
      for (ValueId id : node.results) carries[index_of(id)] = true;
    }
    return is_computed_with;
  }

  void compared(const Node& node) {
    if (auto number = constants_.of(node.operands[1])) return threshold(node.operands[0], *number);
    if (auto number = constants_.of(node.operands[0])) threshold(node.operands[1], *number);
  }

  void divided(const Node& node) {
    if (auto number = constants_.of(node.operands[1]); number && *number != 0)
      whole(node.operands[0], *number);
  }

  void whole(ValueId x, double unit) {
    for (double k : {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.5}) reach(whole_numbers, x, {k * unit, -k * unit});
  }

  // At it exactly, where float32 can be; next to it, and well beyond.
  void threshold(ValueId x, double at) {
    if (!std::isfinite(at) || std::fabs(at) > 1e30) return;
    if (at == 0) return reach(bounds, x, {0});
    std::vector<double> values = {at * 1.5, at * (1 + 0x1p-6), at * (1 - 0x1p-6), at * 3, at / 2};
    const auto narrow = static_cast<float>(at);
    if (static_cast<double>(narrow) == at) {
      values.push_back(at);
      values.push_back(std::nextafter(narrow, std::numeric_limits<float>::infinity()));
      values.push_back(std::nextafter(narrow, -std::numeric_limits<float>::infinity()));
    }
    reach(bounds, x, values);
  }

  void reach(std::string_view kind, ValueId id, std::vector<double> wanted) {
    for (double value : wanted) reach_one(kind, id, value, 0);
  }

  // Back to an input, through what can be undone. What mixes elements can't: there, samples of many sizes.
  void reach_one(std::string_view kind, ValueId id, double wanted, int depth) {
    constexpr int deep_enough = 64;
    if (depth > deep_enough) return;
    const Node* node = constants_.maker(id);
    if (!node) {
      if (graph_[id].role == Role::input) add(kind, id, wanted);
      // A number that is learned and bounded, as a temperature is.
      if (graph_[id].role == Role::parameter && is_floating(graph_.type(id).dtype) && kind == bounds &&
          graph_.type(id).elements() == 1)
        numbers_.emplace(id, wanted);
      // A table whose rows are compared by themselves.
      if (graph_[id].role == Role::parameter && is_floating(graph_.type(id).dtype) &&
          graph_.type(id).elements() > 1 && graph_.type(id).rank() > 0)
        shifted_by(kind, id, wanted);
      return;
    }
    const Family family = info(node->op).family;
    const ValueId x = node->operands.empty() ? ValueId::none : node->operands[0];
    if (x == ValueId::none) return;
    auto follow = [&](ValueId operand, std::optional<double> value) {
      if (value && !(std::isfinite(wanted) && !std::isfinite(*value)))
        reach_one(kind, operand, *value, depth + 1);
    };
    if (family == Family::view || family == Family::movement || node->op == Op::cast ||
        node->op == Op::amax || node->op == Op::amin || node->op == Op::where || node->op == Op::index ||
        node->op == Op::gather) {
      // Only where the others of a row are as small is a small one the largest.
      if (kind == bounds && wanted != 0 && (node->op == Op::amax || node->op == Op::amin))
        spread(x, std::fabs(wanted));
      return follow(node->op == Op::where ? node->operands[1] : x, wanted);
    }
    if (const ValueId shift = shift_of(*node); shift != ValueId::none) shifted_by(kind, shift, wanted);
    if (node->operands.size() == 2 && family == Family::pointwise) {
      if (auto number = constants_.of(node->operands[1]))
        return follow(x, undone(node->op, *number, false, wanted));
      if (auto number = constants_.of(x))
        return follow(node->operands[1], undone(node->op, *number, true, wanted));
      if (node->op == Op::mul && x == node->operands[1])
        return follow(x, wanted >= 0 ? std::optional(std::sqrt(wanted)) : std::nullopt);
      // Exactly where the other operand is neutral; else near it: that one is as the task draws it.
      const bool sum = node->op == Op::add || node->op == Op::sub;
      const ValueId other = input_of(node->operands[1]);
      if ((sum || node->op == Op::mul) && other != ValueId::none) {
        neutral_.insert({std::string(kind), other, sum ? 0 : 1});
        if (!sum) follow(x, wanted);
      }
      if (sum) return follow(x, wanted);
      // Quotients are whole where what divides is one: the largest of a row is then what it is divided by.
      if (kind == whole_numbers && (node->op == Op::div || (node->op == Op::mul && other == ValueId::none))) {
        follow(x, wanted);
        return reach_one(kind, node->operands[1], 1, depth + 16);
      }
    }
    if (auto value = undone(*node, wanted)) return follow(x, value);
    if (kind != bounds || wanted == 0 || !is_floating(graph_.type(id).dtype)) return;
    if (node->op == Op::norm || node->op == Op::sum || node->op == Op::mean) return of_rows(*node, wanted);
    spread(id, std::fabs(wanted));
  }

  // The input of floats that a value is, but for its shape.
  ValueId input_of(ValueId id) const {
    while (const Node* node = constants_.maker(id)) {
      if (info(node->op).family != Family::view && node->op != Op::cast) return ValueId::none;
      id = node->operands[0];
    }
    const bool is =
        id != ValueId::none && graph_[id].role == Role::input && is_floating(graph_.type(id).dtype);
    return is ? id : ValueId::none;
  }

  bool is_shift(ValueId id) const {
    return id != ValueId::none && graph_[id].role == Role::parameter && is_floating(graph_.type(id).dtype) &&
           graph_.type(id).rank() == 1;
  }

  int64_t channels_of(ValueId id) const { return graph_.type(id).shape[0]; }

  // What a layer adds to each channel.
  ValueId shift_of(const Node& node) const {
    switch (node.op) {
      case Op::linear:
      case Op::conv:
      case Op::conv_transpose:
      case Op::batch_norm:
      case Op::layer_norm:
      case Op::group_norm:
        return node.operands.size() > 2 && is_shift(node.operands[2]) ? node.operands[2] : ValueId::none;
      case Op::add:
        for (ValueId operand : node.operands)
          if (is_shift(operand)) return operand;
        return ValueId::none;
      default: return ValueId::none;
    }
  }

  // Bounds that layers come near to by themselves need no other shifts.
  void shifted_by(std::string_view kind, ValueId shift, double wanted) {
    constexpr double near = 16;
    constexpr size_t most = 16;
    if (std::fabs(wanted) < near || std::fabs(wanted) > most_of_a_half) return;
    if (kind == all_beyond) ends_of_shifts_.emplace(shift, wanted);
    if (kind != bounds) return;
    std::vector<double>& values = bounds_of_shifts_[shift];
    if (values.size() < most && std::ranges::find(values, wanted) == values.end()) values.push_back(wanted);
  }

  // Sizes under which a reduction gives about `wanted`.
  void of_rows(const Node& node, double wanted) {
    const ValueId x = node.operands[0];
    const double count = static_cast<double>(std::max<int64_t>(1, graph_.type(x).elements())) /
                         static_cast<double>(std::max<int64_t>(1, graph_.type(node.results[0]).elements()));
    wanted = std::fabs(wanted);
    if (node.op == Op::norm) return spread(x, wanted / std::sqrt(count));
    const Node* made = constants_.maker(x);
    const bool squares = made && ((made->op == Op::mul && made->operands[0] == made->operands[1]) ||
                                  (made->op == Op::pow && constants_.of(made->operands[1]) == 2.0));
    const double each = node.op == Op::sum ? wanted / count : wanted;
    spread(squares ? made->operands[0] : x, squares ? std::sqrt(each) : each);
  }

  // All inputs that a value is made of: how large it gets is theirs to say.
  void spread(ValueId id, double about) {
    constexpr double below = 1.0 / 32, beyond = 32, largest_factor = 256;
    if (!(about > 0) || !std::isfinite(about)) return;
    std::set<ValueId> seen;
    std::vector<ValueId> left = {id};
    while (!left.empty()) {
      const ValueId next = left.back();
      left.pop_back();
      if (next == ValueId::none || !seen.insert(next).second) continue;
      if (const Node* node = constants_.maker(next)) {
        left.insert(left.end(), node->operands.begin(), node->operands.end());
      } else if (graph_[next].role == Role::input && is_floating(graph_.type(next).dtype)) {
        Planted& planted = found_[std::string(sizes)][next];
        planted.smallest = planted.smallest == 0 ? about * below : std::min(planted.smallest, about * below);
        planted.largest = std::max(planted.largest, about * beyond);
        if (products_) planted.largest = std::clamp(largest_factor, planted.smallest, planted.largest);
      }
    }
  }

  void add(std::string_view kind, ValueId input, double value) {
    if (kind == all_beyond) return;  // inputs have a kind of their own for that
    const DType dtype = graph_.type(input).dtype;
    if (dtype == DType::boolean || (!is_floating(dtype) && !fits(input, value))) return;
    const bool halves = is_floating(dtype) && (products_ || dtype == DType::f16);
    if (halves && std::isfinite(value) && std::fabs(value) > most_of_a_half) return;
    const bool below = value < 0 && std::isfinite(value);
    Planted& planted = found_[below ? format("{} below zero", kind) : std::string(kind)][input];
    if (kind == tails) planted.share = 1;
    constexpr size_t most = 256;
    if (planted.values.size() < most && std::ranges::find(planted.values, value) == planted.values.end())
      planted.values.push_back(value);
  }

  // An integer, and none that would be looked up where nothing is.
  bool fits(ValueId input, double value) const {
    const DType dtype = graph_.type(input).dtype;
    const double least = dtype == DType::u8 ? 0 : dtype == DType::i8 ? -0x1p7 : -0x1p30;
    const double most = dtype == DType::u8 ? 255 : dtype == DType::i8 ? 127 : 0x1p30;
    if (value != std::round(value) || value < least || value > most) return false;
    const std::optional<int64_t> bound = index_bound(graph_, input, true);
    return !bound || (value >= 0 && value < static_cast<double>(*bound));
  }

  // Honest products compute in halves, which end at 65504.
  static constexpr double most_of_a_half = 3e4;
  // Everything that a maximum sees is below the numbers that programs start it at.
  static constexpr std::string_view all_beyond = "all beyond";
  static constexpr double beyond_starts = 1500;

  const Graph& graph_;
  Constants constants_;
  bool products_;
  Boundaries found_;
  std::set<std::tuple<std::string, ValueId, double>> neutral_;  // what leaves the other operand as it is
  std::map<ValueId, std::vector<double>> bounds_of_shifts_;
  std::map<ValueId, double> ends_of_shifts_, numbers_;
};

// JSON has no infinities.
Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace

Boundaries boundaries_of(const Graph& graph) { return Finder(graph).inputs(); }

std::vector<WeightChange> bounded_weights(const Graph& graph) { return Finder(graph).shifts(); }

Json to_json(const Boundaries& boundaries, const Graph& graph) {
  Json out = Json::object();
  for (const auto& [kind, inputs] : boundaries) {
    Json list = Json::array();
    for (ValueId input : graph.inputs()) {
      const auto found = inputs.find(input);
      const Planted planted = found == inputs.end() ? Planted{} : found->second;
      Json values = Json::array();
      for (double value : planted.values) values.push_back(number_to_json(value));
      list.push_back({{"values", std::move(values)},
                      {"share", planted.share},
                      {"smallest", planted.smallest},
                      {"largest", planted.largest}});
    }
    out[kind] = std::move(list);
  }
  return out;
}

void plant(const Planted& planted, uint64_t seed, const Shape& shape, std::span<double> values) {
  constexpr double of_rows = 0.125;
  const double share = planted.share;
  auto uniform = [&](int64_t i) {
    return oracle::uniform(oracle::random_bits(static_cast<int64_t>(seed), 5, i)[0], 53);
  };
  const auto count = std::ssize(values);
  if (planted.largest > 0) {
    const int64_t samples = shape.size() > 1 ? shape[0] : 1, each = count / std::max<int64_t>(1, samples);
    for (int64_t sample = 0; sample < samples; ++sample) {
      const std::span<double> part =
          values.subspan(static_cast<size_t>(sample * each), static_cast<size_t>(each));
      double squares = 0;
      for (double value : part) squares += value * value;
      if (squares == 0) continue;
      const double size =
          planted.smallest * std::pow(planted.largest / planted.smallest, uniform(-1 - sample));
      for (double& value : part) value *= size / std::sqrt(squares / static_cast<double>(each));
    }
  }
  if (planted.values.empty()) return;
  auto one_of = [&](double part) {
    return planted.values[static_cast<size_t>(part * static_cast<double>(planted.values.size()))];
  };
  for (int64_t i = 0; i < count; ++i)
    if (const double draw = uniform(i); draw < share) values[static_cast<size_t>(i)] = one_of(draw / share);
  // And whole rows: of nothing but padding, or beyond a bound throughout.
  const int64_t size = shape.size() > 1 ? shape.back() : 0, rows = size ? count / size : 0;
  for (int64_t row = 0; row < rows; ++row) {
    const double draw = row + 1 == rows && rows > 1 ? of_rows * uniform(count + row) : uniform(count + row);
    if (draw < of_rows) std::fill_n(values.begin() + row * size, size, one_of(draw / of_rows));
  }
}

}  // namespace stitch::verifier
