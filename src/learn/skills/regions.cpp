#include "learn/skills/regions.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "agents/llm/region_brief.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/names.h"
#include "code/program_parts.h"
#include "code/written.h"
#include "graph/cost.h"
#include "graph/folder.h"
#include "graph/safetensors.h"
#include "graph/text.h"
#include "learn/draw.h"
#include "learn/synthesis/synthesize.h"
#include "mutants/mutation.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

Result<Graph> graph_of_region(const Graph& graph, const plan::Region& region) {
  Graph out;
  out.name = region.name;
  std::map<ValueId, ValueId> made;
  std::set<ValueId> inside;
  for (int32_t n : region.nodes) inside.insert(graph.node(n).results.begin(), graph.node(n).results.end());
  auto leaf = [&](ValueId id) {
    const Value& value = graph[id];
    const bool weight = value.role == Role::parameter || value.role == Role::buffer;
    made[id] = out.add_leaf(weight ? value.role : Role::input, value.name,
                            {value.type.dtype, value.type.shape, {}}, weight ? value.name : "");
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) {
      if (id != ValueId::none && !inside.contains(id) && !made.contains(id)) {
        if (graph[id].role == Role::constant || graph[id].role == Role::seed)
          return user_error("region", "it reads constants or draws numbers");
        leaf(id);
      }
      operands.push_back(id == ValueId::none ? id : made.at(id));
    }
    STITCH_TRY(const std::vector<ValueId> results,
               out.add_node(node.op, std::move(operands), node.attributes, graph[node.results[0]].name));
    for (size_t i = 0; i < results.size(); ++i) made[node.results[i]] = results[i];
  }
  for (ValueId id : region.writes) out.outputs.push_back(made.at(id));
  STITCH_CHECK(verify(out));
  return out;
}

namespace {

// [begin, end) of "StitchStatus FUNCTION(…)" where it is defined.
std::optional<std::pair<size_t, size_t>> head_in(const std::string& source, const std::string& function) {
  const std::string begin = "StitchStatus " + function + "(";
  for (size_t at = source.find(begin); at != std::string::npos; at = source.find(begin, at + 1)) {
    int depth = 0;
    for (size_t i = at + begin.size() - 1; i < source.size(); ++i) {
      depth += source[i] == '(' ? 1 : source[i] == ')' ? -1 : 0;
      if (depth > 0) continue;
      const size_t next = source.find_first_not_of(" \n", i + 1);
      if (next != std::string::npos && source[next] == '{') return std::pair(at, i + 1);
      break;
    }
  }
  return std::nullopt;
}

std::optional<DType> type_of(const code::Packed& packed) {
  for (DType each : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8})
    if (packed.type == code::element_type(each)) return each;
  return std::nullopt;
}

// What a technique writes takes objects and settings of the program besides memory; an answer declares what
// it needs, and has the settings' values in it.
std::optional<std::string> as_answer(const code::RegionRequest& request, const code::RegionCode& code) {
  if (!code.members.empty() || !code.prepared.empty() || !code.libraries.empty()) return std::nullopt;
  const std::string function = code::required_name(request), prefix = request.name + "_";
  Json resources = Json::object();
  if (code.workspace_bytes > 0) resources["workspace"] = code.workspace_bytes;
  for (const code::Packed& packed : code.packed) {
    const auto type = type_of(packed);
    if (!type || !packed.fill || packed.fill->arguments.empty() || !packed.name.starts_with(prefix))
      return std::nullopt;
    Json from = Json::array();
    for (size_t i = 0; i + 1 < packed.fill->arguments.size(); ++i) {
      const auto weight =
          std::ranges::find(request.weights, packed.fill->arguments[i], &code::Place::pointer);
      if (weight == request.weights.end()) return std::nullopt;
      from.push_back(format("weight {}", weight - request.weights.begin()));
    }
    resources["packed"].push_back({{"name", packed.name.substr(prefix.size())},
                                   {"type", name(*type)},
                                   {"elements", packed.elements},
                                   {"from", from},
                                   {"by", packed.fill->function}});
  }
  std::string declared = resources.empty() ? "" : "/* resources\n" + line_text(resources) + "\n*/\n";
  std::string body = code.source;
  auto head = head_in(body, function);
  if (!head) return std::nullopt;
  std::string values;
  for (const code::Setting& setting : code.settings) {
    if (setting.type != "int") return std::nullopt;
    values += format("constexpr int {} = {};\n", setting.variable, setting.value);
  }
  body.replace(head->first, head->second - head->first,
               code::required_function(request, {.function = function, .text = declared}));
  body.insert(head->first, values + (values.empty() ? "" : "\n"));
  return declared + code.includes + (code.includes.empty() ? "" : "\n") + body;
}

}  // namespace

Result<std::vector<KnownAnswer>> known_answers(const std::shared_ptr<const PlannedTask>& task, size_t most) {
  std::vector<KnownAnswer> out;
  if (task->plan.regions.size() != 1 || task->plan.regions[0].source) return out;
  const RegionProblem problem{task, 0, canonical_hash(task->graph)};
  std::set<std::string> known;
  std::set<const plan::Technique*> techniques;
  std::vector<KnownAnswer> others;
  for (const plan::Region& choice : candidate_choices(problem, 4 * most)) {
    plan::Plan plan = task->plan;
    plan.regions[0] = choice;
    auto requests = code::requests_of(*task->context, plan);
    if (!requests) continue;
    auto code = code::technique_of(choice).write((*requests)[0]);
    if (!code) continue;
    auto source = as_answer((*requests)[0], *code);
    if (!source || !known.insert(*source).second) continue;
    KnownAnswer answer{*std::move(source), std::string(choice.technique->idea()),
                       plan::estimate(*task->context, plan, choice).seconds()};
    (techniques.insert(choice.technique).second ? out : others).push_back(std::move(answer));
  }
  std::ranges::stable_sort(out, {}, &KnownAnswer::seconds);
  std::ranges::stable_sort(others, {}, &KnownAnswer::seconds);
  out.insert(out.end(), others.begin(), others.end());
  if (out.size() > most) out.resize(most);
  return out;
}

namespace {

Result<void> write_task(const fs::path& folder, const Graph& graph) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::pair<std::string, TensorBytes>> weights;
  for (ValueId id : graph.leaves()) {
    if (!graph[id].has_data()) continue;
    bytes.push_back(drawn_leaf(graph, id, 1).to_bytes());
    weights.emplace_back(graph[id].data, TensorBytes{graph.type(id), bytes.back()});
  }
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (!weights.empty()) STITCH_CHECK(write_safetensors(folder / weights_file, weights));
  return write_file(folder / graph_file, print_graph(graph));
}

constexpr std::string_view author = "earlier try";

bool is_right(const Json& said) { return word(said, "label").starts_with("correct"); }

std::string fenced(std::string_view source) {
  return format("```cuda\n{}{}```\n", source, source.ends_with('\n') ? "" : "\n");
}

// What its nodes compute, views and numbers left out.
std::string structure_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes)
    if (cost(graph, node).flops > 0) out.emplace_back(info(node.op).name);
  return join(out, " ");
}

agents::Feedback feedback_in(const Json& said) {
  agents::Feedback out{.outcome = agents::Outcome::misbehaved, .suggestion = word(said, "feedback")};
  const std::string label = word(said, "label");
  if (is_right(said)) out.outcome = agents::Outcome::not_better;
  for (agents::Outcome each : {agents::Outcome::not_built, agents::Outcome::wrong, agents::Outcome::crashed})
    if (label == name(each)) out.outcome = each;
  return out;
}

class Maker {
 public:
  Maker(const RegionRowsOptions& options, RegionRowsReport& report) : options_(options), report_(report) {}

  // Nothing: the region is left out.
  Result<std::vector<SkillRow>> rows_of(const Graph& graph, const std::string& hash,
                                        const std::string& from) {
    const std::string name = format("{}_{}", hash.substr(0, 12), graph.name);
    STITCH_CHECK(write_task(options_.out / "tasks" / name, graph));
    STITCH_TRY(task_, plan_task(name, graph, options_.gpu, Numerics::standard));
    STITCH_TRY(const std::vector<KnownAnswer> known, known_answers(task_, options_.most_answers));
    std::vector<std::pair<KnownAnswer, Json>> right;
    for (const KnownAnswer& each : known) {
      Json said = judged(each.source);
      if (is_right(said))
        right.emplace_back(each, std::move(said));
      else
        report_.last_refused =
            format("{} ({}): {} {}", name, each.idea, word(said, "label"), line_text(said["verdict"]));
    }
    report_.without_answer += right.empty();
    SkillRow row{.task_id = name, .task = print_graph(graph)};
    row.graph_hash = hash;
    row.sketch = sketch_line({"", sketch_of(graph)}).substr(1);
    row.provenance = format("{}: {}", from, structure_of(graph));
    // A tenth of the structures is never trained on, and a tenth of the others' graphs.
    row.split = learn::name(split_of(structure_of(graph)) == Split::test ? Split::test : split_of(hash));
    row.gpu = options_.gpu.name;
    row.numerics = stitch::name(Numerics::standard);
    std::vector<SkillRow> out;
    STITCH_CHECK(add_first_tries(row, right, out));
    if (right.empty()) return out;
    std::ranges::stable_sort(right, {}, [](const auto& each) { return each.first.seconds; });
    const auto& [best, said] = right.front();
    row.skill = rubric::Skill::from_feedback;
    answer(row, best, said);
    for (size_t i = 1; i < right.size(); ++i)
      if (right[i].first.seconds > 1.1 * best.seconds) {
        row.speedup = right[i].first.seconds / best.seconds;
        STITCH_CHECK(add_change(row, right[i].first.source, right[i].second, right[i].first.seconds, out));
      }
    row.speedup = 0;
    Draw draw(options_.seed, stable_hash(hash));
    std::vector<mutants::Mutation> mutations = mutants::mutations_of(best.source);
    // Of state that is kept from call to call one would learn how to cheat.
    std::erase_if(mutations, [](const auto& each) { return each.kind == mutants::Kind::state; });
    for (size_t i = 0; i < options_.most_broken && !mutations.empty(); ++i) {
      const auto at = static_cast<size_t>(draw.below(static_cast<int64_t>(mutations.size())));
      const std::string broken = mutants::applied(best.source, mutations[at]);
      mutations.erase(mutations.begin() + static_cast<std::ptrdiff_t>(at));
      const Json what = judged(broken);
      if (is_right(what) || !what.value("counted", false) || word(what, "label") == "hack") continue;
      STITCH_CHECK(add_change(row, broken, what, 0, out));
    }
    return out;
  }

 private:
  Json judged(const std::string& source) {
    const fs::path task = options_.out / "tasks" / task_->name / graph_file;
    Json said = options_.judge(task, task_->name, source);
    ++report_.judged;
    report_.judged_right += is_right(said);
    return said;
  }

  static void answer(SkillRow& row, const KnownAnswer& known, const Json& said) {
    row.completion = known.idea + ".\n\n" + fenced(known.source);
    row.reward = said.value("reward", 0.0);
    row.outcome = word(said, "label");
  }

  Result<std::string> prompt(const std::string& name, const agents::Sibling* before,
                             const std::string& idea) {
    const Task task{.graph = task_->graph};
    const agents::Ledger ledger;
    plan::Plan plan = task_->plan;
    if (plan.regions.size() != 1) {
      STITCH_TRY(plan, code::plan_of_whole(*task_->context));
    }
    agents::Situation now{.task = task, .context = *task_->context, .ledger = ledger};
    if (before) {
      now.siblings = {before, 1};
      now.base = 0;
    }
    agents::Proposal step{.step = "write", .plan = plan, .idea = idea};
    STITCH_TRY(const agents::RegionBrief brief,
               agents::brief_of(now, plan, plan.regions[0].name, step, agents::LlmBrain()));
    STITCH_TRY(const prompts::Prompt found, prompts::find(options_.prompts, name));
    return prompts::fill(found.text, {brief.values.begin(), brief.values.end()});
  }

  // The fastest without a word, each with its technique's idea. Without an answer: the question alone.
  Result<void> add_first_tries(SkillRow row, const std::vector<std::pair<KnownAnswer, Json>>& right,
                               std::vector<SkillRow>& out) {
    STITCH_TRY(row.prompt, prompt("coder_answer", nullptr, ""));
    if (!right.empty()) answer(row, right.front().first, right.front().second);
    out.push_back(row);
    std::set<std::string> ideas;
    for (const auto& [known, said] : right) {
      if (!ideas.insert(known.idea).second) continue;
      STITCH_TRY(row.prompt, prompt("coder_answer", nullptr, known.idea));
      answer(row, known, said);
      out.push_back(row);
    }
    return {};
  }

  Result<void> add_change(SkillRow& row, const std::string& before, const Json& said, double seconds,
                          std::vector<SkillRow>& out) {
    STITCH_TRY(plan::Plan plan, code::plan_of_whole(*task_->context));
    STITCH_TRY(const std::string function, code::function_of_whole(*task_->context));
    // A source that no plan takes makes no program, so no prompt ever shows it.
    auto with = code::with_source(*task_->context, plan, plan.regions[0].name,
                                  {.function = function, .text = before, .author = std::string(author)});
    if (!with) return {};
    const agents::Sibling sibling{
        .draft = std::make_shared<agents::Draft>(
            agents::Draft{.plan = *std::move(with), .contents = {}, .author = std::string(author)}),
        .seconds = seconds,
        .feedback = feedback_in(said)};
    row.before = before;
    row.before_outcome = word(said, "label");
    row.feedback = word(said, "feedback");
    if (row.feedback.empty()) row.feedback = "correct; make it faster";
    STITCH_TRY(row.prompt, prompt(is_right(said) ? "coder_improve" : "coder_repair", &sibling, ""));
    out.push_back(row);
    return {};
  }

  const RegionRowsOptions& options_;
  RegionRowsReport& report_;
  std::shared_ptr<const PlannedTask> task_;
};

// Hashes of the regions that have rows; a line that was cut off by a kill is taken away.
Result<std::set<std::string>> known_in(const fs::path& file, int64_t& rows) {
  std::set<std::string> out;
  std::error_code ec;
  if (!fs::exists(file, ec)) return out;
  STITCH_TRY(const std::string text, read_file(file));
  const size_t whole = text.rfind('\n') + 1;
  if (whole < text.size()) fs::resize_file(file, whole, ec);
  for (const std::string& line : split(text.substr(0, whole), '\n')) {
    if (trim(line).empty()) continue;
    auto row = parse_json(line);
    if (!row || !check_row(*row)) return at(file.string(), user_error("skills", "not a file of rows"));
    out.insert(word((*row)["extra_info"], "graph_hash"));
    ++rows;
  }
  return out;
}

Result<void> append_rows(const fs::path& file, const std::vector<SkillRow>& rows, int64_t first) {
  std::string text;
  for (const SkillRow& row : rows) text += line_text(to_json(row, first++)) + "\n";
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text << std::flush;
  if (!out) return at(file.string(), work_error("file", "can't be written"));
  return {};
}

}  // namespace

Result<void> write_missing_weights(const fs::path& tasks) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(tasks, ec)) {
    if (!fs::exists(entry.path() / graph_file, ec) || fs::exists(entry.path() / weights_file, ec)) continue;
    STITCH_TRY(const Graph graph, load_graph(entry.path()));
    STITCH_CHECK(write_task(entry.path(), graph));
  }
  return {};
}

Result<RegionRowsReport> rows_of_regions(const std::vector<fs::path>& graphs,
                                         const RegionRowsOptions& options) {
  RegionRowsReport report;
  const fs::path file = options.out / "rows.jsonl";
  int64_t written = 0;
  STITCH_TRY(std::set<std::string> known, known_in(file, written));
  auto asked = [&] { return options.should_stop && options.should_stop(); };
  for (const fs::path& path : graphs) {
    STITCH_TRY(const Graph graph, load_graph(path));
    auto task = plan_task(graph.name, graph, options.gpu, Numerics::standard);
    if (!task) continue;
    const std::vector<bool> constant = plan::constant_regions((*task)->graph, (*task)->plan);
    for (size_t r = 0; r < (*task)->plan.regions.size() && !asked(); ++r) {
      auto region = graph_of_region(graph, (*task)->plan.regions[r]);
      if (constant[r] || !region || structure_of(*region).empty() ||
          cost(*region).total.flops > options.most_flops ||
          nearest_of(sketch_of(*region), kernelbench_sketches()).similarity > options.most_similar) {
        ++report.left_out;
        continue;
      }
      const std::string hash = canonical_hash(*region);
      if (!known.insert(hash).second) {
        ++report.known;
        continue;
      }
      const std::string from = format("region {} of {}", (*task)->plan.regions[r].name, graph.name);
      auto rows = Maker(options, report).rows_of(*region, hash, from);
      if (!rows) {
        report.last_refused = rows.error().text();
        ++report.left_out;
        continue;
      }
      STITCH_CHECK(append_rows(file, *rows, written));
      ++report.regions;
      report.rows += std::ssize(*rows);
      written += std::ssize(*rows);
      if (options.on_region) options.on_region(from, written);
    }
    if (asked()) break;
  }
  return report;
}

}  // namespace stitch::learn
