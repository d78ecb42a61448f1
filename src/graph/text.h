// The text form of a graph. print_graph(parse_graph(text)) is text, to the byte, for every text that
// print_graph wrote.
//
//   graph "resnet18"
//   input %x : f32[2,3,224,224]
//   parameter %conv1.weight : f32[64,3,7,7]
//   buffer %bn1.running_mean : f32[64]
//   parameter %head.weight : f32[10,64] = "embedding.weight"      data under another key (tied)
//
//   %conv2d = conv(%x, %conv1.weight) stride=[2,2] padding=[3,3] : f32[2,64,112,112] @ "model.py:83" "conv1"
//   %y, %y.1, %y.2 = batch_norm(%conv2d, none, none, %m, %v) training=true : f32[…], f32[64], f32[64]
//
//   output %y
//   update %bn1.running_mean = %y.1
//   end
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace stitch {

std::string print_graph(const Graph& graph);
// The text's graph, verified. Errors say line and column.
Result<Graph> parse_graph(std::string_view text);

// One node's line, for messages and tables.
std::string print_node(const Graph& graph, const Node& node);

}  // namespace stitch
