// A layered drawing: boxes in rows in the order they can run, arrows downwards. A drawing much taller than
// wide is cut into columns, read like a newspaper.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stitch {

struct Drawing {
  struct Item {
    double width = 0, height = 0;
    std::string group;      // boxes of one group get a frame; empty: none
    bool anchored = false;  // stands at the top with what follows from it; others wait for who needs them
  };
  std::vector<Item> items;
  int least_framed = 3;                     // boxes of a group that gets frames
  std::vector<std::pair<int, int>> arrows;  // from an earlier item to a later one
};

struct Layout {
  struct Box {
    double x = 0, y = 0, width = 0, height = 0;
  };
  struct Line {
    int from = 0, to = 0;
    bool far = false;  // so long that it is drawn only when asked for
    std::string path;  // as SVG writes it
  };
  struct Frame {
    std::string group;
    Box box;
  };
  std::vector<Box> boxes;  // one an item
  std::vector<Line> lines;
  std::vector<Frame> frames;
  double width = 0, height = 0;
};

Layout lay_out(const Drawing& drawing);

}  // namespace stitch
