// A run that is recorded while it happens, and can be resumed from its record. It wraps the brains (recorded
// answers are not requested again) and receives every event. If the store fails, only the record is lost.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/loop/tune.h"
#include "agents/optimize.h"
#include "agents/record/events.h"
#include "agents/record/run_history.h"
#include "agents/roles.h"
#include "store/run_store.h"
#include "verify/verdict.h"

namespace stitch::agents {

// Recorded answers for resuming a killed run.

class Replay {
 public:
  // A verdict, or an error that says nothing about the program.
  using Answer = Result<verifier::Verdict>;

  virtual ~Replay() = default;
  // Seconds of the budget used; during replay, the recorded time.
  virtual double elapsed() const = 0;
  // The tuner's result, if it had finished.
  virtual std::optional<Tuned> tuned() const = 0;
  // The next unused answer under this key; nothing: the Verifier must judge.
  virtual std::optional<Answer> answer(const std::string& key) = 0;
  virtual void answered(const std::string& key, const Answer& answer) = 0;
};

// A Verifier that replays verdicts from before the run was killed. The real one is opened on the first new
// request.

using OpenVerifier = std::function<Result<std::unique_ptr<Verifier>>()>;

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay);

// Identifies a request: every file of the program except its weights and record, and how it is judged.
Result<std::string> judging_key(const fs::path& program, Judging judging);

class RecordedRun final : public EventSink, public Replay {
 public:
  // A new run, or the one that `recording` names. `next` receives every event before it is recorded.
  static Result<std::unique_ptr<RecordedRun>> open(const Recording& recording, const store::RunStart& start,
                                                   EventSink* next);
  ~RecordedRun() override;  // a run that was not finished has failed
  // Wraps the brains and sets the options of a run that began at `begin`. All of them outlive it. `open`:
  // opens the Verifier when it is first needed.
  void attach(const plan::Context& context, Brains& brains, OptimizeOptions& options, Clock::time_point begin,
              OpenVerifier open = {});
  // Records the end; until then the run counts as running, or killed.
  void finish(const Result<Optimized>& result);

  const std::string& id() const { return run_.id; }
  // What PyTorch was observed to do when the run began: nothing for a new one.
  std::optional<plan::ReferenceFacts> reference_facts(const Graph& graph) const;

  // The LLM transcript, one line of JSON per exchange, including a resumed run's earlier exchanges.
  const std::vector<std::string>& conversation() const { return conversation_; }
  void add_to_conversation(std::string_view line);

  // EventSink
  void on(const Event& event) override;
  // Replay
  double elapsed() const override;
  std::optional<Tuned> tuned() const override { return tuned_; }
  std::optional<Answer> answer(const std::string& key) override;
  void answered(const std::string& key, const Answer& answer) override;

 private:
  RecordedRun(store::RunStore store, store::Run run, const Recording& recording, EventSink* next);
  // Loads what was recorded before the run was killed.
  Result<void> load();
  Result<void> load_answer(const store::StoredEvent& event);
  // Returns the event's number. An event that is already recorded, by its identity, is not written again.
  std::optional<int64_t> write(const EventRecord& record);
  std::optional<int64_t> append(const std::string& kind, const std::string& body,
                                const std::vector<std::string>& blobs = {});
  void sum_up(const Event& event);
  void remember(const Event& event, int64_t sequence);
  void give_up(const Error& error);

  struct KnownAnswer {
    double elapsed = 0;
    Answer answer;
  };
  struct KnownEvent {
    int64_t sequence = 0;
    std::string identity;
  };
  struct Kept {
    plan::Plan plan;
    std::map<std::string, int64_t> settings;
    double seconds = 0;
  };

  store::RunStore store_;
  store::Run run_;
  const Recording recording_;
  EventSink* next_;
  const plan::Context* context_ = nullptr;
  Observer observer_;
  bool broken_ = false;  // the store failed: recording has stopped
  bool finished_ = false;

  // Of a resumed run.
  store::RunSummary before_;
  std::deque<KnownEvent> known_events_;
  std::map<std::string, std::deque<KnownAnswer>> answers_;
  std::vector<std::string> conversation_;
  std::optional<Tuned> tuned_;
  std::shared_ptr<const Json> beginning_;  // the run's first event; null: killed before it

  // The clock: during replay, the time of the last recorded answer.
  bool live_ = true;
  double gone_ = 0;  // seconds before replay ended
  Clock::time_point live_since_ = Clock::now();

  // For the memory.
  std::optional<plan::Plan> plan_, base_;  // of the current step
  std::map<std::string, int64_t> settings_;
  std::vector<Kept> kept_;
};

}  // namespace stitch::agents
