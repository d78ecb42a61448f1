#include "cli/pages/layered.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace stitch {

namespace {

constexpr double box_gap = 26, group_gap = 18;
constexpr double wanted_ratio = 1.6;  // of the whole picture, width to height
constexpr double lowest_column = 900;
constexpr int position_sweeps = 7;  // they end downwards

}  // namespace

double Layered::row_height(int r) {
  double height = 0;
  for (int s : row(r))
    if (slot(s).item >= 0) height = std::max(height, item(slot(s).item).height);
  return height;
}

double Layered::row_width(int r) {
  double width = 0;
  for (int s : row(r)) width += slot(s).width + box_gap;
  return width;
}

// What it costs to cut below a row: values that must go round the corner, and a frame in two pieces.
double Layered::cut_price(int r) {
  double price = 0;
  std::set<std::string> above;
  for (int s : row(r)) {
    price += !slot(s).down.empty();
    if (slot(s).item >= 0) above.insert(item(slot(s).item).group);
  }
  above.erase("");
  for (int s : row(r + 1))
    if (slot(s).item >= 0 && above.contains(item(slot(s).item).group)) return price + 2;
  return price;
}

// Where a cut is cheap, near where the columns come out equally tall.
void Layered::cut_columns() {
  int count = static_cast<int>(rows_.size());
  std::vector<double> top(rows_.size() + 1, 0);
  double widest = 0;
  for (int r = 0; r < count; ++r) {
    top[static_cast<size_t>(r) + 1] = top[static_cast<size_t>(r)] + row_height(r) + row_gap;
    widest = std::max(widest, row_width(r));
  }
  double height = top.back();
  int wanted = static_cast<int>(std::lround(std::sqrt(wanted_ratio * height / (widest + column_gap))));
  wanted = std::clamp(wanted, 1, std::max(1, static_cast<int>(height / lowest_column)));
  int first = 0;
  for (int left = wanted; left > 1; --left) {
    double start = top[static_cast<size_t>(first)], share = (height - start) / left, slack = share / 4;
    int best = -1;
    double best_price = 0;
    for (int r = first; r + 1 < count; ++r) {
      double distance = std::abs(top[static_cast<size_t>(r) + 1] - start - share);
      if (distance > slack) continue;
      double price = cut_price(r) + 2 * distance / slack;
      if (best < 0 || price < best_price) {
        best = r;
        best_price = price;
      }
    }
    if (best < 0) continue;
    columns_.push_back({first, best});
    first = best + 1;
  }
  columns_.push_back({first, count - 1});
}

double Layered::room_between(int a, int b) {
  bool boxes = slot(a).item >= 0 && slot(b).item >= 0;
  double gap = boxes ? box_gap : box_gap / 2;
  auto group = [&](int s) { return item(slot(s).source).group; };
  if (boxes && group(a) != group(b)) gap += group_gap;
  return (slot(a).width + slot(b).width) / 2 + gap;
}

// Each slot as near as can be to where it would like to be, order and distances kept: isotonic
// regression, by pooling neighbours that got in each other's way.
void Layered::settle(const std::vector<int>& one_row, const std::vector<double>& wanted,
                     const std::vector<double>& weight) {
  struct Pool {
    double sum, weight;
    size_t count;
  };
  std::vector<Pool> pools;
  std::vector<double> offset(one_row.size(), 0);
  for (size_t i = 0; i < one_row.size(); ++i) {
    if (i) offset[i] = offset[i - 1] + room_between(one_row[i - 1], one_row[i]);
    pools.push_back({(wanted[i] - offset[i]) * weight[i], weight[i], 1});
    while (pools.size() > 1) {
      Pool &left = pools[pools.size() - 2], &right = pools.back();
      if (left.sum / left.weight <= right.sum / right.weight) break;
      left = {left.sum + right.sum, left.weight + right.weight, left.count + right.count};
      pools.pop_back();
    }
  }
  size_t i = 0;
  for (const Pool& pool : pools)
    for (size_t k = 0; k < pool.count; ++k, ++i) slot(one_row[i]).x = pool.sum / pool.weight + offset[i];
}

// Where a slot would like to be: under its sources, or above its users. A box with one box before it
// follows that one, whatever else passes: or every residual would push the rest of the model aside.
double Layered::wish(int s, const LayerColumn& column, bool downwards) {
  auto mean = [&](const std::vector<int>& neighbours) -> std::optional<double> {
    double sum = 0, count = 0, box_x = 0;
    int boxes = 0;
    for (int n : neighbours) {
      if (slot(n).row < column.first || slot(n).row > column.last) continue;
      sum += slot(n).x;
      ++count;
      if (slot(n).item < 0) continue;
      box_x = slot(n).x;
      ++boxes;
    }
    if (boxes == 1 && slot(s).item >= 0) return box_x;
    return count > 0 ? std::optional(sum / count) : std::nullopt;
  };
  if (auto x = mean(downwards ? slot(s).up : slot(s).down)) return *x;
  return mean(downwards ? slot(s).down : slot(s).up).value_or(slot(s).x);
}

void Layered::place(const LayerColumn& column) {
  for (int r = column.first; r <= column.last; ++r) {
    double x = 0;
    for (size_t i = 0; i < row(r).size(); ++i) {
      if (i) x += room_between(row(r)[i - 1], row(r)[i]);
      slot(row(r)[i]).x = x;
    }
    for (int s : row(r)) slot(s).x -= x / 2;
  }
  for (int sweep = 0; sweep < position_sweeps; ++sweep) {
    bool downwards = sweep % 2 == 0;
    for (int i = 0; i <= column.last - column.first; ++i) {
      const auto& one_row = row(downwards ? column.first + i : column.last - i);
      std::vector<double> wanted, weights;
      for (int s : one_row) {
        wanted.push_back(wish(s, column, downwards));
        weights.push_back(slot(s).item >= 0 ? 1e6 : 1);  // arrows go round boxes, not the other way
      }
      settle(one_row, wanted, weights);
    }
  }
  straighten(column);
}

// An arrow that passes several rows does so in one straight line, where the boxes leave room for one.
void Layered::straighten(const LayerColumn& column) {
  std::map<int, std::vector<int>> passing;  // by source, downwards
  for (int r = column.first; r <= column.last; ++r)
    for (int s : row(r))
      if (slot(s).item < 0) passing[slot(s).source].push_back(s);
  for (int round = 0; round < 2; ++round)
    for (const auto& [source, chain] : passing) {
      double low = -1e300, high = 1e300, sum = 0;
      for (int s : chain) {
        const auto& one_row = row(slot(s).row);
        size_t i = static_cast<size_t>(position_[static_cast<size_t>(s)]);
        if (i > 0) low = std::max(low, slot(one_row[i - 1]).x + room_between(one_row[i - 1], s));
        if (i + 1 < one_row.size())
          high = std::min(high, slot(one_row[i + 1]).x - room_between(s, one_row[i + 1]));
        sum += slot(s).x;
      }
      if (low > high) continue;
      double x = std::clamp(sum / static_cast<double>(chain.size()), low, high);
      for (int s : chain) slot(s).x = x;
    }
}

}  // namespace stitch
