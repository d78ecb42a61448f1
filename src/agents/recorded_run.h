// A run that is written down as it happens, and can go on from what was written down. It stands around the
// brains (answers that were given before are not asked for again) and hears every event. A store that fails
// costs the record and nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/events.h"
#include "agents/optimize.h"
#include "agents/replay.h"
#include "store/memory.h"
#include "store/run_store.h"

namespace stitch::agents {

class RecordedRun final : public EventSink, public Replay {
 public:
  // A new run, or the one that `recording` names. `next` hears every event, too, before it is written down.
  static Result<std::unique_ptr<RecordedRun>> open(const Recording& recording, const store::RunStart& start,
                                                   EventSink* next);
  // Into the brains and the options of a run that is about to begin; all of them outlive it.
  void attach(const plan::Context& context, Brains& brains, OptimizeOptions& options);
  // How it ended; before, it counts as running, or killed.
  void finish(const Result<Optimized>& result);

  const std::string& id() const { return run_.id; }
  bool is_resumed() const { return resumed_; }
  // What PyTorch was seen to do when the run began: nothing for a new one.
  std::optional<plan::ReferenceFacts> reference_facts(const Graph& graph) const;

  // The LLMs' transcript, a line of JSON an exchange: what there is of a resumed run, and more of it.
  Result<std::vector<std::string>> conversation() const;
  void add_to_conversation(std::string_view line);

  // EventSink
  void on(const Event& event) override;
  // Replay
  double elapsed() const override;
  std::optional<Tuned> tuned() const override;
  std::optional<Answer> answer(const std::string& key) override;
  void answered(const std::string& key, const Answer& answer, const fs::path& program) override;

 private:
  RecordedRun(store::RunStore store, store::Run run, EventSink* next);
  Result<void> load();
  void write(std::string kind, const Json& body, const std::vector<std::string>& blobs = {});
  void give_up(const Error& error);

  struct State;
  store::RunStore store_;
  store::Run run_;
  bool resumed_ = false;
  EventSink* next_;
  std::unique_ptr<State> state_;
};

}  // namespace stitch::agents
