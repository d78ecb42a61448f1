// Layers by longest path, order by barycentres, positions by least squares that keep the order.
#include "cli/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/format.h"

namespace stitch {

namespace {

constexpr double row_gap = 38, box_gap = 26, group_gap = 18, column_gap = 64;
constexpr double frame_padding = 10, frame_title = 20;
constexpr double lane_gap = 7;        // between arrows that go from one column to the next
constexpr double pass_width = 10;     // what an arrow needs to pass between boxes
constexpr double wanted_ratio = 1.6;  // of the whole picture, width to height
constexpr double lowest_column = 900;
constexpr int longest_routed = 40;  // rows; a longer arrow is drawn across, and only on demand
constexpr int order_sweeps = 16, position_sweeps = 7;  // positions end downwards

// A place in a row: a box, or where a long arrow passes.
struct GridSlot {
  int item = -1;    // -1: an arrow passes
  int source = -1;  // the item the arrow comes from
  int row = 0;
  double width = pass_width;
  double x = 0;  // of its centre
  std::vector<int> up, down;
};

struct LayerColumn {
  int first = 0, last = 0;  // rows, both included
  double left = 0, right = 0, bottom = 0;
};

class Layered {
 public:
  explicit Layered(const Drawing& drawing) : drawing_(drawing) {}

  Layout run() {
    assign_rows();
    make_slots();
    order_rows();
    cut_columns();
    for (const LayerColumn& column : columns_) place(column);
    return result();
  }

 private:
  size_t item_count() const { return drawing_.items.size(); }
  int& row_of(int item) { return slots_[static_cast<size_t>(item)].row; }
  GridSlot& slot(int s) { return slots_[static_cast<size_t>(s)]; }
  std::vector<int>& row(int r) { return rows_[static_cast<size_t>(r)]; }
  const Drawing::Item& item(int i) const { return drawing_.items[static_cast<size_t>(i)]; }

  void assign_rows() {
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

  void make_slots() {
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

  int64_t crossings() {
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

  void number(const std::vector<int>& one_row) {
    for (size_t i = 0; i < one_row.size(); ++i)
      position_[static_cast<size_t>(one_row[i])] = static_cast<int>(i);
  }

  void order_row(std::vector<int>& one_row, bool downwards) {
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

  void order_rows() {
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

  double row_height(int r) {
    double height = 0;
    for (int s : row(r))
      if (slot(s).item >= 0) height = std::max(height, item(slot(s).item).height);
    return height;
  }

  double row_width(int r) {
    double width = 0;
    for (int s : row(r)) width += slot(s).width + box_gap;
    return width;
  }

  // What it costs to cut below a row: values that must go round the corner, and a frame in two pieces.
  double cut_price(int r) {
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
  void cut_columns() {
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

  double room_between(int a, int b) {
    bool boxes = slot(a).item >= 0 && slot(b).item >= 0;
    double gap = boxes ? box_gap : box_gap / 2;
    auto group = [&](int s) { return item(slot(s).source).group; };
    if (boxes && group(a) != group(b)) gap += group_gap;
    return (slot(a).width + slot(b).width) / 2 + gap;
  }

  // Each slot as near as can be to where it would like to be, order and distances kept: isotonic
  // regression, by pooling neighbours that got in each other's way.
  void settle(const std::vector<int>& one_row, const std::vector<double>& wanted,
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
  double wish(int s, const LayerColumn& column, bool downwards) {
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

  void place(const LayerColumn& column) {
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
  void straighten(const LayerColumn& column) {
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

  Layout result() {
    // Arrows between two columns each get a lane of their own around the corner.
    std::vector<std::map<std::pair<int, int>, int>> lanes(columns_.size());
    std::vector<size_t> column_of_row(rows_.size());
    for (size_t c = 0; c < columns_.size(); ++c) {
      for (int r = columns_[c].first; r <= columns_[c].last; ++r) column_of_row[static_cast<size_t>(r)] = c;
      if (c + 1 == columns_.size()) continue;
      const auto& above = row(columns_[c].last);
      for (size_t i = above.size(); i-- > 0;)  // the rightmost turns first
        for (int below : slot(above[i]).down)
          lanes[c].try_emplace({above[i], below}, static_cast<int>(lanes[c].size()));
    }
    size_t most_lanes = 0;
    for (const auto& lane : lanes) most_lanes = std::max(most_lanes, lane.size());
    double top = frame_title + 16 + (columns_.size() > 1 ? lane_gap * static_cast<double>(most_lanes) : 0);

    // Columns side by side, rows below each other.
    std::vector<double> row_top(rows_.size());
    double left = frame_padding, lowest = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      LayerColumn& column = columns_[c];
      double low = 0, high = 0, y = top;
      bool any = false;
      for (int r = column.first; r <= column.last; ++r) {
        row_top[static_cast<size_t>(r)] = y;
        y += row_height(r) + row_gap;
        for (int s : row(r)) {
          low = any ? std::min(low, slot(s).x - slot(s).width / 2) : slot(s).x - slot(s).width / 2;
          high = any ? std::max(high, slot(s).x + slot(s).width / 2) : slot(s).x + slot(s).width / 2;
          any = true;
        }
      }
      for (int r = column.first; r <= column.last; ++r)
        for (int s : row(r)) slot(s).x += left - low;
      column.left = left;
      column.right = left + high - low;
      column.bottom = y - row_gap;
      lowest = std::max(lowest, column.bottom + lane_gap * static_cast<double>(lanes[c].size()) + 24);
      left = column.right + column_gap + lane_gap * static_cast<double>(lanes[c].size());
    }

    Layout out;
    out.width = columns_.empty() ? 0 : columns_.back().right + frame_padding;
    out.height = lowest + frame_padding;
    for (size_t i = 0; i < item_count(); ++i) {
      const GridSlot& s = slots_[i];
      const Drawing::Item& it = drawing_.items[i];
      double y = row_top[static_cast<size_t>(s.row)] + (row_height(s.row) - it.height) / 2;
      out.boxes.push_back({s.x - it.width / 2, y, it.width, it.height});
    }

    auto upper = [&](int s) {
      const GridSlot& at = slot(s);
      return at.item >= 0 ? out.boxes[static_cast<size_t>(at.item)].y : row_top[static_cast<size_t>(at.row)];
    };
    auto lower = [&](int s) {
      const GridSlot& at = slot(s);
      return upper(s) + (at.item >= 0 ? out.boxes[static_cast<size_t>(at.item)].height : row_height(at.row));
    };
    for (size_t a = 0; a < drawing_.arrows.size(); ++a) {
      auto [from, to] = drawing_.arrows[a];
      bool far = routes_[a].empty();
      std::vector<int> route = far ? std::vector<int>{from, to} : routes_[a];
      std::string path = format("M{:.1f} {:.1f}", slot(from).x, lower(from));
      for (size_t i = 0; i + 1 < route.size(); ++i) {
        int s = route[i], n = route[i + 1];
        double x0 = slot(s).x, y0 = lower(s), x1 = slot(n).x, y1 = upper(n);
        size_t c = column_of_row[static_cast<size_t>(slot(s).row)];
        if (!far && c != column_of_row[static_cast<size_t>(slot(n).row)]) {
          double lane = lane_gap * lanes[c].at({s, n});
          double turn = columns_[c].bottom + frame_padding + 8 + lane,
                 over = columns_[c].right + column_gap / 2 + lane;
          double enter = top - frame_title - 8 - lane;
          path += around_the_corner(x0, y0, turn, over, enter, x1, y1);
        } else if (std::abs(x0 - x1) < 0.5) {
          path += format("L{:.1f} {:.1f}", x1, y1);
        } else {
          // Across far rows the curve bends where it starts and ends, between rows in the middle.
          double bend = far ? std::min(std::abs(y1 - y0) / 3 + 60, 400.0) : (y1 - y0) / 2;
          path += format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x0, y0 + bend, x1, y1 - bend, x1, y1);
        }
        if (i + 2 < route.size()) path += format("L{:.1f} {:.1f}", slot(n).x, lower(n));
      }
      out.lines.push_back({from, to, far, std::move(path)});
    }
    add_frames(out, column_of_row);
    return out;
  }

  // Down to the lane, right into the gutter, up along it, right, and down into the next column.
  static std::string around_the_corner(double x0, double y0, double turn, double over, double enter,
                                       double x1, double y1) {
    constexpr double r = 8;
    double side = x1 >= over ? r : -r;
    return format("L{:.1f} {:.1f}", x0, std::max(turn - r, y0)) +
           format("Q{:.1f} {:.1f} {:.1f} {:.1f}", x0, turn, x0 + r, turn) +
           format("L{:.1f} {:.1f}", over - r, turn) +
           format("Q{:.1f} {:.1f} {:.1f} {:.1f}", over, turn, over, turn - r) +
           format("L{:.1f} {:.1f}", over, enter + r) +
           format("Q{:.1f} {:.1f} {:.1f} {:.1f}", over, enter, over + side, enter) +
           format("L{:.1f} {:.1f}", x1 - side, enter) +
           format("Q{:.1f} {:.1f} {:.1f} {:.1f}", x1, enter, x1, enter + r) +
           format("L{:.1f} {:.1f}", x1, y1);
  }

  void add_frames(Layout& out, const std::vector<size_t>& column_of_row) {
    struct Extent {
      double left = 1e300, top = 1e300, right = -1e300, bottom = -1e300;
      int count = 0;
    };
    std::map<std::pair<std::string, size_t>, Extent> extents;
    for (size_t i = 0; i < item_count(); ++i) {
      const std::string& group = drawing_.items[i].group;
      if (group.empty()) continue;
      const Layout::Box& box = out.boxes[i];
      Extent& e = extents[{group, column_of_row[static_cast<size_t>(slots_[i].row)]}];
      e.left = std::min(e.left, box.x);
      e.top = std::min(e.top, box.y);
      e.right = std::max(e.right, box.x + box.width);
      e.bottom = std::max(e.bottom, box.y + box.height);
      ++e.count;
    }
    for (const auto& [key, e] : extents) {
      if (e.count < 3) continue;
      out.frames.push_back(
          {key.first,
           {e.left - frame_padding, e.top - frame_title, e.right - e.left + 2 * frame_padding,
            e.bottom - e.top + frame_title + frame_padding}});
    }
  }

  const Drawing& drawing_;
  std::vector<GridSlot> slots_;  // the items first
  std::vector<std::vector<int>> rows_;
  std::vector<std::vector<int>> routes_;  // each arrow's slots; empty: too long to route
  std::vector<int> position_;
  std::vector<LayerColumn> columns_;
};

}  // namespace

Layout lay_out(const Drawing& drawing) {
  if (drawing.items.empty()) return {};
  return Layered(drawing).run();
}

}  // namespace stitch
