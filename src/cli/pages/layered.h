// How lay_out works: layers by longest path, order by barycentres, positions by least squares that keep the
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pages/layout.h"

namespace stitch {

constexpr double row_gap = 38, column_gap = 64;

// A place in a row: a box, or where a long arrow passes.
struct GridSlot {
  int item = -1;    // -1: an arrow passes
  int source = -1;  // the item the arrow comes from
  int row = 0;
  double width = 10;  // what an arrow needs to pass between boxes
  double x = 0;       // of its centre
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

  // layered_rows.cpp: which row each item stands in, and the order within a row
  void assign_rows();
  void make_slots();
  int64_t crossings();
  void number(const std::vector<int>& one_row);
  void order_row(std::vector<int>& one_row, bool downwards);
  void order_rows();

  // layered_places.cpp: where the rows are cut into columns, and where each item stands in its row
  double row_height(int r);
  double row_width(int r);
  double cut_price(int r);
  void cut_columns();
  double room_between(int a, int b);
  void settle(const std::vector<int>& one_row, const std::vector<double>& wanted,
              const std::vector<double>& weight);
  double wish(int s, const LayerColumn& column, bool downwards);
  void place(const LayerColumn& column);
  void straighten(const LayerColumn& column);

  // layout.cpp: the finished picture
  Layout result();
  static std::string around_the_corner(double x0, double y0, double turn, double over, double enter,
                                       double x1, double y1);
  void add_frames(Layout& out, const std::vector<size_t>& column_of_row);

  const Drawing& drawing_;
  std::vector<GridSlot> slots_;  // the items first
  std::vector<std::vector<int>> rows_;
  std::vector<std::vector<int>> routes_;  // each arrow's slots; empty: too long to route
  std::vector<int> position_;
  std::vector<LayerColumn> columns_;
};

}  // namespace stitch
