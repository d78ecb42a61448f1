#include "agents/llm_session.h"

#include <nlohmann/json.hpp>

#include "llm/transcript.h"
#include "prompts/templates.h"

namespace stitch::agents {

namespace {

// Of all values there are, those that a prompt is given.
Prompts filled_from(std::vector<prompts::Prompt> all) {
  return [all = std::move(all)](std::string_view name, const PromptValues& values) -> Result<std::string> {
    STITCH_TRY(prompts::Prompt prompt, prompts::find(all, name));
    prompts::Values own;
    for (const std::string& each : prompt.values)
      if (auto found = values.find(each); found != values.end()) own[each] = found->second;
    return prompts::fill(prompt, own);
  };
}

llm::TranscriptSink both(llm::TranscriptSink first, llm::TranscriptSink second) {
  if (!first || !second) return first ? first : second;
  return [first = std::move(first), second = std::move(second)](const Json& exchange) -> Result<void> {
    STITCH_CHECK(first(exchange));
    return second(exchange);
  };
}

}  // namespace

Result<CoderStyle> parse_coder_style(std::string_view name) {
  if (name == "answer") return CoderStyle::answer;
  if (name == "agent") return CoderStyle::agent;
  return user_error("style", format("there is no style '{}'", name), "one of: answer, agent");
}

bool is_llm(std::string_view brain) { return brain.starts_with("llm:"); }

Result<std::shared_ptr<LlmSession>> LlmSession::open(LlmOptions options,
                                                     std::function<void(std::string_view)> on_progress) {
  std::shared_ptr<LlmSession> out(new LlmSession(std::move(options)));
  const LlmOptions& asked = out->options_;
  out->on_progress_ = std::move(on_progress);
  STITCH_TRY(out->config_, llm::load_config(asked.config));
  std::vector<prompts::Prompt> all = prompts::built_in();
  if (!asked.prompts.empty()) {
    STITCH_TRY(all, prompts::with_folder(asked.prompts));
  }
  out->prompts_ = filled_from(std::move(all));
  out->notes_ = notes::built_in();
  if (!asked.notes.empty()) {
    STITCH_TRY(out->notes_, notes::with_folder(asked.notes));
  }
  if (!asked.record.empty()) {
    STITCH_TRY(out->sink_, llm::transcript_file(asked.record));
  }
  out->sink_ = both(std::move(out->sink_), asked.sink);
  if (!asked.replay.empty()) {
    STITCH_TRY(llm::Transcript transcript, llm::Transcript::read(asked.replay));
    out->replay_ = std::make_shared<llm::Transcript>(std::move(transcript));
  }
  return out;
}

Result<LlmBrain> LlmSession::brain(std::string_view words, llm::Agent agent) {
  LlmBrain out{.prompts = prompts_, .notes = &notes_, .max_turns = options_.max_turns};
  out.on_progress = on_progress_;
  if (replay_) {
    out.author = std::string(words);
    std::unique_ptr<llm::Chat> chat = std::make_unique<llm::ReplayChat>(replay_, agent);
    if (sink_)
      chat = std::make_unique<llm::RecordingChat>(std::move(chat), agent, "replay", out.author, sink_);
    out.chat = std::move(chat);
    return out;
  }
  STITCH_TRY(llm::Profile profile, llm::choose_profile(config_, words));
  out.author = format("llm:{}/{}", profile.name, profile.model);
  llm::Connection connection{.profile = std::move(profile), .agent = agent, .account = &account_};
  connection.transcript = sink_;
  connection.transport = options_.transport;
  STITCH_TRY(std::unique_ptr<llm::Chat> chat, llm::connect(std::move(connection)));
  out.chat = std::move(chat);
  return out;
}

}  // namespace stitch::agents
