#include "reference/numerics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/bulk.h"
#include "base/machine/parallel.h"
#include "base/text.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

namespace {

constexpr int64_t stretch_length = 1 << 16;

template <class T>
T element(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Calls body(read) with a function that gives element i as a double, or as an integer.
template <class Body>
void with_reader(const TensorBytes& tensor, Body&& body) {
  const std::byte* data = tensor.bytes.data();
  switch (tensor.type.dtype) {
    case DType::f64: return body([=](int64_t i) { return element<double>(data, i); });
    case DType::f32: return body([=](int64_t i) { return static_cast<double>(element<float>(data, i)); });
    case DType::f16:
      return body([=](int64_t i) { return oracle::from_half_bits(element<uint16_t>(data, i)); });
    case DType::bf16:
      return body([=](int64_t i) { return oracle::from_bfloat_bits(element<uint16_t>(data, i)); });
    case DType::i64: return body([=](int64_t i) { return element<int64_t>(data, i); });
    case DType::i32: return body([=](int64_t i) { return static_cast<int64_t>(element<int32_t>(data, i)); });
    case DType::i8: return body([=](int64_t i) { return static_cast<int64_t>(element<int8_t>(data, i)); });
    case DType::u8:
    case DType::boolean:
      return body([=](int64_t i) { return static_cast<int64_t>(element<uint8_t>(data, i)); });
  }
}

void add(Distance& sum, const Distance& part) {
  sum.error += part.error;
  sum.truth += part.truth;
  if (part.largest > sum.largest || sum.worst < 0) {
    sum.largest = part.largest;
    sum.worst = part.worst;
  }
  sum.not_finite += part.not_finite;
  sum.unequal += part.unequal;
  sum.nan_lost += part.nan_lost;
  if (part.first_bad >= 0 && (sum.first_bad < 0 || part.first_bad < sum.first_bad))
    sum.first_bad = part.first_bad;
  sum.scattered = sum.scattered || part.scattered;
}

template <class A, class B>
bool equal_numbers(A a, B b) {
  if constexpr (std::is_same_v<A, B>)
    return a == b;
  else
    return static_cast<double>(a) == static_cast<double>(b);
}

// NaN or infinite where the truth isn't, or the other way round.
bool is_bad(double x, double expected, NotFinite rule) {
  if (std::isfinite(expected)) return !std::isfinite(x);
  if (std::isnan(expected) && rule != NotFinite::as_the_truth) return false;
  if (rule == NotFinite::any) return std::isfinite(x);
  return std::isnan(expected) ? !std::isnan(x) : x != expected;
}

// One stretch of elements; error and truth are sums of squares here.
template <class Value, class Truth>
Distance stretch(const Value& value, const Truth& truth, int64_t begin, int64_t end, NotFinite rule) {
  Distance part;
  auto bad = [&](int64_t& count, int64_t i) {
    ++count;
    if (part.first_bad < 0) part.first_bad = i;
  };
  for (int64_t i = begin; i < end; ++i) {
    auto expected = truth(i);
    auto got = value(i);
    if constexpr (std::is_same_v<decltype(expected), int64_t>) {
      // As integers: float64 can't tell 2^53 from its neighbour.
      if (!equal_numbers(expected, got)) bad(part.unequal, i);
    } else {
      double x = static_cast<double>(got);
      if (is_bad(x, expected, rule)) bad(part.not_finite, i);
      if (!std::isfinite(expected)) {
        part.scattered = true;
        part.nan_lost += rule != NotFinite::as_the_truth && std::isnan(expected) && std::isfinite(x);
        continue;
      }
      if (!std::isfinite(x)) continue;
      double difference = std::fabs(x - expected);
      part.error += difference * difference;
      part.truth += expected * expected;
      if (difference > part.largest || part.worst < 0) {
        part.largest = difference;
        part.worst = i;
      }
    }
  }
  return part;
}

}  // namespace

std::vector<double> as_doubles(const TensorBytes& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.type.elements()));
  with_reader(tensor, [&](auto read) {
    parallel_for(std::ssize(out), stretch_length, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[static_cast<size_t>(i)] = static_cast<double>(read(i));
    });
  });
  return out;
}

namespace {

std::string place(const TensorType& type, int64_t index) {
  if (index < 0) return "nowhere";
  std::vector<int64_t> coordinates(type.shape.size());
  for (size_t d = type.shape.size(); d-- > 0;) {
    coordinates[d] = index % type.shape[d];
    index /= type.shape[d];
  }
  return '[' + join(coordinates, ",") + ']';
}

// What PyTorch's own error allows.
constexpr double relative_factor = 2, componentwise_factor = 8;
// PyTorch's result says little itself: rounding was amplified, and two honest programs differ by as much.
constexpr double amplified = 0.1, amplified_factor = 10;

double factor_of(double pytorch) { return pytorch > amplified ? amplified_factor : relative_factor; }

void judge(Comparison& out, const TensorType& type, const Judging& judging) {
  double floor = std::max(judging.floor, judging.sensitivity);
  // What a program makes of inputs on which PyTorch overflows everywhere has no known error.
  if (out.pytorch && out.pytorch->says_nothing()) floor = std::max(floor, amplified);
  double pytorch = out.pytorch ? out.pytorch->relative() : 0;
  double factor = factor_of(pytorch);
  out.budget = relative_budget(pytorch, floor);
  double scale = out.own.elements ? out.own.rms() : 0;
  out.largest_allowed =
      std::max(componentwise_factor * (out.pytorch ? out.pytorch->largest : 0), 64 * floor * scale);
  // Sums that cancel to nothing: PyTorch's own residue is the scale.
  double allowed_error = std::max(out.budget * out.own.truth, out.pytorch ? factor * out.pytorch->error : 0);
  if (out.own.not_finite > 0)
    out.reason = format("{} of {} elements are NaN or infinite where they should not be, the first at {}",
                        out.own.not_finite, out.own.elements, place(type, out.own.first_bad));
  else if (out.own.unequal > 0)
    out.reason = format("{} of {} integers differ, the first at {}", out.own.unequal, out.own.elements,
                        place(type, out.own.first_bad));
  else if (out.own.error > allowed_error)
    out.reason = format("relative error {:.2e} is over the budget of {:.2e}", out.own.relative(), out.budget);
  else if ((out.by_one_element = out.own.largest > out.largest_allowed))
    out.reason = format("at {} the error {:.2e} is over the {:.2e} that one element may have",
                        place(type, out.own.worst), out.own.largest, out.largest_allowed);
  out.passed = out.reason.empty();
}

// Sums of squares over each index along each dimension.
struct SliceSums {
  std::vector<double> error, truth, pytorch;
};

// Squares of a tensor added up for each index along an axis: contiguous stretches, which are what most of the
// time goes into.
std::vector<double> sums_along(const Shape& shape, size_t axis, const std::vector<double>& squares) {
  const auto size = static_cast<size_t>(shape[axis]);
  const auto inner = static_cast<size_t>(contiguous_strides(shape)[axis]);
  std::vector<double> out(size);
  for (size_t at = 0, index = 0; at < squares.size();
       at += inner, index = index + 1 == size ? 0 : index + 1) {
    double sum = 0;
    for (size_t i = 0; i < inner; ++i) sum += squares[at + i];
    out[index] += sum;
  }
  return out;
}

// Nought where one of them is not finite: that is judged elsewhere.
double squared_difference(double a, double b) {
  const double difference = a - b;
  return std::isfinite(difference) ? difference * difference : 0;
}

// For each index along each axis. One pass over the elements gives the sums of the last axis and those of
// every row, which the other axes add up. Pieces don't depend on the machine's cores, so that sums are the
// same everywhere.
std::vector<SliceSums> slice_sums(const Shape& shape, const std::vector<double>& values,
                                  const std::vector<double>& truth, const std::vector<double>& pytorch) {
  if (shape.empty() || truth.empty()) return std::vector<SliceSums>(shape.size());
  constexpr size_t most_pieces = 64, most_numbers = size_t{1} << 22;
  const auto columns = static_cast<size_t>(shape.back());
  const size_t rows = truth.size() / columns,
               pieces = std::clamp<size_t>(most_numbers / columns, 1, std::min(rows, most_pieces));
  auto zeros = [](size_t count) {
    return SliceSums{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count)};
  };
  SliceSums of_rows = zeros(rows);
  std::vector<SliceSums> of_columns(pieces, zeros(columns));
  parallel_for(static_cast<int64_t>(pieces), 1, [&](int64_t begin, int64_t end) {
    for (auto piece = static_cast<size_t>(begin); piece < static_cast<size_t>(end); ++piece)
      for (size_t row = rows * piece / pieces; row < rows * (piece + 1) / pieces; ++row)
        for (size_t column = 0, i = row * columns; column < columns; ++column, ++i) {
          const double error = squared_difference(values[i], truth[i]), square = truth[i] * truth[i],
                       other = squared_difference(pytorch[i], truth[i]);
          SliceSums& sums = of_columns[piece];
          of_rows.error[row] += error, sums.error[column] += error;
          of_rows.truth[row] += square, sums.truth[column] += square;
          of_rows.pytorch[row] += other, sums.pytorch[column] += other;
        }
  });
  std::vector<SliceSums> out;
  const Shape outer(shape.begin(), shape.end() - 1);
  for (size_t axis = 0; axis < outer.size(); ++axis)
    out.push_back({sums_along(outer, axis, of_rows.error), sums_along(outer, axis, of_rows.truth),
                   sums_along(outer, axis, of_rows.pytorch)});
  SliceSums& last = out.emplace_back(std::move(of_columns[0]));
  for (size_t piece = 1; piece < pieces; ++piece)
    for (auto part : {&SliceSums::error, &SliceSums::truth, &SliceSums::pytorch})
      for (size_t column = 0; column < columns; ++column)
        (last.*part)[column] += (of_columns[piece].*part)[column];
  return out;
}

// A row or a column that is small beside the others is nothing in the norm of all of them: it has to be right
// by itself. Where the truth nearly cancels, PyTorch's own error says what rounding leaves.
void judge_slices(Comparison& out, const TensorBytes& values, const TensorBytes& truth,
                  const TensorBytes* pytorch, bool biases_prevail) {
  // Larger ones are PyTorch's to compare, which has no such measure.
  constexpr int64_t most_elements = 1 << 24, least_elements = 8;
  constexpr double margin = 64;
  const Shape& shape = truth.type.shape;
  const int64_t elements = truth.type.elements();
  if (!out.passed || out.own.scattered || truth.type.dtype != DType::f64 || elements > most_elements) return;
  const std::vector<double> exact = as_doubles(truth);
  const std::vector<SliceSums> sums =
      slice_sums(shape, as_doubles(values), exact, pytorch ? as_doubles(*pytorch) : exact);
  if (sums.empty()) return;
  // What rounding leaves of an element whose sums cancel: as much as PyTorch leaves of all of them, a few
  // times that where errors go together. Its error in one slice alone is no measure: of a thousand logits
  // whose samples are nearly alike, a few are right by chance. Without PyTorch that is not known.
  const double theirs =
      std::sqrt(std::reduce(sums[0].pytorch.begin(), sums[0].pytorch.end()) / static_cast<double>(elements));
  const double noise = pytorch && !biases_prevail
                           ? std::max(out.budget / margin * out.own.rms(), componentwise_factor * theirs)
                           : out.budget * out.own.rms();
  for (size_t axis = 0; axis < shape.size() && out.passed; ++axis) {
    const int64_t count = shape[axis] ? elements / shape[axis] : 0;
    if (count < least_elements || shape[axis] < 2) continue;
    for (size_t i = 0; i < sums[axis].error.size() && out.passed; ++i) {
      const double error = std::sqrt(sums[axis].error[i]), size = std::sqrt(sums[axis].truth[i]);
      const double by_itself =
          std::max(componentwise_factor * std::sqrt(sums[axis].pytorch[i]), margin * out.budget * size);
      if (error <= by_itself) continue;
      const SmallSlice slice{axis, static_cast<int64_t>(i), error};
      out.passed = error <= noise * std::sqrt(static_cast<double>(count));
      // Nothing at all is what is left where sums cancel.
      if (!out.passed)
        out.reason =
            format("{}: the relative error is {:.2e}", reason_of(slice), size > 0 ? error / size : error);
      else if (size > 0)
        out.unsure.push_back(slice);
    }
  }
}

// The largest elements of a tensor whose others are tiny (a softmax that is sure of itself) have rounding
// errors of their own size, and not of the tensor's.
void look_at_elements(Comparison& out, const TensorBytes& values, const TensorBytes& truth, double floor) {
  const std::vector<double> own = as_doubles(values), exact = as_doubles(truth);
  for (size_t i = 0; i < exact.size(); ++i)
    if (std::fabs(own[i] - exact[i]) >
        std::max(out.largest_allowed, componentwise_factor * floor * std::fabs(exact[i])))
      return;
  out.by_one_element = false;
  out.reason.clear();
  out.passed = true;
}

std::vector<int64_t> as_integers(const TensorBytes& tensor) {
  std::vector<int64_t> out(static_cast<size_t>(tensor.type.elements()));
  with_reader(tensor, [&](auto read) {
    for (int64_t i = 0; i < std::ssize(out); ++i) out[static_cast<size_t>(i)] = static_cast<int64_t>(read(i));
  });
  return out;
}

// Where integers are not the truth's, PyTorch's own are as good: ties and rounding before an argmax.
int64_t unequal_to_both(const TensorBytes& values, const TensorBytes& truth, const TensorBytes& pytorch,
                        int64_t& first) {
  const std::vector<int64_t> own = as_integers(values), exact = as_integers(truth),
                             other = as_integers(pytorch);
  int64_t count = 0;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != exact[i] && own[i] != other[i] && count++ == 0) first = static_cast<int64_t>(i);
  return count;
}

// What overflows in PyTorch too, or is NaN there, is not this program's doing.
int64_t bad_alone(const TensorBytes& values, const TensorBytes& truth, const TensorBytes& pytorch,
                  NotFinite rule, int64_t& first) {
  const std::vector<double> own = as_doubles(values), exact = as_doubles(truth), other = as_doubles(pytorch);
  int64_t count = 0;
  for (size_t i = 0; i < own.size(); ++i)
    if (is_bad(own[i], exact[i], rule) && !is_bad(other[i], exact[i], rule) && count++ == 0)
      first = static_cast<int64_t>(i);
  return count;
}

}  // namespace

double relative_budget(double pytorch, double floor) { return std::max(factor_of(pytorch) * pytorch, floor); }

double Distance::relative() const {
  if (truth > 0) return error / truth;
  return error > 0 ? std::numeric_limits<double>::infinity() : 0;
}

bool Distance::says_nothing() const { return elements > 0 && worst < 0; }

double Distance::rms() const { return elements ? truth / std::sqrt(static_cast<double>(elements)) : 0; }

Distance distance(const TensorBytes& values, const TensorBytes& truth, NotFinite rule) {
  require(values.type.shape == truth.type.shape, "tensors of different shapes are compared");
  int64_t elements = truth.type.elements();
  std::vector<Distance> parts(static_cast<size_t>((elements + stretch_length - 1) / stretch_length));
  with_reader(values, [&](auto value) {
    with_reader(truth, [&](auto expected) {
      parallel_for(std::ssize(parts), 4, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part)
          parts[static_cast<size_t>(part)] = stretch(value, expected, part * stretch_length,
                                                     std::min(elements, (part + 1) * stretch_length), rule);
      });
    });
  });
  Distance sum;
  for (const Distance& part : parts) add(sum, part);
  sum.error = std::sqrt(sum.error);
  sum.truth = std::sqrt(sum.truth);
  sum.elements = elements;
  return sum;
}

double least_truth_of_means(const Distance& variances) {
  const double elements = static_cast<double>(variances.elements);
  return std::isfinite(variances.truth) ? std::sqrt(std::sqrt(elements) * variances.truth) : 0;
}

Comparison conclude(const Distance& own, const std::optional<Distance>& pytorch, const TensorType& type,
                    const Judging& judging) {
  Comparison out{.own = own, .pytorch = pytorch, .sensitivity = judging.sensitivity};
  out.own.truth = std::max(out.own.truth, judging.least_truth);
  if (out.pytorch) out.pytorch->truth = std::max(out.pytorch->truth, judging.least_truth);
  judge(out, type, judging);
  return out;
}

Comparison compare(const TensorBytes& values, const TensorBytes& truth, const TensorBytes* pytorch,
                   const Judging& judging, const Distance* known) {
  Distance own = distance(values, truth, judging.not_finite);
  if (own.unequal > 0 && pytorch) own.unequal = unequal_to_both(values, truth, *pytorch, own.first_bad);
  std::optional<Distance> others;
  if (pytorch) others = known ? *known : distance(*pytorch, truth, judging.not_finite);
  if (own.not_finite > 0 && others && others->not_finite > 0)
    own.not_finite = bad_alone(values, truth, *pytorch, judging.not_finite, own.first_bad);
  Comparison out = conclude(own, others, truth.type, judging);
  if (out.by_one_element) look_at_elements(out, values, truth, judging.floor);
  if (judging.least_truth == 0) judge_slices(out, values, truth, pytorch, judging.biases_prevail);
  return out;
}

double kernelbench_tolerance(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? 1e-2 : 1e-4;
}

KernelBenchCheck kernelbench_allclose(const TensorBytes& values, const TensorBytes& pytorch,
                                      double tolerance) {
  int64_t outside = 0, elements = values.type.elements();
  with_reader(values, [&](auto value) {
    with_reader(pytorch, [&](auto expected) {
      for (int64_t i = 0; i < elements; ++i) {
        double got = static_cast<double>(value(i)), wanted = static_cast<double>(expected(i));
        bool close = got == wanted || std::fabs(wanted - got) <= tolerance + tolerance * std::fabs(got);
        if (!close) ++outside;
      }
    });
  });
  return {outside == 0, elements ? static_cast<double>(outside) / static_cast<double>(elements) : 0};
}

bool is_rounding(const SmallSlice& slice, const TensorBytes& honest, const TensorBytes& truth) {
  const std::vector<double> exact = as_doubles(truth);
  const std::vector<double> sums =
      slice_sums(truth.type.shape, as_doubles(honest), exact, exact)[slice.axis].error;
  return slice.error <= componentwise_factor * std::sqrt(sums[static_cast<size_t>(slice.index)]);
}

std::string reason_of(const SmallSlice& slice) {
  return format("wrong at index {} of dimension {}, which is small beside the others", slice.index,
                slice.axis);
}

bool identical(const TensorBytes& a, const TensorBytes& b) { return equal_bulk(a.bytes, b.bytes); }

namespace {

// How much of a wrong result is right: of integers and of what isn't finite the elements, of floats the share
// of ‖truth‖² that is there, so that nothing, zeros and noise are worth nothing.
double right_share(const Comparison& comparison) {
  const Distance& own = comparison.own;
  if (own.elements == 0) return 0;
  const double missing =
      static_cast<double>(std::max(own.unequal, own.not_finite)) / static_cast<double>(own.elements);
  const double relative = own.relative();
  return std::isfinite(relative) ? std::clamp(1 - relative * relative, 0.0, 1.0) * (1 - missing) : 0;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  Json json = {{"passed", comparison.passed},
               {"relative_error", comparison.own.relative()},
               {"budget", comparison.budget},
               {"largest_error", comparison.own.largest},
               {"largest_allowed", comparison.largest_allowed}};
  if (comparison.pytorch) json["pytorch_relative_error"] = comparison.pytorch->relative();
  if (comparison.sensitivity > 0) json["sensitivity"] = comparison.sensitivity;
  if (comparison.own.nan_lost > 0) json["nan_lost"] = comparison.own.nan_lost;
  if (comparison.at_jumps > 0) json["accepted_at_discontinuities"] = comparison.at_jumps;
  if (!comparison.passed) {
    json["reason"] = comparison.reason;
    json["right_share"] = right_share(comparison);
  }
  return json;
}

}  // namespace stitch::verifier
