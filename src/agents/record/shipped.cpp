#include "agents/record/shipped.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/machine/machine_memory.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "graph/numerics.h"
#include "verify/measured.h"
#include "verify/receipt.h"

namespace stitch::agents {

namespace {

std::string header_fact(const std::shared_ptr<const Json>& json, const char* key) {
  return json && json->is_object() ? word(*json, key) : "";
}

std::string speed_text(const Optimized& optimized, const Ledger& ledger, const OptimizeOptions& options) {
  const std::string own = seconds_text(optimized.seconds_a_call);
  const auto timing = verifier::timing_of(optimized.verdict);
  if (!timing) {
    std::string out = format("{} per call, estimated for {}: nothing was timed", own, options.gpu.name);
    if (const plan::PyTorchEstimate& pytorch = ledger.pytorch;
        pytorch.known() && optimized.seconds_a_call > 0)
      out += format("; {:.2f}x as fast as PyTorch in a CUDA graph ({}), {:.2f}x as fast as eager ({})",
                    pytorch.eager_graph / optimized.seconds_a_call, seconds_text(pytorch.eager_graph),
                    pytorch.eager / optimized.seconds_a_call, seconds_text(pytorch.eager));
    return out;
  }
  if (!timing->speedup) return format("{} a call, measured", own);
  return format("{} per call, measured: {:.2f}x over the best baseline of {} ({})", own, *timing->speedup,
                pytorch_in(options.numerics), timing->best_baseline);
}

std::string versions_text(const std::shared_ptr<const Json>& header) {
  std::string out = "stitchcuda " STITCH_VERSION;
  if (!header || !header->contains("reference")) return out;
  const Json& reference = (*header)["reference"];
  for (const auto& [key, name] : {std::pair{"torch", "PyTorch"}, {"cuda", "CUDA"}, {"cudnn", "cuDNN"}})
    if (reference.contains(key) && !reference[key].is_null())
      out +=
          format(", {} {}", name, reference[key].is_string() ? word(reference, key) : reference[key].dump());
  return out;
}

void replace_place(std::string& text, const std::string& place) {
  for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
    const size_t end = at + place.size();
    // The folder itself, or what is below it; another folder whose name begins like it stays.
    if (end == text.size() || text[end] == '\'' || text[end] == '"' || text[end] == ' ' || text[end] == ':')
      text.replace(at, place.size(), ".");
    else if (text[end] == '/')
      text.erase(at, place.size() + 1);
    else
      at = end;
  }
}

}  // namespace

void forget_places(Json& json, const std::vector<fs::path>& places) {
  if (json.is_string()) {
    std::string text = json.get<std::string>();
    for (const fs::path& place : places) replace_place(text, place.string());
    json = text;
  } else if (json.is_structured()) {
    for (Json& each : json) forget_places(each, places);
  }
}

std::vector<std::pair<std::string, std::string>> results_of(const Optimized& optimized, const Ledger& ledger,
                                                            const OptimizeOptions& options) {
  const verifier::Verdict& verdict = optimized.verdict;
  const std::string device = header_fact(verdict.header, "device");
  const verifier::GateReport *failure = verdict.failure(), *correct = verdict.gate("correctness");
  std::vector<std::pair<std::string, std::string>> out = {
      {"verdict", failure                  ? format("failed at {}: {}", failure->gate, failure->summary)
                  : optimized.judged_fully ? gates_text(verdict)
                                           : "quick checks: " + gates_text(verdict)},
      {"GPU", device == "emulated" ? format("judged on the emulated GPU, planned for {}", options.gpu.name)
                                   : device},
      {"numerics class", std::string(name(options.numerics))}};
  if (correct && correct->outcome == verifier::Outcome::passed) out.emplace_back("error", correct->summary);
  out.emplace_back("speed", speed_text(optimized, ledger, options));
  out.emplace_back("date", header_fact(verdict.header, "date"));
  out.emplace_back("made with", versions_text(verdict.header));
  return out;
}

Result<void> write_records(const Optimized& optimized, const Ledger& ledger, const Task& task,
                           const OptimizeOptions& options, std::vector<fs::path> places) {
  const fs::path& folder = optimized.published.folder;
  std::error_code ignored;
  for (const fs::path& place :
       {fs::absolute(folder).lexically_normal(), fs::absolute(task.source).parent_path().lexically_normal(),
        cache_folder(), fs::current_path(ignored), executable_folder()})
    places.push_back(place);
  // The longest first: one may lie in another.
  std::erase_if(places, [](const fs::path& place) { return place.string().size() < 2; });
  std::ranges::sort(places, std::ranges::greater(),
                    [](const fs::path& place) { return place.string().size(); });
  auto add = [&](const char* file, Json json) -> Result<void> {
    STITCH_CHECK(write_file(folder / file, document_text(json)));
    return add_to_record(folder, file);
  };

  verifier::Verdict verdict = optimized.verdict;
  if (verdict.header) {
    Json header = *verdict.header;
    header["program"] = ".";
    header["task"] = task.source.filename().string();
    forget_places(header, places);
    verdict.header = std::make_shared<const Json>(std::move(header));
  }
  for (verifier::GateReport& gate : verdict.gates) {
    if (gate.evidence) {
      Json evidence = *gate.evidence;
      forget_places(evidence, places);
      gate.evidence = std::make_shared<const Json>(std::move(evidence));
    }
    Json summary = gate.summary;
    forget_places(summary, places);
    gate.summary = summary.get<std::string>();
  }
  Json document = to_json(verdict), steps = to_json(ledger);
  forget_places(document, places);
  forget_places(steps, places);
  STITCH_CHECK(add("verdict.json", std::move(document)));
  STITCH_CHECK(add("ledger.json", std::move(steps)));
  if (!verdict.passed()) return {};
  verifier::VerifyOptions judged = options;
  judged.quick = !optimized.judged_fully;
  auto library = sha256_of_file(verdict.library);
  auto receipt = verifier::receipt_document({.program = folder,
                                             .library_hash = library ? *library : "",
                                             .options = judged,
                                             .task = task,
                                             .moves = true},
                                            verdict);
  // A task that is gone meanwhile takes the receipt along, not the program.
  if (!receipt) return {};
  return add("receipt.json", *std::move(receipt));
}

namespace {

// Sources, headers, a page, objects of compilers.
constexpr int64_t least_space = int64_t{64} << 20;

std::string fact(const ProgramFacts& facts, const char* name) {
  auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

bool comparable(const ProgramFacts& a, const ProgramFacts& b) {
  return std::ranges::all_of(
      std::initializer_list<const char*>{"task", "class", "mode", "numerics", "times", "gpu"},
      [&](const char* name) { return fact(a, name) == fact(b, name); });
}

}  // namespace

ProgramFacts facts_of(const OptimizeOptions& options, bool judged_fully) {
  auto source = sha256_of_file(options.model);
  const bool measured = options.device == runner::Device::cuda && options.timing;
  return {{"task", source ? *source : ""},
          {"class", options.task.model_class},
          {"mode", std::string(name(options.task.mode))},
          {"numerics", std::string(name(options.numerics))},
          {"times", measured ? "measured" : "estimated"},
          {"gpu", options.gpu.name},
          {"judged", judged_fully ? "fully" : "quickly"}};
}

std::string why_better(const ProgramFacts& there, const ProgramFacts& fresh) {
  if (!comparable(there, fresh)) return "";
  const std::string before = fact(there, "judged"), now = fact(fresh, "judged");
  if (before == "fully" && now == "quickly") return "it passed every gate, this one only the quick ones";
  auto old_seconds = parse_number(fact(there, "seconds")), seconds = parse_number(fact(fresh, "seconds"));
  // Measured times of one program differ that much from run to run.
  const double noise = fact(fresh, "times") == "measured" ? 0.02 : 1e-9;
  if (before != now || !old_seconds || !seconds || *old_seconds >= (1 - noise) * *seconds) return "";
  return format("it takes {} per call, this one {} ({})", seconds_text(*old_seconds), seconds_text(*seconds),
                fact(fresh, "times"));
}

Result<void> check_place(const OptimizeOptions& options) {
  STITCH_CHECK(OutputFolder::check(options.out, options.overwrite));
  for (const fs::path& place : {options.out, fs::temp_directory_path()})
    STITCH_CHECK(check_free_space(place, least_space));
  if (options.overwrite == Overwrite::force) return {};
  auto there = read_record(options.out);
  if (!there) return {};
  if (std::string why = why_better(there->facts, facts_of(options, !options.quick)); !why.empty())
    return at(options.out.string(), user_error("exists", "the program there is better: " + why,
                                               "leave --quick out, name another folder, or add --force"));
  return {};
}

}  // namespace stitch::agents
