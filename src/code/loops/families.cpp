#include "code/loops/families.h"

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/row.h"
#include "code/loops/scan.h"
#include "code/loops/scatter.h"
#include "code/names.h"
namespace stitch::code::loops {

namespace {

// Words that kernels use themselves: a pointer of such a name gets another one inside the region.
const std::set<std::string_view> own_names = {
    "v",        "e",      "i",         "j",          "k",          "vector",       "element", "row",
    "lane",     "inside", "all",       "part",       "wanted_row", "aligned",      "items",   "carry",
    "total",    "mine",   "run",       "block",      "first",      "item",         "tile",    "columns",
    "found",    "here",   "r",         "c",          "kz",         "before",       "chunk",   "part_begin",
    "part_end", "stream", "workspace", "transposed", "within",     "wanted_vector"};

template <Result<RegionCode> (*write)(const RegionRequest&)>
Result<RegionCode> with_own_names(const RegionRequest& request) {
  RegionRequest inner = request;
  Names names;
  std::map<std::string, std::string> given;  // what the program calls it, by what the region does
  for (auto* places : {&inner.reads, &inner.weights, &inner.writes})
    for (Place& place : *places) {
      std::string name = identifier(place.pointer);
      if (own_names.contains(name)) name += "_data";
      name = names.unique(name);
      given[name] = std::exchange(place.pointer, name);
    }
  STITCH_TRY(RegionCode code, write(inner));
  for (std::string& argument : code.arguments)
    if (auto found = given.find(argument); found != given.end()) argument = found->second;
  return code;
}

const std::array all = {
    Family{"loop",
           "a thread an element or vector: pointwise, views, movement, gathers, windows, small reductions",
           accepts_loop, with_own_names<write_loop>},
    Family{"batch_norm", "each channel's statistics by parts of the batch, then one pass that normalises",
           accepts_batch_norm, with_own_names<write_batch_norm>},
    Family{"row",
           "lanes, a block or columns of threads share a row: reductions, softmax, norms, and what is around "
           "them",
           accepts_row, with_own_names<write_row>},
    Family{"scan",
           "a block along each row with a carry, or a thread along each column: running sums, products, "
           "extremes",
           accepts_scan, with_own_names<write_scan>},
    Family{"scatter", "each result element looks for the sources that name it", accepts_scatter,
           with_own_names<write_scatter>},
    Family{"sort", "a bitonic network over each row, in shared or in device memory", accepts_sort,
           with_own_names<write_sort>},
};

}  // namespace

std::span<const Family> loop_families() { return all; }

bool is_expression(const Graph& graph, int32_t number) {
  const Node& node = graph.nodes[static_cast<size_t>(number)];
  switch (info(node.op).family) {
    case stitch::Family::pointwise:
    case stitch::Family::view:
    case stitch::Family::movement:
    case stitch::Family::pool:
    case stitch::Family::create: return true;
    case stitch::Family::indexing:
      return node.op == Op::gather || node.op == Op::index || node.op == Op::searchsorted;
    case stitch::Family::normalize: return node.op == Op::batch_norm && !node.attributes.flag("training");
    default: return false;
  }
}

double seconds_by_memory(const Graph& graph, const plan::Region& region) {
  constexpr double bandwidth = 4.29e12, start = 1.5e-6;  // measured on an H200; a guess for its kernels
  for (const Family& family : all) {
    if (family.technique != region.technique) continue;
    auto code = family.write(plain_request(graph, region));
    if (code) return code->moved_bytes / bandwidth + code->kernels * start;
  }
  return INFINITY;
}

Result<void> can_fuse_into_loop(const Graph& graph, std::span<const int32_t> nodes) {
  plan::Region region;
  region.nodes.assign(nodes.begin(), nodes.end());
  return accepts_loop(graph, region);
}

Result<std::string_view> classify(const Graph& graph, const plan::Region& region) {
  Error last = work_error("technique", format("{}: no nodes", region.name));
  for (const Family& family : all) {
    auto accepted = family.accepts(graph, region);
    if (accepted) return family.technique;
    last = accepted.error();
  }
  return last;
}

}  // namespace stitch::code::loops
