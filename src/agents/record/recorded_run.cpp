#include "agents/record/recorded_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/loop/loop.h"
#include "agents/record/remembering_planner.h"
#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "graph/text.h"
#include "plan/document/document.h"
#include "verify/verdict_document.h"

namespace stitch::agents {

namespace {

class RememberedVerifier final : public Verifier {
 public:
  RememberedVerifier(OpenVerifier open, Replay& replay) : open_(std::move(open)), replay_(replay) {}

  Result<verifier::Verdict> judge(const fs::path& program, Judging judging,
                                  const std::function<bool()>& should_stop) override {
    STITCH_TRY(std::string key, judging_key(program, judging));
    if (auto before = replay_.answer(key)) return *std::move(before);
    STITCH_TRY(Verifier * verifier, opened());
    Replay::Answer answer = verifier->judge(program, judging, should_stop);
    // An interruption is no answer: it is asked again.
    if (answer || answer.error().code != error_code::stopped) replay_.answered(key, answer);
    return answer;
  }

  Result<Feedback> explain(Outcome outcome, const verifier::Verdict& verdict,
                           const std::string& facts) override {
    STITCH_TRY(Verifier * verifier, opened());
    return verifier->explain(outcome, verdict, facts);
  }

  // While answers come from the record nothing is built.
  void build_ahead(std::span<const fs::path> programs) override {
    if (verifier_) verifier_->build_ahead(programs);
  }

  // One that was not asked for anything yet is new.
  Result<void> renew() override { return verifier_ ? verifier_->renew() : Result<void>(); }

  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path& program) override {
    STITCH_TRY(Verifier * verifier, opened());
    return verifier->settings_clock(program);
  }

 private:
  Result<Verifier*> opened() {
    if (!verifier_) {
      STITCH_TRY(verifier_, open_());
    }
    return verifier_.get();
  }

  OpenVerifier open_;
  Replay& replay_;
  std::unique_ptr<Verifier> verifier_;
};

}  // namespace

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay) {
  return std::make_unique<RememberedVerifier>(std::move(open), replay);
}

Result<std::string> judging_key(const fs::path& program, Judging judging) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (auto entry = fs::recursive_directory_iterator(program, ec);
       !ec && entry != fs::recursive_directory_iterator(); entry.increment(ec)) {
    // The record has the time in it; the weights are the task's, and large.
    const fs::path& path = entry->path();
    if (entry->is_regular_file() && path.filename() != ".stitchcuda" && path.extension() != ".safetensors")
      files.push_back(path);
  }
  if (ec) return work_error("read", format("cannot read {}: {}", program.string(), ec.message()));
  std::ranges::sort(files);
  Sha256 key;
  key.add_field(std::to_string(static_cast<int>(judging)));
  for (const fs::path& file : files) {
    STITCH_TRY(std::string text, read_file(file));
    key.add_field(file.lexically_relative(program).string());
    key.add_field(text);
  }
  return key.hex();
}

namespace {

constexpr int64_t observations_an_event = 1000;

Json document_of(const Error& error) {
  return {{"message", error.message},
          {"where", error.where},
          {"fix", error.fix},
          {"code", error.code},
          {"work", error.blame == Error::Blame::work}};
}

Error read_error(const Json& json) {
  return {word(json, "message"), word(json, "where"), word(json, "fix"), word(json, "code"),
          json.value("work", true) ? Error::Blame::work : Error::Blame::user};
}

Json run_facts(const plan::Context& context) {
  Json tf32 = Json::object();
  for (const auto& [node, so] : context.torch.tf32) tf32[plan::node_name(context.graph, node)] = so;
  Json out = {{"pytorch_tf32", std::move(tf32)}, {"as_pytorch", context.torch.as_pytorch}};
  if (context.torch.errors) out["measured_errors"] = plan::to_json(*context.torch.errors);
  return out;
}

}  // namespace

RecordedRun::RecordedRun(store::RunStore store, store::Run run, const Recording& recording, EventSink* next)
    : store_(std::move(store)), run_(std::move(run)), recording_(recording), next_(next) {}

Result<std::unique_ptr<RecordedRun>> RecordedRun::open(const Recording& recording,
                                                       const store::RunStart& start, EventSink* next) {
  STITCH_TRY(store::RunStore store, store::RunStore::open(recording.store));
  if (recording.resume.empty()) {
    STITCH_TRY(store::Run run, store.begin(start));
    return std::unique_ptr<RecordedRun>(new RecordedRun(std::move(store), std::move(run), recording, next));
  }
  STITCH_TRY(store::Run found, store.find(recording.resume));
  if (found.start.graph != start.graph)
    return user_error("run_changed", format("the model has changed since the run {} began", found.id),
                      "start a new run");
  STITCH_TRY(store::Run run, store.resume(found.id));
  std::unique_ptr<RecordedRun> out(new RecordedRun(std::move(store), std::move(run), recording, next));
  STITCH_CHECK(out->load());
  return out;
}

RecordedRun::~RecordedRun() {
  if (!finished_ && !broken_) (void)store_.finish(run_, store::RunState::failed, run_.summary);
}

Result<void> RecordedRun::load() {
  STITCH_TRY(std::vector<store::StoredEvent> events, store_.events(run_));
  for (const store::StoredEvent& event : events) {
    if (event.kind == "answer") {
      STITCH_CHECK(load_answer(event));
    } else if (event.kind == "conversation") {
      STITCH_TRY(Json body, parse_json(event.body));
      STITCH_TRY(std::string line, store_.blob(word(body, "line")));
      conversation_.push_back(std::move(line));
    } else if (event.kind == "begin") {
      STITCH_TRY(Json body, parse_json(event.body));
      beginning_ = std::make_shared<const Json>(std::move(body));
    } else if (event.kind != "resume") {
      known_events_.push_back({event.sequence, identity_of(event.kind, event.body)});
    }
    if (event.kind == "tuned") {
      STITCH_TRY(Json body, parse_json(event.body));
      STITCH_TRY(tuned_, read_tuned(body));
    }
  }
  live_ = false;
  // Counted anew while the events come again.
  before_ = std::exchange(run_.summary, {.elapsed = run_.summary.elapsed, .measured = run_.summary.measured});
  return {};
}

Result<void> RecordedRun::load_answer(const store::StoredEvent& event) {
  STITCH_TRY(Json body, parse_json(event.body));
  Answer answer = read_error(body.value("error", Json::object()));
  if (const std::string hash = word(body, "verdict"); !hash.empty()) {
    STITCH_TRY(std::string text, store_.blob(hash));
    STITCH_TRY(Json document, parse_json(text));
    STITCH_TRY(verifier::Verdict verdict, verifier::read_verdict(document));
    // The build cache may have been emptied since: then the program is compiled on first use.
    std::error_code ec;
    if (!fs::exists(verdict.library, ec)) verdict.library.clear();
    answer = std::move(verdict);
  }
  answers_[word(body, "key")].push_back({event.elapsed, std::move(answer)});
  return {};
}

std::optional<plan::ReferenceFacts> RecordedRun::reference_facts(const Graph& graph) const {
  if (!beginning_) return std::nullopt;
  plan::ReferenceFacts out;
  const Json seen = beginning_->value("pytorch_tf32", Json::object());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (auto found = seen.find(plan::node_name(graph, static_cast<int32_t>(n))); found != seen.end())
      out.tf32[static_cast<int32_t>(n)] = found->is_boolean() && found->get<bool>();
  out.as_pytorch = beginning_->value("as_pytorch", false);
  if (auto found = beginning_->find("measured_errors"); found != beginning_->end())
    if (auto errors = plan::measured_errors(*found))
      out.errors = std::make_shared<const plan::MeasuredErrors>(*std::move(errors));
  return out;
}

void RecordedRun::attach(const plan::Context& context, Brains& brains, OptimizeOptions& options,
                         Clock::time_point begin, OpenVerifier open) {
  context_ = &context;
  const bool emulated = options.device == runner::Device::emulated;
  observer_ = {.origin = run_.origin,
               .machine = machine_name(context.gpu, emulated),
               .version = recording_.version,
               .measured = !emulated && options.timing};
  if (live_) live_since_ = begin;
  run_.summary.measured = observer_.measured;
  store::Memory memory(store_);
  int64_t until = 0;
  if (beginning_) {
    until = beginning_->value("memory", int64_t{0});
    append("resume", "{}");
  } else {
    if (recording_.memory)
      if (auto last = memory.last()) until = *last;
    Json begin_with = run_facts(context);
    begin_with["memory"] = until;
    // The run's graph: training data from runs is checked against benchmarks.
    const std::string graph = print_graph(context.graph);
    begin_with["graph"] = store::blob_hash(graph);
    append("begin", line_text(begin_with), {graph});
  }
  if (until > 0 && !options.plan) {
    const Remembering remembering{.store = &store_,
                                  .until = until,
                                  .machine = observer_.machine,
                                  .version = recording_.version,
                                  .events = this,
                                  .coder = brains.coder ? brains.coder->author() : ""};
    brains.planner =
        remembering_planner(archive_planner(std::move(brains.planner), remembering), remembering);
  }
  if (brains.verifier) {
    auto opened = std::make_shared<std::unique_ptr<Verifier>>(std::move(brains.verifier));
    open = [opened]() -> Result<std::unique_ptr<Verifier>> { return std::move(*opened); };
  }
  brains.verifier = remembered_verifier(std::move(open), *this);
  options.events = this;
  options.replay = this;
}

void RecordedRun::finish(const Result<Optimized>& result) {
  const bool asked_to_stop = result ? result->stopped : result.error().code == error_code::stopped;
  const store::RunState state = asked_to_stop ? store::RunState::stopped
                                : result      ? store::RunState::shipped
                                              : store::RunState::failed;
  finished_ = true;
  run_.summary.elapsed = elapsed();
  if (result) run_.summary.seconds_a_call = result->seconds_a_call;
  if (broken_) return;
  if (auto done = store_.finish(run_, state, run_.summary); !done) give_up(done.error());
}

double RecordedRun::elapsed() const { return gone_ + (live_ ? seconds_since(live_since_) : 0); }

std::optional<Replay::Answer> RecordedRun::answer(const std::string& key) {
  auto found = answers_.find(key);
  if (found == answers_.end() || found->second.empty()) {
    if (!live_) {
      live_ = true;
      gone_ = std::max(gone_, run_.summary.elapsed);
      live_since_ = Clock::now();
    }
    return std::nullopt;
  }
  KnownAnswer known = std::move(found->second.front());
  found->second.pop_front();
  if (!live_) gone_ = known.elapsed;
  return std::move(known.answer);
}

void RecordedRun::answered(const std::string& key, const Answer& answer) {
  Json body = {{"key", key}};
  std::vector<std::string> blobs;
  if (answer) {
    blobs.push_back(line_text(verifier::to_document(*answer)));
    body["verdict"] = store::blob_hash(blobs.back());
  } else {
    body["error"] = document_of(answer.error());
  }
  append("answer", line_text(body), blobs);
}

void RecordedRun::add_to_conversation(std::string_view line) {
  conversation_.emplace_back(line);
  append("conversation", line_text({{"line", store::blob_hash(line)}}), {conversation_.back()});
}

void RecordedRun::on(const Event& event) {
  if (next_) next_->on(event);
  if (!context_) return;
  auto record = record_of(event, *context_);
  if (!record) return;
  sum_up(event);
  if (auto sequence = write(*record)) remember(event, *sequence);
}

void RecordedRun::sum_up(const Event& event) {
  if (auto* judged = std::get_if<AttemptJudged>(&event); judged && judged->contents) ++run_.summary.attempts;
  auto* ended = std::get_if<StepEnded>(&event);
  if (!ended || ended->action != Action::commit) return;
  ++run_.summary.kept;
  run_.summary.seconds_a_call = ended->entry.after;
}

std::optional<int64_t> RecordedRun::write(const EventRecord& record) {
  if (!known_events_.empty()) {
    const KnownEvent known = known_events_.front();
    if (known.identity == identity_of(record.kind, record.body)) {
      known_events_.pop_front();
      return known.sequence;
    }
    // From here on it goes another way than before: the Ctrl-C that ended it then did not come now.
    known_events_.clear();
    if (!broken_)
      if (auto done = store_.rewind(run_, known.sequence, elapsed()); !done) give_up(done.error());
  }
  return append(record.kind, record.body, record.blobs);
}

std::optional<int64_t> RecordedRun::append(const std::string& kind, const std::string& body,
                                           const std::vector<std::string>& blobs) {
  if (broken_) return std::nullopt;
  store::RunSummary summary = run_.summary;
  summary.elapsed = std::max(summary.elapsed, elapsed());
  if (!known_events_.empty()) {
    summary.attempts = std::max(summary.attempts, before_.attempts);
    summary.kept = std::max(summary.kept, before_.kept);
    summary.seconds_a_call = before_.seconds_a_call;
  }
  auto sequence = store_.append(run_, {.elapsed = elapsed(), .kind = kind, .body = body}, summary, blobs);
  if (sequence) return *sequence;
  give_up(sequence.error());
  return std::nullopt;
}

// Numbers come from events', so that what a resumed run remembers again is known.
void RecordedRun::remember(const Event& event, int64_t sequence) {
  const int64_t number = sequence * observations_an_event;
  std::vector<store::Observation> observations;
  if (auto* started = std::get_if<StepStarted>(&event); started && started->proposal) {
    plan_ = started->proposal->plan;
    settings_ = started->proposal->settings;
    base_ = started->base ? std::optional(*started->base) : std::nullopt;
  } else if (auto* ended = std::get_if<StepEnded>(&event)) {
    const plan::Plan* base = base_ ? &*base_ : nullptr;
    if (plan_ && ended->kept) plan_ = *ended->kept;
    if (plan_ && ended->entry.step != "tune")
      observations = observe_step(observer_, *context_, *plan_, base, ended->entry, number);
    if (plan_ && ended->action == Action::commit) {
      kept_.push_back({*plan_, settings_, ended->entry.after});
      auto kernels = observe_kernels(observer_, *context_, *plan_, base, ended->entry,
                                     number + static_cast<int64_t>(observations.size()));
      if (kernels)
        observations.insert(observations.end(), kernels->begin(), kernels->end());
      else if (next_)
        next_->on(Notice{format("a written kernel is not archived: {}", kernels.error().message)});
    }
    if (ended->entry.step == "ship" && !kept_.empty()) kept_.pop_back();
    plan_.reset();
  } else if (auto* shipped = std::get_if<Shipped>(&event);
             shipped && shipped->verdict.passed() && !kept_.empty()) {
    const Kept& best = kept_.back();
    observations.push_back(observe_program(observer_, *context_, best.plan, best.settings,
                                           seconds_of(shipped->verdict, best.seconds), number));
  }
  if (observations.empty() || broken_) return;
  if (auto done = store::Memory(store_).remember(observations); !done) give_up(done.error());
}

void RecordedRun::give_up(const Error& error) {
  if (broken_) return;
  broken_ = true;
  const std::string text = format("the run is no longer recorded: {}", error.text());
  if (next_) next_->on(Warning{text});
}

}  // namespace stitch::agents
