#include "import/result_names.h"

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace stitch {

namespace {

std::string identifier(const std::string& key) {
  std::string out;
  for (unsigned char c : key) out += std::isalnum(c) ? static_cast<char>(c) : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "result_" + out : out;
}

// The path of keys to each output, by its number; positions in lists and tuples are part of a path that has
// a key.
class Paths {
 public:
  explicit Paths(const Json& tree) { walk(tree, "", false); }
  std::map<size_t, std::string> found;

 private:
  void walk(const Json& tree, const std::string& path, bool keyed) {
    if (!tree.is_object()) return;
    if (auto output = tree.find("output"); output != tree.end() && output->is_number_unsigned()) {
      if (keyed) found.emplace(output->get<size_t>(), path);
      return;
    }
    auto below = [&](const std::string& key) { return path.empty() ? key : path + "_" + key; };
    for (const char* kind : {"dict", "fields"})
      for (const Json& entry : tree.value(kind, Json::array()))
        if (entry.is_array() && entry.size() == 2)
          walk(entry[1],
               below(identifier(entry[0].is_string() ? entry[0].get<std::string>() : entry[0].dump())), true);
    for (const char* kind : {"list", "tuple"}) {
      const Json entries = tree.value(kind, Json::array());
      for (size_t i = 0; i < entries.size(); ++i) walk(entries[i], below(std::to_string(i)), keyed);
    }
  }
};

}  // namespace

void name_results(Graph& graph, const Json& outputs) {
  std::set<ValueId> renamed;
  for (ValueId id : graph.leaves()) renamed.insert(id);  // inputs and weights keep their names
  for (const auto& [number, path] : Paths(outputs).found) {
    if (number >= graph.outputs.size()) continue;
    const ValueId id = graph.outputs[number];
    if (!renamed.insert(id).second) continue;
    // The model's name for a result goes before one that the export made up for a value in between.
    const ValueId other = graph.find(path);
    if (other != ValueId::none && other != id && !renamed.contains(other)) graph.rename(other, path + "_1");
    graph.rename(id, path);
  }
}

}  // namespace stitch
