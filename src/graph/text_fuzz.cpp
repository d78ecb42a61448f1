// Any text: refused, or a graph whose text parses back to itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto graph = stitch::parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph) return 0;
  std::string printed = stitch::print_graph(*graph);
  auto again = stitch::parse_graph(printed);
  if (!again || stitch::print_graph(*again) != printed) std::abort();
  // Costs must not trap on any accepted graph.
  for (const stitch::Node& node : graph->nodes) (void)stitch::cost(*graph, node);
  return 0;
}
