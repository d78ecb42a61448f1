#include "cli/pages/layered.h"

#include <algorithm>
#include <map>

namespace stitch {

namespace {

constexpr int longest_routed = 40;  // rows; a longer arrow is drawn across, and only on demand
constexpr int order_sweeps = 16;

}  // namespace

void Layered::assign_rows() {
  slots_.resize(item_count());
  std::vector<bool> fixed(item_count()), has_source(item_count());
  for (size_t i = 0; i < item_count(); ++i) {
    slots_[i].item = slots_[i].source = static_cast<int>(i);
    slots_[i].width = drawing_.items[i].width;
    fixed[i] = drawing_.items[i].anchored;
  }
  auto arrows = drawing_.arrows;
  std::ranges::sort(arrows, {}, [](const auto& arrow) { return std::pair(arrow.second, arrow.first); });
  for (auto [from, to] : arrows) {
    size_t f = static_cast<size_t>(from), t = static_cast<size_t>(to);
    row_of(to) = std::max(row_of(to), row_of(from) + 1);
    fixed[t] = fixed[t] || fixed[f];
    has_source[t] = true;
  }
  // What doesn't follow from an anchor stands right before its first use.
  std::ranges::sort(arrows, std::ranges::greater{});
  for (size_t a = 0; a < arrows.size();) {
    int from = arrows[a].first, first = -1;
    for (; a < arrows.size() && arrows[a].first == from; ++a)
      first = first < 0 ? row_of(arrows[a].second) : std::min(first, row_of(arrows[a].second));
    size_t f = static_cast<size_t>(from);
    if (!fixed[f] || !has_source[f]) row_of(from) = std::max(row_of(from), first - 1);
  }
}

void Layered::make_slots() {
  int last = 0;
  for (const GridSlot& s : slots_) last = std::max(last, s.row);
  rows_.resize(static_cast<size_t>(last) + 1);
  for (size_t i = 0; i < item_count(); ++i) row(slots_[i].row).push_back(static_cast<int>(i));
  // All arrows out of one box share the places they pass.
  std::map<std::pair<int, int>, int> passing;
  auto connect = [&](int above, int below) {
    auto& down = slot(above).down;
    if (std::ranges::find(down, below) != down.end()) return;
    down.push_back(below);
    slot(below).up.push_back(above);
  };
  for (auto [from, to] : drawing_.arrows) {
    routes_.emplace_back();
    int start = row_of(from), end = row_of(to);
    if (end - start > longest_routed) continue;
    std::vector<int>& route = routes_.back();
    route.push_back(from);
    for (int r = start + 1; r < end; ++r) {
      auto [place, fresh] = passing.try_emplace({from, r}, static_cast<int>(slots_.size()));
      if (fresh) {
        slots_.push_back({.source = from, .row = r});
        row(r).push_back(place->second);
      }
      route.push_back(place->second);
    }
    route.push_back(to);
    for (size_t i = 0; i + 1 < route.size(); ++i) connect(route[i], route[i + 1]);
  }
}

int64_t Layered::crossings() {
  int64_t count = 0;
  for (size_t r = 0; r + 1 < rows_.size(); ++r) {
    std::vector<std::pair<int, int>> pairs;
    for (int s : rows_[r])
      for (int below : slot(s).down)
        pairs.push_back({position_[static_cast<size_t>(s)], position_[static_cast<size_t>(below)]});
    if (pairs.size() > 400) continue;  // so wide a row is a mesh anyhow
    for (size_t a = 0; a < pairs.size(); ++a)
      for (size_t b = a + 1; b < pairs.size(); ++b)
        count += (pairs[a].first < pairs[b].first && pairs[a].second > pairs[b].second) ||
                 (pairs[a].first > pairs[b].first && pairs[a].second < pairs[b].second);
  }
  return count;
}

void Layered::number(const std::vector<int>& one_row) {
  for (size_t i = 0; i < one_row.size(); ++i)
    position_[static_cast<size_t>(one_row[i])] = static_cast<int>(i);
}

void Layered::order_row(std::vector<int>& one_row, bool downwards) {
  std::vector<std::pair<double, int>> keyed;
  for (int s : one_row) {
    const auto& neighbours = downwards ? slot(s).up : slot(s).down;
    double key = position_[static_cast<size_t>(s)];
    if (!neighbours.empty()) {
      double sum = 0;
      for (int n : neighbours) sum += position_[static_cast<size_t>(n)];
      key = sum / static_cast<double>(neighbours.size());
    }
    keyed.push_back({key, s});
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& pair) { return pair.first; });
  for (size_t i = 0; i < keyed.size(); ++i) one_row[i] = keyed[i].second;
  number(one_row);
}

void Layered::order_rows() {
  position_.resize(slots_.size());
  for (const auto& one_row : rows_) number(one_row);
  auto best = rows_;
  int64_t fewest = crossings();
  for (int sweep = 0; sweep < order_sweeps && fewest > 0; ++sweep) {
    bool downwards = sweep % 2 == 0;
    for (size_t i = 0; i < rows_.size(); ++i)
      order_row(rows_[downwards ? i : rows_.size() - 1 - i], downwards);
    int64_t count = crossings();
    if (count < fewest) {
      fewest = count;
      best = rows_;
    }
  }
  rows_ = std::move(best);
  for (const auto& one_row : rows_) number(one_row);
}

}  // namespace stitch
