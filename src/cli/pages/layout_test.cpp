#include "cli/pages/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stitch {
namespace {

bool overlap(const Layout::Box& a, const Layout::Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

Drawing boxes(int count) {
  Drawing drawing;
  for (int i = 0; i < count; ++i) drawing.items.push_back({100, 40, {}, i == 0});
  return drawing;
}

TEST(Layout, NothingAndOneThing) {
  EXPECT_TRUE(lay_out({}).boxes.empty());
  EXPECT_EQ(lay_out(boxes(1)).boxes.size(), 1u);
}

TEST(Layout, AChainIsStraight) {
  Drawing drawing = boxes(4);
  drawing.arrows = {{0, 1}, {1, 2}, {2, 3}};
  Layout layout = lay_out(drawing);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_NEAR(layout.boxes[i].x, layout.boxes[0].x, 0.01);
    EXPECT_GT(layout.boxes[i].y, layout.boxes[i - 1].y + 40);
  }
}

TEST(Layout, AResidualPassesBesideTheBoxes) {
  Drawing drawing = boxes(4);
  drawing.arrows = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  Layout layout = lay_out(drawing);
  EXPECT_FALSE(layout.lines[3].far);
  EXPECT_NE(layout.lines[3].path.find('C'), std::string::npos) << layout.lines[3].path;
}

TEST(Layout, BranchesDoNotOverlap) {
  Drawing drawing = boxes(10);
  for (int i = 1; i < 9; ++i) {
    drawing.arrows.push_back({0, i});
    drawing.arrows.push_back({i, 9});
  }
  Layout layout = lay_out(drawing);
  for (size_t a = 0; a < 10; ++a)
    for (size_t b = a + 1; b < 10; ++b) EXPECT_FALSE(overlap(layout.boxes[a], layout.boxes[b]));
  // The fork and the join stand in the middle.
  EXPECT_NEAR(layout.boxes[0].x, layout.boxes[9].x, 1);
}

TEST(Layout, WhatFollowsFromNothingWaitsForItsFirstUse) {
  Drawing drawing = boxes(6);
  drawing.arrows = {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {4, 5}};
  Layout layout = lay_out(drawing);
  EXPECT_EQ(layout.boxes[4].y, layout.boxes[3].y);
}

TEST(Layout, LongChainsBecomeColumns) {
  Drawing drawing = boxes(600);
  for (int i = 0; i + 1 < 600; ++i) drawing.arrows.push_back({i, i + 1});
  drawing.arrows.push_back({0, 599});
  Layout layout = lay_out(drawing);
  double ratio = layout.width / layout.height;
  EXPECT_GT(ratio, 0.7);
  EXPECT_LT(ratio, 3);
  EXPECT_TRUE(layout.lines.back().far);
  for (const Layout::Box& box : layout.boxes) {
    EXPECT_GE(box.x, 0);
    EXPECT_LE(box.x + box.width, layout.width);
    EXPECT_LE(box.y + box.height, layout.height);
  }
}

TEST(Layout, GroupsOfThreeGetAFrameAroundTheirBoxes) {
  Drawing drawing = boxes(5);
  drawing.arrows = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  for (size_t i : {1, 2, 3}) drawing.items[i].group = "block";
  drawing.items[4].group = "alone";
  Layout layout = lay_out(drawing);
  ASSERT_EQ(layout.frames.size(), 1u);
  const Layout::Box& frame = layout.frames[0].box;
  EXPECT_EQ(layout.frames[0].group, "block");
  for (size_t i : {1, 2, 3}) EXPECT_TRUE(overlap(frame, layout.boxes[i]));
  EXPECT_FALSE(overlap(frame, layout.boxes[0]));
  EXPECT_FALSE(overlap(frame, layout.boxes[4]));
}

// Two of a region, with a box of another between them in the same column: no frame is around that one.
TEST(Layout, FramesHoldNoBoxesOfOthers) {
  Drawing drawing = boxes(5);
  drawing.arrows = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  drawing.least_framed = 2;
  for (size_t i : {0, 1, 3}) drawing.items[i].group = "attention";
  for (size_t i : {2, 4}) drawing.items[i].group = "norm";
  const Layout layout = lay_out(drawing);
  ASSERT_EQ(layout.frames.size(), 4u);
  for (const Layout::Frame& frame : layout.frames)
    for (size_t i = 0; i < 5; ++i)
      EXPECT_TRUE(drawing.items[i].group == frame.group || !overlap(frame.box, layout.boxes[i])) << i;
}

}  // namespace
}  // namespace stitch
