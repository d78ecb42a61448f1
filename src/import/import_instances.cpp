#include "import/import_instances.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace stitch {

namespace {

Error not_a_range(const std::string& declared, const std::string& why) {
  return user_error("flags", format("--dynamic {}: {}", declared, why),
                    "write NAME=INPUT:DIM,INPUT:DIM=LEAST..MOST, as in batch=x:0,mask:0=1..64; /8 behind it "
                    "for multiples of 8");
}

bool is_identifier(std::string_view name) {
  auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c));
  });
}

Result<Dimension::Place> parse_place(const std::string& declared, const std::string& text, const Graph& graph) {
  const size_t colon = text.rfind(':');
  const auto dim = colon == std::string::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  if (!dim) return not_a_range(declared, format("'{}' is not INPUT:DIM", text));
  const std::string name = text.substr(0, colon);
  std::vector<std::string> names;
  for (ValueId id : graph.inputs()) names.push_back(graph[id].name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    const auto meant = nearest(name, names);
    return not_a_range(declared, format("there is no input '{}'; {}", name,
                                        meant ? format("did you mean '{}'?", *meant)
                                              : format("the model has {}", join(names, ", "))));
  }
  const int64_t rank = graph.type(graph.find(name)).rank();
  if (*dim < -rank || *dim >= rank)
    return not_a_range(declared, format("'{}' has {} dimensions, and no dimension {}", name, rank, *dim));
  return Dimension::Place{static_cast<int>(found - names.begin()),
                          static_cast<int>(*dim < 0 ? *dim + rank : *dim)};
}

Result<Dimension> parse_dimension(const std::string& declared, const Graph& graph) {
  const std::vector<std::string> parts = split(declared, '=');
  if (parts.size() < 2 || parts.size() > 3) return not_a_range(declared, "it has another form");
  Dimension out;
  const std::string& places = parts[parts.size() - 2];
  std::string range = parts.back();
  if (const size_t by = range.find('/'); by != std::string::npos) {
    const auto multiple = parse_integer(range.substr(by + 1));
    if (!multiple || *multiple < 1) return not_a_range(declared, "'/' takes a number from 1 on");
    out.multiple = *multiple;
    range.resize(by);
  }
  const size_t dots = range.find("..");
  const auto least = parse_integer(range.substr(0, dots));
  const auto most = dots == std::string::npos ? std::nullopt : parse_integer(range.substr(dots + 2));
  if (!least || !most) return not_a_range(declared, format("'{}' is not LEAST..MOST", range));
  out.least = *least, out.most = *most;
  for (const std::string& text : split(places, ',')) {
    STITCH_TRY(const Dimension::Place place, parse_place(declared, text, graph));
    out.places.push_back(place);
  }
  if (parts.size() == 3) {
    out.name = parts[0];
  } else {
    const std::string input = places.substr(0, places.find(':'));
    out.name = format("{}_{}", is_identifier(input) ? input : "size", out.places[0].dim);
  }
  if (!is_identifier(out.name)) return not_a_range(declared, format("'{}' is no name for a size", out.name));
  return out;
}

Result<void> check(const Dimensions& dimensions) {
  constexpr size_t most_dimensions = 8;
  if (dimensions.size() > most_dimensions)
    return user_error("sizes", format("{} sizes change; at most {} may", dimensions.size(), most_dimensions));
  std::set<std::pair<int, int>> places;
  std::set<std::string> names;
  for (const Dimension& dimension : dimensions) {
    const int64_t steps = dimension.most / dimension.multiple -
                          (dimension.least + dimension.multiple - 1) / dimension.multiple;
    if (dimension.least < 1 || steps < 0)
      return user_error("sizes", format("{}: no size is in this range", text(dimension)),
                        "sizes are from 1 on; an empty input needs no program");
    if (dimension.most >= int64_t{1} << 31)
      return user_error("sizes", format("{}: sizes are below 2^31", text(dimension)));
    if (!names.insert(dimension.name).second)
      return user_error("sizes", format("{} is declared twice", dimension.name),
                        "equal sizes are one dimension with several places: batch=x:0,mask:0=1..64");
    for (const Dimension::Place& place : dimension.places)
      if (!places.emplace(place.input, place.dim).second)
        return user_error("sizes", format("dimension {} of input {} is declared twice", place.dim, place.input));
  }
  return {};
}

// A declared dimension that is as wide as one size is none.
Dimensions without_fixed(Dimensions dimensions) {
  std::erase_if(dimensions, [](const Dimension& each) { return each.least == each.most; });
  return dimensions;
}

Result<Graph> import_at(Exporter& exporter, const Task& task, const fs::path& source, const RewriteLimits& limits) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create_in_memory("stitchcuda-sizes"));
  STITCH_TRY(Imported imported, import_into(exporter,
                                            {.task = source,
                                             .out = scratch.path(),
                                             .class_name = task.options.model_class,
                                             .mode = task.options.mode,
                                             .weights = false,
                                             .algebra = task.options.algebra,
                                             .limits = limits}));
  return std::move(imported.graph);
}

Result<Instance> import_instance(Exporter& exporter, const Task& task, const Dimensions& dimensions,
                                 const Sizes& sizes, const RewriteLimits& limits) {
  STITCH_TRY(ScratchFolder folder, ScratchFolder::create_in_memory("stitchcuda-sizes"));
  STITCH_TRY(const fs::path source, write_instance(task.source, dimensions, sizes, folder.path()));
  auto graph = import_at(exporter, task, source, limits);
  if (!graph) {
    Error error = graph.error();
    error.message = format("with {}: {}", text(sizes), error.message);
    return error;
  }
  STITCH_TRY(const Sizes seen, sizes_of(dimensions, *graph));
  if (seen != sizes)
    return user_error("sizes", format("get_inputs() gives {} where {} was asked for", text(seen), text(sizes)));
  return Instance{sizes, *std::move(graph)};
}

// Names, lines and modules are the task's own.
void take_names(Graph& graph, const Graph& from) {
  graph.name = from.name;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    graph.nodes[n].where = from.nodes[n].where;
    graph.nodes[n].module = from.nodes[n].module;
  }
}

}  // namespace

Result<Dimensions> parse_dimensions(const std::vector<std::string>& declared, const Graph& graph) {
  Dimensions out;
  for (const std::string& each : declared) {
    STITCH_TRY(Dimension dimension, parse_dimension(each, graph));
    out.push_back(std::move(dimension));
  }
  return out;
}

Dimensions dimensions_in(const TaskFacts& facts) {
  Dimensions out;
  if (!facts) return out;
  const Json declared = facts->value("sizes", Json::array());
  for (const Json& each : declared) {
    Dimension dimension{word(each, "name"), each.value("least", int64_t{1}), each.value("most", int64_t{1}),
                        std::max<int64_t>(each.value("multiple", int64_t{1}), 1), {}};
    for (const Json& place : each.value("places", Json::array()))
      dimension.places.push_back({place.at(0).get<int>(), place.at(1).get<int>()});
    out.push_back(std::move(dimension));
  }
  return out;
}

Result<fs::path> write_instance(const fs::path& task, const Dimensions& dimensions, const Sizes& sizes,
                                const fs::path& folder) {
  Json places = Json::object();
  for (const Dimension& dimension : dimensions)
    for (const Dimension::Place& place : dimension.places)
      places[dimension.name].push_back({place.input, place.dim});
  std::error_code ec;
  const fs::path whole = fs::absolute(task, ec);
  const fs::path out = folder / whole.filename();
  STITCH_CHECK(write_file(out, format("from stitchcuda_torch.task.sizes import at\n\n"
                                      "globals().update(at({}, {}, {}))\n",
                                      quote(whole.string()), Json(sizes).dump(), places.dump())));
  return out;
}

Result<Instances> import_instances(Exporter& exporter, Task& task, Dimensions dimensions,
                                   const OnProgress& on_progress) {
  dimensions = without_fixed(std::move(dimensions));
  STITCH_CHECK(check(dimensions));
  Instances out{.dimensions = dimensions};
  if (dimensions.empty()) return out;
  STITCH_TRY(out.example, sizes_of(dimensions, task.graph));
  STITCH_TRY(const std::vector<Sizes> wanted, instance_sizes(dimensions, out.example));
  // Tables of constants that grow with a size stay operators, which takes another folding: only where they do.
  Result<void> same;
  for (const int64_t folded : {int64_t{1} << 16, int64_t{4}}) {
    out.limits = task.options.limits.of_any_size(folded);
    out.all.clear();
    auto progress = [&](const Sizes& sizes) {
      if (on_progress) on_progress(format("importing with {}", text(sizes)));
    };
    progress(out.example);
    STITCH_TRY(Graph own, import_at(exporter, task, task.source, out.limits));
    const Instance example{out.example, std::move(own)};
    progress(largest_sizes(dimensions));
    STITCH_TRY(out.largest,
               import_instance(exporter, task, dimensions, largest_sizes(dimensions), out.limits));
    same = check_same_form(example, out.largest);
    for (size_t i = 0; same && i < wanted.size(); ++i) {
      progress(wanted[i]);
      STITCH_TRY(Instance next, import_instance(exporter, task, dimensions, wanted[i], out.limits));
      same = check_same_form(example, next);
      if (same) take_names(next.graph, example.graph);
      out.all.push_back(std::move(next));
    }
    if (!same) continue;
    take_names(out.largest.graph, example.graph);
    task.graph = example.graph;
    return out;
  }
  return same.error();
}

}  // namespace stitch
