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

Result<Dimension::Place> parse_place(const std::string& declared, const std::string& text,
                                     const Graph& graph) {
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
    const int64_t steps =
        dimension.most / dimension.multiple - (dimension.least + dimension.multiple - 1) / dimension.multiple;
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
        return user_error("sizes",
                          format("dimension {} of input {} is declared twice", place.dim, place.input));
  }
  return {};
}

// A declared dimension that is as wide as one size is none.
Dimensions without_fixed(Dimensions dimensions) {
  std::erase_if(dimensions, [](const Dimension& each) { return each.least == each.most; });
  return dimensions;
}

// Folders with an export each, of the task at several sizes.
class Exports {
 public:
  static Result<Exports> of(Exporter& exporter, const Task& task, const Dimensions& dimensions,
                            const std::vector<Sizes>& sizes, const OnProgress& on_progress) {
    Exports out;
    ExportRequest request{.task = task.source,
                          .class_name = task.options.model_class,
                          .mode = task.options.mode,
                          .weights = false,
                          .dimensions = dimensions};
    for (const Sizes& each : sizes) {
      STITCH_TRY(ScratchFolder folder, ScratchFolder::create_in_memory("stitchcuda-sizes"));
      request.at.push_back({each, folder.path()});
      out.folders_.push_back(std::move(folder));
    }
    request.out = out.folders_[0].path();
    STITCH_CHECK(exporter.run(request, on_progress));
    return out;
  }

  Result<Graph> graph(size_t i, const Task& task, const RewriteLimits& limits) const {
    STITCH_TRY(Imported imported, import_exported({.task = task.source,
                                                   .out = folders_[i].path(),
                                                   .algebra = task.options.algebra,
                                                   .limits = limits}));
    return std::move(imported.graph);
  }

 private:
  std::vector<ScratchFolder> folders_;
};

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
    Dimension dimension{word(each, "name"),
                        each.value("least", int64_t{1}),
                        each.value("most", int64_t{1}),
                        std::max<int64_t>(each.value("multiple", int64_t{1}), 1),
                        {}};
    for (const Json& place : each.value("places", Json::array()))
      dimension.places.push_back({place.at(0).get<int>(), place.at(1).get<int>()});
    out.push_back(std::move(dimension));
  }
  return out;
}

Json places_json(const Dimensions& dimensions) {
  Json places = Json::object();
  for (const Dimension& dimension : dimensions)
    for (const Dimension::Place& place : dimension.places)
      places[dimension.name].push_back({place.input, place.dim});
  return places;
}

Result<fs::path> write_instance(const fs::path& task, const Dimensions& dimensions, const Sizes& sizes,
                                const fs::path& folder) {
  std::error_code ec;
  const fs::path whole = fs::absolute(task, ec);
  const fs::path out = folder / whole.filename();
  STITCH_CHECK(
      write_file(out, format("from stitchcuda_torch.task.sizes import at\n\n"
                             "globals().update(at({}, {}, {}))\n",
                             quote(whole.string()), Json(sizes).dump(), places_json(dimensions).dump())));
  return out;
}

Result<Instances> import_instances(Exporter& exporter, Task& task, Dimensions dimensions,
                                   const OnProgress& on_progress) {
  dimensions = without_fixed(std::move(dimensions));
  STITCH_CHECK(check(dimensions));
  Instances out;
  out.dimensions = dimensions;
  if (dimensions.empty()) return out;
  STITCH_TRY(out.example, sizes_of(dimensions, task.graph));
  STITCH_TRY(const std::vector<Sizes> wanted, instance_sizes(dimensions, out.example));
  std::vector<Sizes> all = {out.example, largest_sizes(dimensions)};
  all.insert(all.end(), wanted.begin(), wanted.end());
  STITCH_TRY(const Exports exports, Exports::of(exporter, task, dimensions, all, on_progress));
  // Tables of constants that grow with a size stay operators, which takes another folding: only where they
  // do.
  Result<void> same;
  for (const int64_t folded : {int64_t{1} << 16, int64_t{4}}) {
    out.limits = task.options.limits.of_any_size(folded);
    out.all.clear();
    std::vector<Instance> made;
    same = {};
    for (size_t i = 0; same && i < all.size(); ++i) {
      STITCH_TRY(Graph graph, exports.graph(i, task, out.limits));
      STITCH_TRY(const Sizes seen, sizes_of(dimensions, graph));
      if (seen != all[i])
        return user_error("sizes",
                          format("get_inputs() gives {} where {} was asked for", text(seen), text(all[i])));
      made.push_back({all[i], std::move(graph)});
      same = check_same_form(made[0], made.back());
    }
    if (!same) continue;
    task.graph = std::move(made[0].graph);
    for (size_t i = 1; i < made.size(); ++i) take_names(made[i].graph, task.graph);
    out.largest = std::move(made[1]);
    out.all.assign(std::make_move_iterator(made.begin() + 2), std::make_move_iterator(made.end()));
    return out;
  }
  return same.error();
}

}  // namespace stitch
