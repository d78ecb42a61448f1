// Every request and what came of it as a line of JSON, and a Chat that answers from such lines.
#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "base/file.h"
#include "llm/chat.h"

namespace stitch::llm {

// Takes one exchange: {"agent", "profile", "model", "hash", "request", "reply" | "error", "seconds"}. Never a
// key: keys are no part of a Request.
using TranscriptSink = std::function<Result<void>(const Json& exchange)>;

// Appends lines to a file.
Result<TranscriptSink> transcript_file(const fs::path& path);

class RecordingChat final : public Chat {
 public:
  RecordingChat(std::unique_ptr<Chat> inner, Agent agent, std::string profile, std::string model,
                TranscriptSink sink);
  // A sink that fails doesn't lose the reply: its error comes once, at the end, from sink_error().
  Result<Reply> ask(const Request& request, const AskOptions& options) override;
  std::optional<Error> sink_error() const;

 private:
  const std::unique_ptr<Chat> inner_;
  const Agent agent_;
  const std::string profile_, model_;
  const TranscriptSink sink_;
  mutable std::mutex mutex_;
  std::optional<Error> sink_error_;
};

// A recorded conversation, by agent, in order.
class Transcript {
 public:
  static Result<Transcript> read(const fs::path& path);
  static Result<Transcript> parse(std::string_view lines);
  // The next exchange of this agent if it asked the same; else "llm_replay" with the first difference.
  Result<Reply> answer(Agent agent, const Request& request);
  Transcript(Transcript&& other) noexcept;

 private:
  Transcript() = default;
  std::mutex mutex_;
  std::map<Agent, std::deque<std::shared_ptr<const Json>>> next_;
  std::map<Agent, int> answered_;
};

// Answers for one agent; the transcript is shared by all agents of a run.
class ReplayChat final : public Chat {
 public:
  ReplayChat(std::shared_ptr<Transcript> transcript, Agent agent);
  Result<Reply> ask(const Request& request, const AskOptions& options) override;

 private:
  const std::shared_ptr<Transcript> transcript_;
  const Agent agent_;
};

}  // namespace stitch::llm
