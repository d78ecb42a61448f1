#include "agents/llm/llm_session.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/machine/time_account.h"
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

}  // namespace

Result<CoderStyle> parse_coder_style(std::string_view name) {
  if (name == "answer") return CoderStyle::answer;
  if (name == "agent") return CoderStyle::agent;
  return user_error("style", format("unknown coder style '{}'", name), "one of: answer, agent");
}

size_t share_of_prompt(const LlmBrain& brain, double share) {
  constexpr double bytes_a_token = 3, of_the_context = 0.6;  // the rest is for the answer
  constexpr double most = 120000;                            // tokens of a prompt that are worth their price
  return static_cast<size_t>(share * bytes_a_token *
                             std::min(most, of_the_context * static_cast<double>(brain.context)));
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
    STITCH_TRY(out->file_, llm::transcript_file(asked.record));
  }
  if (!asked.replay.empty()) {
    STITCH_TRY(llm::Transcript transcript, llm::Transcript::read(asked.replay));
    out->replay_ = std::make_shared<llm::Transcript>(std::move(transcript));
  }
  return out;
}

Result<void> LlmSession::keep(const Json& exchange) const {
  if (tell_) tell_(line_text(exchange));
  return file_ ? file_(exchange) : Result<void>();
}

Result<void> LlmSession::go_on(const std::vector<std::string>& conversation,
                               std::function<void(std::string_view)> tell) {
  tell_ = std::move(tell);
  if (conversation.empty()) return {};
  std::string lines;
  for (const std::string& line : conversation) lines += line + "\n";
  STITCH_TRY(llm::Transcript transcript, llm::Transcript::parse(lines));
  earlier_ = std::make_shared<llm::Transcript>(std::move(transcript));
  return {};
}

// What was said before the run was killed, as long as the same is asked; then the model itself.
class LlmSession::GoingOn final : public llm::Chat {
 public:
  GoingOn(LlmSession& session, llm::Agent agent, std::unique_ptr<llm::Chat> live)
      : session_(session), agent_(agent), live_(std::move(live)) {}

  Result<llm::Reply> ask(const llm::Request& request, const llm::AskOptions& options) override {
    if (session_.earlier_ && !is_live_) {
      if (auto said = session_.earlier_->answer(agent_, request)) return said;
      is_live_ = true;
    }
    // Requests of several threads at once are one phase, of the thread that waits for them.
    std::optional<SpentOn> phase;
    if (std::this_thread::get_id() == thread_)
      phase.emplace(format("language model: {}", name(agent_)), TimeAccount::Kind::phase);
    return live_->ask(request, options);
  }

 private:
  LlmSession& session_;
  const llm::Agent agent_;
  const std::unique_ptr<llm::Chat> live_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> is_live_ = false;
};

Result<LlmBrain> LlmSession::brain(std::string_view words, llm::Agent agent) {
  LlmBrain out{
      .prompts = prompts_, .notes = &notes_, .max_turns = options_.max_turns, .samples = options_.samples};
  out.on_progress = on_progress_;
  if (replay_) {
    out.author = std::string(words);
    std::unique_ptr<llm::Chat> chat = std::make_unique<llm::ReplayChat>(replay_, agent);
    out.chat = std::make_unique<llm::RecordingChat>(std::move(chat), agent, "replay", out.author,
                                                    [this](const Json& each) { return keep(each); });
    return out;
  }
  STITCH_TRY(llm::Profile profile, llm::choose_profile(config_, words));
  out.author = format("llm:{}/{}", profile.name, profile.model);
  if (profile.context) out.context = *profile.context;
  llm::Connection connection{.profile = std::move(profile), .agent = agent, .account = &account_};
  connection.transcript = [this](const Json& each) { return keep(each); };
  STITCH_TRY(std::unique_ptr<llm::Chat> chat, llm::connect(std::move(connection)));
  out.chat = std::make_unique<GoingOn>(*this, agent, std::move(chat));
  return out;
}

}  // namespace stitch::agents
