#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "cli/pages/layered.h"

namespace stitch {

namespace {

constexpr double frame_padding = 10, frame_title = 20;
constexpr double lane_gap = 7;  // between arrows that go from one column to the next

}  // namespace

Layout Layered::result() {
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
std::string Layered::around_the_corner(double x0, double y0, double turn, double over, double enter,
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
         format("Q{:.1f} {:.1f} {:.1f} {:.1f}", x1, enter, x1, enter + r) + format("L{:.1f} {:.1f}", x1, y1);
}

// Around the boxes of a group in one column. Where boxes of others stand between them there are several
// frames, so that none is around a box that isn't of the group.
void Layered::add_frames(Layout& out, const std::vector<size_t>& column_of_row) {
  std::map<std::pair<std::string, size_t>, std::vector<size_t>> groups;
  std::map<std::string, int> sizes;
  for (size_t i = 0; i < item_count(); ++i) {
    const std::string& group = drawing_.items[i].group;
    if (group.empty()) continue;
    groups[{group, column_of_row[static_cast<size_t>(slots_[i].row)]}].push_back(i);
    ++sizes[group];
  }
  auto around = [&](const Layout::Box& frame, const Layout::Box& box) {
    const double left = std::min(frame.x, box.x - frame_padding),
                 top = std::min(frame.y, box.y - frame_title),
                 right = std::max(frame.x + frame.width, box.x + box.width + frame_padding),
                 bottom = std::max(frame.y + frame.height, box.y + box.height + frame_padding);
    return Layout::Box{left, top, right - left, bottom - top};
  };
  auto around_one = [&](const Layout::Box& box) {
    return Layout::Box{box.x - frame_padding, box.y - frame_title, box.width + 2 * frame_padding,
                       box.height + frame_title + frame_padding};
  };
  auto holds_another = [&](const Layout::Box& frame, const std::string& group) {
    for (size_t i = 0; i < item_count(); ++i) {
      const Layout::Box& box = out.boxes[i];
      if (drawing_.items[i].group != group && box.x < frame.x + frame.width && frame.x < box.x + box.width &&
          box.y < frame.y + frame.height && frame.y < box.y + box.height)
        return true;
    }
    return false;
  };
  for (auto& [key, members] : groups) {
    if (sizes[key.first] < drawing_.least_framed) continue;
    std::ranges::stable_sort(members, {}, [&](size_t i) { return out.boxes[i].y; });
    const size_t first = out.frames.size();
    for (size_t i : members) {
      bool taken = false;
      for (size_t f = first; f < out.frames.size() && !taken; ++f)
        if (const Layout::Box wider = around(out.frames[f].box, out.boxes[i]);
            !holds_another(wider, key.first))
          out.frames[f].box = wider, taken = true;
      if (!taken) out.frames.push_back({key.first, around_one(out.boxes[i])});
    }
  }
}

Layout lay_out(const Drawing& drawing) {
  if (drawing.items.empty()) return {};
  return Layered(drawing).run();
}

}  // namespace stitch
