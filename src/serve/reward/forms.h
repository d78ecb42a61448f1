// The request forms of RL engines, one row each: what they post, read as submissions; what they expect back.
#pragma once

#include <span>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "http/message.h"
#include "http/server.h"
#include "llm/answers.h"
#include "serve/fleet/queue.h"

namespace stitch::serve {

struct Form {
  std::string_view path, engine;
  // Submissions as read_submission() takes them, one for each answer that is wanted.
  Result<std::vector<Json>> (*read)(const Json& body);
  Json (*write)(const http::Request& request, const Json& body, const std::vector<SharedJson>& answers);
  // Its client takes status 202 for an answer: it gets 429 instead, and retries.
  bool retries = true;
};
std::span<const Form> all_forms();
const Form* find_form(std::string_view path);

// Access control: a token if one is set; without one, only local requests that don't come from a web page.

// The token is taken from "Authorization: Bearer …", from a password ("http://:TOKEN@host", for engines that
// know only an address) or from "?token=". /healthz needs none.
http::Doorkeeper door(std::string token);

// A submitted candidate: its task, its code, and for the second skill the program it started from.

struct Code {
  llm::Language language = llm::Language::cuda;
  std::string text;     // one source, or several files as program_text() writes them
  std::string missing;  // why there is none in what was sent: a candidate that can't be built
};

struct Submission {
  std::string task;  // as the index of tasks knows it
  Code code;
  // From feedback: the program before and what was asked for; an empty feedback: from scratch.
  Code before;
  std::string feedback;

  bool from_feedback() const { return !before.text.empty(); }
};

// A model's answer holds its code between fences; a source is one from its first line on, whatever its
// comments hold, unless that line is a fence. Of a program of several files (program/program_text.h) either
// may hold those alone that differ from `before`.
enum class Sent : uint8_t { answer, source };
// `language`: "cuda", "python", or empty: by what it holds.
Result<Code> code_of(const std::string& text, const std::string& language, Sent sent,
                     const Code& before = {});

// {"task", "code" or "response", "language", "skill", "before": code, "feedback"}: an Error names the field.
Result<Submission> read_submission(const Json& item);
Json to_json(const Submission& submission);

// The cache key of a verdict. `circumstances`: the task's text, settings and version.
std::string key_of(const Submission& submission, const std::string& circumstances);

}  // namespace stitch::serve
