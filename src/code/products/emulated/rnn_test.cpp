// Recurrences of every kind, on odd sizes.
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

struct Shape4 {
  int64_t steps, batch, input, hidden;
};
struct Kind {
  const char* name;
  const char* kind;
  int64_t layers = 1;
  bool bidirectional = false, batch_first = false, biases = true;
  int64_t projection = 0;
  Shape4 sizes = {5, 3, 7, 6};
};

// The graph of an rnn with all its weights. `wanted`: which of y, hn, cn are outputs.
std::string graph_of(const Kind& kind, const std::string& wanted) {
  auto [steps, batch, input, hidden] = kind.sizes;
  bool lstm = kind.kind == std::string("lstm");
  int64_t gates = lstm ? 4 : kind.kind == std::string("gru") ? 3 : 1, directions = kind.bidirectional ? 2 : 1;
  int64_t output = kind.projection ? kind.projection : hidden, slots = kind.layers * directions;
  std::string text = kind.batch_first ? format("input %x : f32[{},{},{}]\n", batch, steps, input)
                                      : format("input %x : f32[{},{},{}]\n", steps, batch, input);
  text += format("input %h0 : f32[{},{},{}]\n", slots, batch, output);
  if (lstm) text += format("input %c0 : f32[{},{},{}]\n", slots, batch, hidden);
  std::string operands = lstm ? "%x, %h0, %c0" : "%x, %h0, none";
  for (int64_t slot = 0; slot < slots; ++slot) {
    int64_t features = slot < directions ? input : directions * output;
    auto weight = [&](const char* name, const std::string& shape) {
      text += format("parameter %{}{} : f32[{}]\n", name, slot, shape);
      operands += format(", %{}{}", name, slot);
    };
    weight("wi", format("{},{}", gates * hidden, features));
    weight("wh", format("{},{}", gates * hidden, output));
    if (kind.biases) {
      weight("bi", format("{}", gates * hidden));
      weight("bh", format("{}", gates * hidden));
    }
    if (kind.projection) weight("wp", format("{},{}", output, hidden));
  }
  std::string y = kind.batch_first ? format("f32[{},{},{}]", batch, steps, directions * output)
                                   : format("f32[{},{},{}]", steps, batch, directions * output);
  text += format(
      "%y, %hn{} = rnn({}) kind=\"{}\" layers={} bidirectional={} batch_first={} biases={} projection={} : "
      "{}, "
      "f32[{},{},{}]{}\n",
      lstm ? ", %cn" : "", operands, kind.kind, kind.layers, kind.bidirectional, kind.batch_first,
      kind.biases, kind.projection, y, slots, batch, output,
      lstm ? format(", f32[{},{},{}]", slots, batch, hidden) : "");
  for (const char* name : {"y", "hn", "cn"})
    if (wanted.find(name) != std::string::npos) text += format("output %{}\n", name);
  return text;
}

const Kind kinds[] = {
    {.name = "lstm", .kind = "lstm"},
    {.name = "gru", .kind = "gru"},
    {.name = "tanh", .kind = "tanh", .batch_first = true},
    {.name = "relu", .kind = "relu", .biases = false},
    {.name = "lstm_both_ways", .kind = "lstm", .layers = 2, .bidirectional = true, .batch_first = true},
    {.name = "gru_deep", .kind = "gru", .layers = 3, .bidirectional = true},
    {.name = "lstm_projected", .kind = "lstm", .layers = 2, .bidirectional = true, .projection = 4},
    {.name = "gru_wide", .kind = "gru", .sizes = {4, 17, 33, 40}},
    {.name = "lstm_one", .kind = "lstm", .sizes = {1, 1, 1, 1}},
};

// Widths that are no multiples of anything, and what a persistent kernel does with them: units of the last
// block missing, samples split over blocks, layers in several launches.
const Kind persistent_kinds[] = {
    {.name = "lstm_5", .kind = "lstm", .sizes = {6, 1, 3, 5}},
    {.name = "lstm_33_deep", .kind = "lstm", .layers = 3, .batch_first = true, .sizes = {4, 3, 9, 33}},
    {.name = "lstm_100_both_ways",
     .kind = "lstm",
     .layers = 2,
     .bidirectional = true,
     .sizes = {3, 10, 12, 100}},
    {.name = "gru_5_both_ways", .kind = "gru", .layers = 3, .bidirectional = true, .sizes = {5, 3, 4, 5}},
    {.name = "gru_33", .kind = "gru", .biases = false, .sizes = {4, 1, 64, 33}},
    {.name = "gru_100_deep", .kind = "gru", .layers = 3, .sizes = {3, 3, 100, 100}},
    {.name = "tanh_33_deep", .kind = "tanh", .layers = 3, .sizes = {5, 8, 40, 33}},
    {.name = "relu_5_both_ways",
     .kind = "relu",
     .layers = 2,
     .bidirectional = true,
     .batch_first = true,
     .biases = false,
     .sizes = {5, 3, 2, 5}},
    {.name = "tanh_many_samples", .kind = "tanh", .layers = 2, .sizes = {3, 45, 8, 20}},
    {.name = "gru_many_samples", .kind = "gru", .batch_first = true, .sizes = {3, 31, 5, 12}},
};

// Layers that run at once, each in clusters of its own: a warp without units, several samples and clusters.
// And both directions, with products of several tiles deep.
const Kind of_clusters[] = {
    {.name = "lstm_26_at_once", .kind = "lstm", .layers = 3, .sizes = {5, 5, 9, 26}},
    {.name = "gru_32_at_once", .kind = "gru", .layers = 2, .batch_first = true, .sizes = {4, 9, 8, 32}},
    {.name = "lstm_48_both_ways",
     .kind = "lstm",
     .layers = 2,
     .bidirectional = true,
     .sizes = {3, 5, 12, 48}},
    {.name = "tanh_24_at_once", .kind = "tanh", .layers = 2, .biases = false, .sizes = {3, 2, 5, 24}},
};

std::vector<Case> rnn_cases() {
  std::vector<Case> all;
  for (const Kind& kind : kinds) {
    bool lstm = kind.kind == std::string("lstm");
    std::string graph = graph_of(kind, lstm ? "y hn cn" : "y hn");
    all.push_back({format("plain_{}", kind.name), "rnn.plain", graph});
    if (kind.projection) continue;
    all.push_back({.name = format("persistent_{}", kind.name),
                   .technique = "rnn.persistent",
                   .graph = graph,
                   .multiprocessors = 6});
    all.push_back({.name = format("strict_{}", kind.name),
                   .technique = "rnn.cudnn",
                   .graph = graph,
                   .numerics = Numerics::strict});
    all.push_back(
        {.name = format("tf32_{}", kind.name), .technique = "rnn.cudnn", .graph = graph, .tolerance = 5e-3});
  }
  for (const Kind& kind : persistent_kinds)
    all.push_back({.name = format("persistent_{}", kind.name),
                   .technique = "rnn.persistent",
                   .graph = graph_of(kind, kind.kind == std::string("lstm") ? "y hn cn" : "y hn"),
                   .multiprocessors = 12});
  // Clusters of several sizes: units of the last block missing, samples of the last cluster too.
  auto clustered = [&](const Kind& kind, const std::string& wanted, const std::string& name,
                       int multiprocessors) {
    all.push_back({.name = "cluster_" + name,
                   .technique = "rnn.cluster",
                   .graph = graph_of(kind, wanted),
                   .multiprocessors = multiprocessors});
  };
  for (const Kind& kind : kinds)
    if (kind.kind != std::string("relu") && !kind.projection)
      clustered(kind, kind.kind == std::string("lstm") ? "y hn cn" : "y hn", kind.name, 4);
  for (const Kind& kind : persistent_kinds)
    if (kind.kind != std::string("relu") && kind.sizes.hidden < 100)  // minutes on the emulated GPU
      clustered(kind, kind.kind == std::string("lstm") ? "y hn cn" : "y hn", kind.name, 16);
  for (const Kind& kind : of_clusters)
    clustered(kind, kind.kind == std::string("lstm") ? "y hn cn" : "y hn", kind.name, 16);
  clustered(kinds[5], "y", "only_y", 2);
  clustered(kinds[4], "cn", "only_cn", 2);
  all.push_back({.name = "persistent_only_y",
                 .technique = "rnn.persistent",
                 .graph = graph_of(kinds[5], "y"),
                 .multiprocessors = 4});
  all.push_back({.name = "persistent_only_cn",
                 .technique = "rnn.persistent",
                 .graph = graph_of(kinds[4], "cn"),
                 .multiprocessors = 4});
  all.push_back({.name = "strict_only_hn",
                 .technique = "rnn.cudnn",
                 .graph = graph_of(kinds[4], "hn"),
                 .numerics = Numerics::strict});
  all.push_back({"plain_only_y", "rnn.plain", graph_of(kinds[5], "y")});
  all.push_back({"plain_only_hn", "rnn.plain", graph_of(kinds[4], "hn")});
  all.push_back({"plain_only_cn", "rnn.plain", graph_of(kinds[0], "cn")});
  return all;
}

PRODUCT_CASES(Rnn, rnn_cases());

}  // namespace
}  // namespace stitch::code
