// A run that is written down as it happens, and can go on from what was written down. It stands around the
// brains (answers that were given before are not asked for again) and hears every event. A store that fails
// costs the record and nothing else.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agents/event_record.h"
#include "agents/optimize.h"
#include "agents/remembered_verifier.h"
#include "agents/run_memory.h"
#include "store/run_store.h"

namespace stitch::agents {

class RecordedRun final : public EventSink, public Replay {
 public:
  // A new run, or the one that `recording` names. `next` hears every event, too, before it is written down.
  static Result<std::unique_ptr<RecordedRun>> open(const Recording& recording, const store::RunStart& start,
                                                   EventSink* next);
  ~RecordedRun() override;  // a run without an end failed
  // Puts itself around the brains and into the options of a run that began at `begin`. All of them outlive
  // it. `open`: in place of a Verifier that is not there yet.
  void attach(const plan::Context& context, Brains& brains, OptimizeOptions& options, Clock::time_point begin,
              OpenVerifier open = {});
  // How it ended; before, it counts as running, or killed.
  void finish(const Result<Optimized>& result);

  const std::string& id() const { return run_.id; }
  // What PyTorch was seen to do when the run began: nothing for a new one.
  std::optional<plan::ReferenceFacts> reference_facts(const Graph& graph) const;

  // The LLMs' transcript, a line of JSON an exchange: what there is of a resumed run, and more of it.
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
  // What was written down before the run was killed.
  Result<void> load();
  Result<void> load_answer(const store::StoredEvent& event);
  // An event that stands there already is known by its identity, and not written again. Its number.
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
  bool broken_ = false;  // the store failed: nothing is written any more
  bool finished_ = false;

  // Of a run that goes on.
  std::deque<KnownEvent> known_events_;
  std::map<std::string, std::deque<KnownAnswer>> answers_;
  std::vector<std::string> conversation_;
  std::optional<Tuned> tuned_;
  std::shared_ptr<const Json> beginning_;  // what the run began with; null: it was killed before

  // The clock: before the first question that is new, that of the last answer.
  bool live_ = true;
  double gone_ = 0;  // seconds before it went live
  Clock::time_point live_since_ = Clock::now();

  // For the memory.
  std::optional<plan::Plan> plan_, base_;  // of the step at hand
  std::map<std::string, int64_t> settings_;
  std::vector<Kept> kept_;
};

}  // namespace stitch::agents
