#include "llm/transcript.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/machine/descriptor.h"
#include "base/machine/time_account.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

std::string line_of(const Json& exchange) { return line_text(exchange) + "\n"; }

Json error_json(const Error& error) {
  Json out = {{"code", error.code},
              {"message", error.message},
              {"blame", error.blame == Error::Blame::user ? "user" : "work"}};
  if (!error.fix.empty()) out["fix"] = error.fix;
  return out;
}

Error error_from(const Json& recorded) {
  return {.message = word(recorded, "message"),
          .fix = word(recorded, "fix"),
          .code = word(recorded, "code"),
          .blame = word(recorded, "blame") == "user" ? Error::Blame::user : Error::Blame::work};
}

std::string hash_of(const Json& request) { return sha256(line_of(request)); }

// "line 3: recorded "a", now "b"", of two texts that differ.
std::string text_difference(const std::string& recorded, const std::string& now) {
  const auto before = split(recorded, '\n'), after = split(now, '\n');
  for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    auto shown = [&](const std::vector<std::string>& lines) {
      return i < lines.size() ? '"' + shorten(printable(lines[i]), 80) + '"' : std::string("no such line");
    };
    if (i >= before.size() || i >= after.size() || before[i] != after[i])
      return format("line {}: recorded {}, now {}", i + 1, shown(before), shown(after));
  }
  return "only in broken characters";
}

std::string first_difference(const Json& recorded, const Json& now) {
  const Json none = Json::array();
  const Json& before = recorded.contains("messages") ? recorded["messages"] : none;
  const Json& after = now["messages"];
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == after[i]) continue;
    const std::string which = format("message {} ({})", i + 1, word(after[i], "role"));
    if (word(before[i], "role") != word(after[i], "role"))
      return format("{} was a message of {}", which, word(before[i], "role"));
    if (word(before[i], "text") == word(after[i], "text")) return which + " differs in its tool calls";
    return which + ", " + text_difference(word(before[i], "text"), word(after[i], "text"));
  }
  if (before.size() != after.size())
    return format("{} messages were recorded, now there are {}", before.size(), after.size());
  for (const char* key : {"tools", "max_tokens", "temperature", "answer_schema"})
    if (recorded.value(key, Json()) != now.value(key, Json())) return format("\"{}\" differs", key);
  return "it differs";
}

}  // namespace

Result<TranscriptSink> transcript_file(const fs::path& path) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (number < 0)
    return user_error("transcript", format("cannot write {}: {}", path.string(), std::strerror(errno)));
  auto file = std::make_shared<Descriptor>(number);
  // One write for each line, at the end: lines of several threads or processes don't mix.
  return TranscriptSink([file, path](const Json& exchange) -> Result<void> {
    const std::string line = line_of(exchange);
    for (size_t done = 0; done < line.size();) {
      const ssize_t wrote = ::write(file->get(), line.data() + done, line.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0)
        return work_error("transcript", format("cannot write {}: {}", path.string(), std::strerror(errno)));
      done += static_cast<size_t>(wrote);
    }
    return {};
  });
}

RecordingChat::RecordingChat(std::unique_ptr<Chat> inner, Agent agent, std::string profile, std::string model,
                             TranscriptSink sink)
    : inner_(std::move(inner)),
      agent_(agent),
      profile_(std::move(profile)),
      model_(std::move(model)),
      sink_(std::move(sink)) {}

Result<Reply> RecordingChat::ask(const Request& request, const AskOptions& options) {
  const auto start = Clock::now();
  auto reply = inner_->ask(request, options);
  const Json asked = to_json(request);
  Json exchange = {{"agent", name(agent_)},
                   {"profile", profile_},
                   {"model", model_},
                   {"hash", hash_of(asked)},
                   {"request", asked}};
  if (reply)
    exchange["reply"] = to_json(*reply);
  else
    exchange["error"] = error_json(reply.error());
  exchange["seconds"] = seconds_since(start);
  std::lock_guard lock(mutex_);
  if (auto kept = sink_(exchange); !kept && !sink_error_) sink_error_ = kept.error();
  return reply;
}

std::optional<Error> RecordingChat::sink_error() const {
  std::lock_guard lock(mutex_);
  return sink_error_;
}

Transcript::Transcript(Transcript&& other) noexcept
    : next_(std::move(other.next_)), answered_(std::move(other.answered_)) {}

Result<Transcript> Transcript::read(const fs::path& path) {
  STITCH_TRY(const std::string text, read_file(path));
  auto transcript = parse(text);
  if (!transcript) return within(path.string(), std::move(transcript).error());
  return transcript;
}

Result<Transcript> Transcript::parse(std::string_view lines) {
  Transcript out;
  int number = 0;
  for (const std::string& line : split(lines, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto exchange = parse_json(line);
    if (!exchange) return at(format("line {}", number), std::move(exchange).error());
    auto agent = parse_agent(word(*exchange, "agent"));
    if (!agent || !exchange->contains("request") ||
        exchange->contains("reply") == exchange->contains("error"))
      return at(format("line {}", number),
                user_error("llm_replay", "not an exchange: expected agent, request, and reply or error"));
    out.next_[*agent].push_back(std::make_shared<const Json>(std::move(*exchange)));
  }
  return out;
}

Result<Reply> Transcript::answer(Agent agent, const Request& request) {
  const Json now = to_json(request);
  std::lock_guard lock(mutex_);
  const int number = ++answered_[agent];
  auto& left = next_[agent];
  if (left.empty())
    return work_error("llm_replay", format("the {} sends {} requests, but only {} were recorded", name(agent),
                                           number, number - 1));
  // Of requests that were sent at the same time any answer may have come first.
  const std::string hash = hash_of(now);
  auto same = std::ranges::find_if(left, [&](const auto& each) {
    return word(*each, "hash") == hash || hash_of(each->at("request")) == hash;
  });
  if (same == left.end())
    return work_error("llm_replay", format("request {} of the {} differs from the recorded one: {}", number,
                                           name(agent), first_difference(left.front()->at("request"), now)));
  const std::shared_ptr<const Json> exchange = *same;
  left.erase(same);
  if (auto error = exchange->find("error"); error != exchange->end()) return error_from(*error);
  return reply_from_json(exchange->at("reply"));
}

ReplayChat::ReplayChat(std::shared_ptr<Transcript> transcript, Agent agent)
    : transcript_(std::move(transcript)), agent_(agent) {}

Result<Reply> ReplayChat::ask(const Request& request, const AskOptions& options) {
  if (options.should_stop && options.should_stop())
    return work_error(error_code::stopped, "stopped on request");
  STITCH_TRY(Reply reply, transcript_->answer(agent_, request));
  if (options.on_reasoning && !reply.reasoning.empty()) options.on_reasoning(reply.reasoning);
  if (options.on_text && !reply.text.empty()) options.on_text(reply.text);
  return reply;
}

}  // namespace stitch::llm
