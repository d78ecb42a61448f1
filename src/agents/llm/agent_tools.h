// The tools of an LLM Coder that works over several turns: files in memory, verification of the region in the
// whole program, the profile of the last check, the notes.
#pragma once

#include <map>
#include <optional>

#include "agents/llm/llm_source.h"
#include "llm/answers/json_answer.h"

namespace stitch::agents {

class AgentTools {
 public:
  AgentTools(const Situation& now, const Proposal& step, const plan::Plan& plan, RegionBrief brief,
             const LlmBrain& brain);

  static const std::vector<llm::ToolSpec>& specs();
  // The result of a call; an error is text for the model, nothing more.
  Result<std::string> call(const llm::ToolCall& call);
  // The region's file as submitted; nothing: not yet.
  const std::optional<std::string>& submitted() const { return submitted_; }
  // The file as it is now, if it was ever written.
  std::optional<std::string> written() const;

 private:
  using Tool = Result<std::string> (AgentTools::*)(const Json& arguments);
  struct Row;
  static const std::vector<Row>& rows_of_tools();

  Result<std::string> list_files(const Json& arguments);
  Result<std::string> read_file(const Json& arguments);
  Result<std::string> write_file(const Json& arguments);
  Result<std::string> check(const Json& arguments);
  Result<std::string> profile(const Json& arguments);
  Result<std::string> search_notes(const Json& arguments);
  Result<std::string> submit(const Json& arguments);

  const Situation& now_;
  const Proposal& step_;
  const plan::Plan& plan_;
  const RegionBrief brief_;
  const LlmBrain& brain_;
  std::map<std::string, std::string> files_;
  std::optional<verifier::Verdict> last_;
  std::optional<std::string> submitted_;
};

}  // namespace stitch::agents
