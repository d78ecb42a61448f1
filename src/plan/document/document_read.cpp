#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "plan/document/document.h"

namespace stitch::plan {

namespace {

Error wrong(const std::string& where, std::string message, std::string fix = {}) {
  return at("plan: " + where, user_error("plan", std::move(message), std::move(fix)));
}

// An object of the document, and where it stands.
class Fields {
 public:
  static Result<Fields> of(const Json& value, std::string where) {
    if (!value.is_object()) return wrong(where, "an object is expected here");
    return Fields(value, std::move(where));
  }

  const std::string& where() const { return where_; }
  std::string at(const std::string& key) const { return where_.empty() ? key : where_ + "." + key; }
  const Json* find(const char* key) const {
    auto found = object_->find(key);
    return found == object_->end() ? nullptr : &*found;
  }

  // Unknown keys are taken for misspellings and refused.
  Result<void> allow(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : object_->items())
      if (std::ranges::find(keys, key) == keys.end())
        return wrong(where_, format("there is no '{}' here", shorten(printable(key), 60)),
                     "one of: " + join(std::vector<std::string>(keys.begin(), keys.end()), ", "));
    return {};
  }

  Result<std::string> text(const char* key) const {
    const Json* value = find(key);
    if (!value || !value->is_string()) return wrong(at(key), "a text is expected here");
    return value->get<std::string>();
  }
  Result<bool> flag(const char* key) const {
    const Json* value = find(key);
    if (!value || !value->is_boolean()) return wrong(at(key), "true or false is expected here");
    return value->get<bool>();
  }
  Result<int64_t> integer(const char* key, int64_t otherwise) const {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_number_integer()) return wrong(at(key), "a whole number is expected here");
    return value->get<int64_t>();
  }
  Result<const Json*> list(const char* key) const {
    const Json* value = find(key);
    if (!value || !value->is_array()) return wrong(at(key), "a list is expected here");
    return value;
  }
  Result<std::vector<std::string>> texts(const char* key) const {
    STITCH_TRY(const Json* values, list(key));
    std::vector<std::string> out;
    for (const Json& value : *values) {
      if (!value.is_string()) return wrong(at(key), "a list of texts is expected here");
      out.push_back(value.get<std::string>());
    }
    return out;
  }

 private:
  Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {}
  const Json* object_;
  std::string where_;
};

template <class Enum, size_t count>
Result<Enum> one_of(const Fields& fields, const char* key, const std::array<Enum, count>& all) {
  STITCH_TRY(std::string text, fields.text(key));
  std::vector<std::string> names;
  for (Enum each : all) {
    if (name(each) == text) return each;
    names.emplace_back(name(each));
  }
  return wrong(fields.at(key), format("there is no '{}'", shorten(printable(text), 60)),
               "one of: " + join(names, ", "));
}

constexpr std::array arithmetics = {Arithmetic::by_class, Arithmetic::exact, Arithmetic::half,
                                    Arithmetic::half_exact_bias};
constexpr std::array orders = {Order::row_major, Order::channels_last};

class Reader {
 public:
  Reader(const Context& context, const Catalogue& catalogue)
      : context_(context), graph_(context.graph), catalogue_(catalogue) {
    for (int32_t n = 0; n < std::ssize(graph_.nodes); ++n) nodes_[node_name(graph_, n)] = n;
    for (size_t v = 0; v < graph_.values.size(); ++v)
      values_[graph_.values[v].name] = static_cast<ValueId>(v);
  }

  Result<Plan> read(const Fields& document) {
    STITCH_CHECK(document.allow({"stitch_plan", "model", "graph", "class", "gpu", "one_graph", "pytorch_tf32",
                                 "sizes", "estimated_seconds", "pytorch_estimated_seconds", "steps",
                                 "regions", "warnings", "error"}));
    plan_ = empty_plan(graph_, context_.numerics);
    STITCH_TRY(plan_.one_graph, document.flag("one_graph"));
    STITCH_TRY(const Json* regions, document.list("regions"));
    std::set<std::string> names;
    for (size_t i = 0; i < regions->size(); ++i) {
      STITCH_TRY(Region region, read_region((*regions)[i], format("regions[{}]", i)));
      if (!names.insert(region.name).second)
        return wrong(format("region '{}'", region.name), "there are two regions of this name");
      plan_.regions.push_back(std::move(region));
    }
    for (size_t i = 0; i < regions->size(); ++i) STITCH_CHECK(read_contract((*regions)[i], plan_.regions[i]));
    STITCH_CHECK(check(graph_, plan_));
    STITCH_CHECK(contracts_meet());
    STITCH_TRY(const Json* steps, document.list("steps"));
    for (size_t i = 0; i < steps->size(); ++i) {
      STITCH_TRY(Fields step, Fields::of((*steps)[i], format("steps[{}]", i)));
      STITCH_TRY(Step read, read_step(step));
      plan_.steps.push_back(std::move(read));
    }
    return std::move(plan_);
  }

 private:
  static Result<Step> read_step(const Fields& step) {
    Step out;
    STITCH_CHECK(step.allow({"title", "why", "regions", "predicted_gain_seconds"}));
    STITCH_TRY(out.title, step.text("title"));
    STITCH_TRY(out.why, step.text("why"));
    STITCH_TRY(out.regions, step.texts("regions"));
    const Json* gain = step.find("predicted_gain_seconds");
    if (!gain || !gain->is_number())
      return wrong(step.at("predicted_gain_seconds"), "a number is expected here");
    out.predicted_gain = gain->get<double>();
    return out;
  }

  Result<Region> read_region(const Json& value, const std::string& number) {
    STITCH_TRY(Fields unnamed, Fields::of(value, number));
    Region region;
    STITCH_TRY(region.name, unnamed.text("name"));
    if (region.name.empty() || region.name.size() > 200)
      return wrong(number + ".name", "a name of 1 to 200 bytes is expected here");
    STITCH_TRY(Fields fields, Fields::of(value, format("region '{}'", shorten(printable(region.name), 60))));
    STITCH_CHECK(
        fields.allow({"name", "technique", "arithmetic", "order", "choices", "nodes", "reads", "writes",
                      "variants", "section", "branch", "source", "knobs", "estimated_start_seconds",
                      "estimated_seconds", "bytes", "flops", "error_share"}));
    STITCH_CHECK(read_way(fields, region));
    if (fields.find("variants")) {
      STITCH_TRY(const Json* variants, fields.list("variants"));
      for (size_t i = 0; i < variants->size(); ++i) {
        STITCH_TRY(Variant variant, read_variant((*variants)[i], fields.at(format("variants[{}]", i))));
        region.variants.push_back(std::move(variant));
      }
    }
    if (const Json* source = fields.find("source")) {
      STITCH_TRY(region.source, read_source(*source, fields.at("source")));
    }
    STITCH_TRY(std::vector<std::string> nodes, fields.texts("nodes"));
    for (const std::string& each : nodes) {
      auto found = nodes_.find(each);
      if (found == nodes_.end())
        return wrong(fields.where(), format("'{}' is no node of the graph", shorten(printable(each), 60)));
      region.nodes.push_back(found->second);
    }
    if (region.nodes.empty()) return wrong(fields.where(), "has no nodes", "remove the region");
    STITCH_TRY(int64_t section, fields.integer("section", 0));
    STITCH_TRY(int64_t branch, fields.integer("branch", 0));
    if (section < 0 || branch < 0 || section > 1'000'000 || branch > 64)
      return wrong(fields.where(), "sections count from 1, branches from 0 to 64");
    region.section = static_cast<int>(section);
    region.branch = static_cast<int>(branch);
    complete(graph_, region);
    return region;
  }

  // Technique, offer and choices, of a region or of a variant.
  template <class Of>
  Result<void> read_way(const Fields& fields, Of& of) const {
    STITCH_TRY(std::string technique, fields.text("technique"));
    of.technique = catalogue_.find(technique);
    if (!of.technique)
      return wrong(fields.where(), format("there is no technique '{}'", shorten(printable(technique), 60)),
                   "one of: " + names_of(catalogue_));
    STITCH_TRY(of.offer.arithmetic, one_of(fields, "arithmetic", arithmetics));
    STITCH_TRY(of.offer.order, one_of(fields, "order", orders));
    const Json* choices = fields.find("choices");
    if (!choices || !choices->is_object()) return wrong(fields.at("choices"), "an object is expected here");
    for (const auto& [knob, chosen] : choices->items()) {
      if (!chosen.is_number_integer())
        return wrong(fields.at("choices." + printable(knob)), "a whole number is expected here");
      of.choices[knob] = chosen.template get<int64_t>();
    }
    return {};
  }

  Result<Variant> read_variant(const Json& value, const std::string& where) const {
    STITCH_TRY(Fields fields, Fields::of(value, where));
    STITCH_CHECK(fields.allow({"measure", "least", "most", "technique", "arithmetic", "order", "choices"}));
    Variant out;
    if (!context_.takes_sizes())
      return wrong(where, "only a plan for ranges of sizes has variants", "remove them");
    STITCH_TRY(out.measure, fields.text("measure"));
    if (auto size = evaluate_size(out.measure, context_.sizes()); !size)
      return wrong(fields.at("measure"), size.error().message);
    STITCH_TRY(out.least, fields.integer("least", 0));
    STITCH_TRY(out.most, fields.integer("most", std::numeric_limits<int64_t>::max()));
    STITCH_CHECK(read_way(fields, out));
    return out;
  }

  static Result<std::shared_ptr<const Source>> read_source(const Json& value, const std::string& where) {
    STITCH_TRY(Fields fields, Fields::of(value, where));
    STITCH_CHECK(fields.allow({"function", "text", "author", "workspace_bytes"}));
    Source out;
    STITCH_TRY(out.function, fields.text("function"));
    STITCH_TRY(out.text, fields.text("text"));
    if (fields.find("author")) {
      STITCH_TRY(out.author, fields.text("author"));
    }
    STITCH_TRY(out.workspace_bytes, fields.integer("workspace_bytes", 0));
    if (out.text.size() > most_source_bytes)
      return wrong(where, format("a source of at most {} bytes is expected here", most_source_bytes));
    return std::make_shared<const Source>(std::move(out));
  }

  static std::string names_of(const Catalogue& catalogue) {
    std::vector<std::string> out;
    for (const Technique* technique : catalogue.all()) out.emplace_back(technique->name());
    return join(out, ", ");
  }

  struct Slot {
    ValueId value;
    Storage storage;
  };
  Result<Slot> read_slot(const Json& value, const std::string& where) const {
    STITCH_TRY(Fields fields, Fields::of(value, where));
    STITCH_CHECK(fields.allow({"value", "dtype", "shape", "order"}));
    STITCH_TRY(std::string text, fields.text("value"));
    auto found = values_.find(text);
    if (found == values_.end())
      return wrong(where, format("'{}' is no value of the graph", shorten(printable(text), 60)));
    Slot slot{found->second, {}};
    STITCH_TRY(std::string type, fields.text("dtype"));
    auto dtype = parse_dtype(type);
    if (!dtype)
      return wrong(where, format("'{}': there is no dtype '{}'", text, shorten(printable(type), 20)));
    slot.storage.dtype = *dtype;
    const Json* shape = fields.find("shape");
    if (shape && *shape != Json(graph_.type(slot.value).shape))
      return wrong(where, format("'{}' has another shape in the graph", text));
    if (const Json* order = fields.find("order")) {
      if (!order->is_array() ||
          !std::ranges::all_of(*order, [](const Json& each) { return each.is_number_integer(); }))
        return wrong(where, format("'{}': its order is a list of dimensions", text));
      slot.storage.order = order->get<std::vector<int64_t>>();
    }
    return slot;
  }

  // What is written decides how a value is stored; what is read has to meet it.
  Result<void> read_contract(const Json& value, const Region& region) {
    const std::string where = format("region '{}'", region.name);
    STITCH_TRY(Fields fields, Fields::of(value, where));
    for (const char* side : {"writes", "reads"}) {
      const bool writes = std::string_view(side) == "writes";
      const std::vector<ValueId>& expected = writes ? region.writes : region.reads;
      STITCH_TRY(const Json* list, fields.list(side));
      std::vector<std::string> needed;
      for (ValueId id : expected) needed.push_back(graph_[id].name);
      if (list->size() != expected.size())
        return wrong(where,
                     format("{} {} values, where its nodes need {}", side, list->size(), expected.size()),
                     format("it {}: {}", side, join(needed, ", ")));
      for (size_t i = 0; i < expected.size(); ++i) {
        STITCH_TRY(Slot slot, read_slot((*list)[i], where));
        if (slot.value != expected[i])
          return wrong(where,
                       format("{} '{}' where its nodes need '{}'", side, graph_[slot.value].name, needed[i]),
                       format("it {}: {}", side, join(needed, ", ")));
        Storage& stored = plan_.storage[index_of(slot.value)];
        if (writes)
          stored = slot.storage;
        else
          read_.push_back({&region, slot});
      }
    }
    return {};
  }

  Result<void> contracts_meet() const {
    for (const auto& [region, slot] : read_) {
      const Storage& stored = plan_.storage[index_of(slot.value)];
      if (stored == slot.storage) continue;
      auto text = [](const Storage& storage) {
        return storage.order.empty()
                   ? std::string(name(storage.dtype))
                   : format("{} in the order [{}]", name(storage.dtype), join(storage.order, ","));
      };
      return wrong(format("region '{}'", region->name),
                   format("reads '{}' as {}, and it is stored as {}", graph_[slot.value].name,
                          text(slot.storage), text(stored)),
                   "write the same dtype and order on both sides");
    }
    return {};
  }

  const Context& context_;
  const Graph& graph_;
  const Catalogue& catalogue_;
  std::map<std::string, int32_t, std::less<>> nodes_;
  std::map<std::string, ValueId, std::less<>> values_;
  Plan plan_;
  std::vector<std::pair<const Region*, Slot>> read_;
};

}  // namespace

Result<Premises> read_premises(const Json& document, const Graph& graph, const GpuSpec& gpu) {
  STITCH_TRY(Fields fields, Fields::of(document, ""));
  STITCH_TRY(int64_t version, fields.integer("stitch_plan", 0));
  if (version != plan_version)
    return wrong("stitch_plan", format("{} is expected here: the version of the document", plan_version),
                 "make the plan again: stitchcuda plan MODEL -o plan.json");
  STITCH_TRY(std::string hash, fields.text("graph"));
  if (hash != graph_hash(graph))
    return wrong("graph", "the plan is for another graph: the model has changed since, or is another one",
                 "make the plan again: stitchcuda plan MODEL -o plan.json");
  STITCH_TRY(std::string on, fields.text("gpu"));
  if (on != gpu.name)
    return wrong(
        "gpu", format("the plan is for {}, not for {}", shorten(printable(on), 60), gpu.name),
        format("plan again with --gpu {0}, or use this plan with the GPU it is for", quote(gpu.name)));
  Premises out;
  STITCH_TRY(std::string numerics, fields.text("class"));
  STITCH_TRY(out.numerics, parse_numerics(numerics));
  const Json* tf32 = fields.find("pytorch_tf32");
  if (!tf32 || !tf32->is_object()) return wrong("pytorch_tf32", "an object is expected here");
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n)
    if (auto found = tf32->find(node_name(graph, n)); found != tf32->end()) {
      if (!found->is_boolean())
        return wrong("pytorch_tf32." + node_name(graph, n), "true or false is expected here");
      out.torch.tf32[n] = found->get<bool>();
    }
  if (out.torch.tf32.size() != tf32->size())
    return wrong("pytorch_tf32", "names something that is no node of the graph");
  return out;
}

Result<PlannedCall> read_planned_call(const Json& document) {
  STITCH_TRY(Fields fields, Fields::of(document, ""));
  auto seconds = [](const Fields& from, const char* key) -> Result<double> {
    const Json* value = from.find(key);
    if (!value || !value->is_number()) return wrong(from.at(key), "a number is expected here");
    return value->get<double>();
  };
  PlannedCall out;
  STITCH_TRY(out.gpu, fields.text("gpu"));
  STITCH_TRY(out.seconds, seconds(fields, "estimated_seconds"));
  if (const Json* sizes = fields.find("sizes")) {
    STITCH_TRY(Fields of_any, Fields::of(*sizes, "sizes"));
    STITCH_TRY(out.folded_elements, of_any.integer("folded_elements", 0));
  }
  STITCH_TRY(const Json* regions, fields.list("regions"));
  for (size_t i = 0; i < regions->size(); ++i) {
    STITCH_TRY(Fields region, Fields::of((*regions)[i], format("regions[{}]", i)));
    PlannedCall::Region& one = out.regions.emplace_back();
    STITCH_TRY(one.name, region.text("name"));
    STITCH_TRY(one.start, seconds(region, "estimated_start_seconds"));
    STITCH_TRY(one.seconds, seconds(region, "estimated_seconds"));
  }
  return out;
}

Result<Plan> read_plan(const Json& document, const Context& context, const Catalogue& catalogue) {
  STITCH_TRY(Fields fields, Fields::of(document, ""));
  STITCH_TRY(Plan plan, Reader(context, catalogue).read(fields));
  STITCH_CHECK(check_whole(context, plan));
  return plan;
}

Result<GivenPlan> read_given_plan(const Json& document, const Graph& graph, const GpuSpec& gpu,
                                  const Catalogue& catalogue, Numerics asked,
                                  std::shared_ptr<const Instances> instances) {
  STITCH_TRY(Premises premises, read_premises(document, graph, gpu));
  if (asked != Numerics::standard && asked != premises.numerics)
    return user_error("plan",
                      format("the plan's numerics class is {}, not {}", name(premises.numerics), name(asked)),
                      "leave --numerics out: the plan has it");
  Context context(graph, gpu, premises.numerics, std::move(premises.torch));
  context.instances = std::move(instances);
  STITCH_TRY(Plan plan, read_plan(document, context, catalogue));
  return GivenPlan{std::move(context), std::move(plan)};
}

}  // namespace stitch::plan
