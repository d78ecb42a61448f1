// Graphs for the tests, built by hand.
#pragma once

#include "base/format.h"
#include "graph/graph.h"

namespace stitch::samples {

class Builder {
 public:
  Graph graph;

  ValueId input(std::string_view name, Shape shape) {
    return graph.add_leaf(Role::input, name, {DType::f32, std::move(shape), {}});
  }
  ValueId parameter(const std::string& name, Shape shape) {
    return graph.add_leaf(Role::parameter, name, {DType::f32, std::move(shape), {}}, name);
  }
  std::vector<ValueId> all(Op op, std::vector<ValueId> operands, const Attributes& attributes = {}) {
    auto results = graph.add_node(op, std::move(operands), attributes, "",
                                  format("model.py:{}, in forward", ++line_), module);
    if (!results) throw Bug(results.error().text());
    return *results;
  }
  ValueId one(Op op, std::vector<ValueId> operands, const Attributes& attributes = {}) {
    return all(op, std::move(operands), attributes)[0];
  }

  ValueId conv(ValueId x, const std::string& name, int64_t out, int64_t kernel, int64_t stride) {
    module = name;
    int64_t in = graph.type(x).shape[1], padding = kernel / 2;
    ValueId weight = parameter(name + ".weight", {out, in, kernel, kernel});
    return one(Op::conv, {x, weight},
               {{"stride", std::vector<int64_t>{stride, stride}},
                {"padding", std::vector<int64_t>{padding, padding}},
                {"dilation", std::vector<int64_t>{1, 1}}});
  }
  ValueId batch_norm(ValueId x, const std::string& name) {
    module = name;
    Shape channels = {graph.type(x).shape[1]};
    ValueId weight = parameter(name + ".weight", channels), bias = parameter(name + ".bias", channels);
    ValueId mean = graph.add_leaf(Role::buffer, name + ".running_mean", {DType::f32, channels, {}},
                                  name + ".running_mean");
    ValueId var = graph.add_leaf(Role::buffer, name + ".running_var", {DType::f32, channels, {}},
                                 name + ".running_var");
    auto results = all(Op::batch_norm, {x, weight, bias, mean, var}, {{"training", true}});
    graph.updates.push_back({mean, results[1]});
    graph.updates.push_back({var, results[2]});
    return results[0];
  }
  ValueId linear(ValueId x, const std::string& name, int64_t out) {
    module = name;
    ValueId weight = parameter(name + ".weight", {out, graph.type(x).shape.back()});
    ValueId bias = parameter(name + ".bias", {out});
    return one(Op::linear, {x, weight, bias});
  }

  std::string module;

 private:
  int line_ = 0;
};

// torchvision's, in train mode: 11,689,512 parameters.
inline Graph resnet18(int64_t batch = 2) {
  Builder b;
  b.graph.name = "ResNet18";
  ValueId x = b.input("x", {batch, 3, 224, 224});
  x = b.one(Op::relu, {b.batch_norm(b.conv(x, "conv1", 64, 7, 2), "bn1")});
  b.module = "maxpool";
  std::vector<int64_t> three = {3, 3}, two = {2, 2}, one = {1, 1};
  x = b.one(Op::max_pool, {x}, {{"kernel", three}, {"stride", two}, {"padding", one}, {"dilation", one}});
  int64_t channels = 64;
  for (int stage = 1; stage <= 4; ++stage, channels *= 2)
    for (int block = 0; block < 2; ++block) {
      std::string name = format("layer{}.{}", stage, block);
      int64_t stride = stage > 1 && block == 0 ? 2 : 1;
      int64_t out = channels;
      ValueId y = b.one(Op::relu, {b.batch_norm(b.conv(x, name + ".conv1", out, 3, stride), name + ".bn1")});
      y = b.batch_norm(b.conv(y, name + ".conv2", out, 3, 1), name + ".bn2");
      if (stride == 2) x = b.batch_norm(b.conv(x, name + ".downsample.0", out, 1, 2), name + ".downsample.1");
      b.module = name;
      x = b.one(Op::relu, {b.one(Op::add, {y, x})});
    }
  b.module = "avgpool";
  x = b.one(Op::mean, {x}, {{"dims", std::vector<int64_t>{2, 3}}});
  x = b.one(Op::reshape, {x}, {{"shape", std::vector<int64_t>{batch, 512}}});
  b.graph.outputs = {b.linear(x, "fc", 1000)};
  return std::move(b.graph);
}

// A decoder-only transformer; 96 layers make 1,346 nodes.
inline Graph transformer(int layers, int64_t batch = 4, int64_t tokens = 512, int64_t width = 768) {
  Builder b;
  b.graph.name = format("Transformer{}", layers);
  int64_t heads = 12, size = width / heads;
  std::vector<int64_t> split_heads = {batch, tokens, heads, size}, swap = {0, 2, 1, 3};
  ValueId x = b.input("x", {batch, tokens, width});
  for (int layer = 0; layer < layers; ++layer) {
    std::string name = format("transformer.h.{}", layer);
    auto norm = [&](const std::string& own) {
      b.module = own;
      return b.one(Op::layer_norm,
                   {x, b.parameter(own + ".weight", {width}), b.parameter(own + ".bias", {width})});
    };
    ValueId h = norm(name + ".ln_1");
    std::vector<ValueId> qkv;
    for (const char* part : {"q", "k", "v"}) {
      ValueId y = b.linear(h, name + ".attn." + part, width);
      b.module = name + ".attn";
      y = b.one(Op::reshape, {y}, {{"shape", split_heads}});
      qkv.push_back(b.one(Op::permute, {y}, {{"dims", swap}}));
    }
    ValueId y = b.one(Op::attention, qkv, {{"causal", true}, {"scale", 0.125}});
    y = b.one(Op::permute, {y}, {{"dims", swap}});
    y = b.one(Op::reshape, {y}, {{"shape", std::vector<int64_t>{batch, tokens, width}}});
    y = b.linear(y, name + ".attn.proj", width);
    b.module = name;
    x = b.one(Op::add, {x, y});
    y = b.linear(norm(name + ".ln_2"), name + ".mlp.fc", 4 * width);
    b.module = name + ".mlp";
    y = b.linear(b.one(Op::gelu, {y}), name + ".mlp.proj", width);
    b.module = name;
    x = b.one(Op::add, {x, y});
  }
  b.graph.outputs = {b.linear(x, "lm_head", 50257)};
  return std::move(b.graph);
}

}  // namespace stitch::samples
