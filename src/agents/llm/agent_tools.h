// The tools of an LLM Coder that works over several turns: files in memory, the headers that programs may
// include, compiling, verification of the region in the whole program, the profile of the last check, notes.
#pragma once

#include <map>
#include <optional>

#include "agents/llm/region_answer.h"

namespace stitch::agents {

class AgentTools {
 public:
  AgentTools(const Situation& now, const Proposal& step, const plan::Plan& plan, RegionBrief brief,
             const LlmBrain& brain);

  static const std::vector<llm::ToolSpec>& specs();
  // The result of a call; an error is text for the model, nothing more.
  Result<std::string> call(const llm::ToolCall& call);
  // What was submitted, or that it was declined; nothing: not yet.
  const std::optional<RegionAnswer>& submitted() const { return submitted_; }
  // The fastest that passed a check, else what there is now; nothing: nothing was written.
  std::optional<RegionAnswer> best() const;
  // What was written; for a revision, what the try before it wrote.
  const std::map<std::string, std::string>& files() const { return files_; }
  void go_on_with(const std::map<std::string, std::string>& files);

 private:
  using Tool = Result<std::string> (AgentTools::*)(const Json& arguments);
  struct Row;
  static const std::vector<Row>& rows_of_tools();

  Result<std::string> list_files(const Json& arguments);
  Result<std::string> read_file(const Json& arguments);
  Result<std::string> write_file(const Json& arguments);
  Result<std::string> edit_file(const Json& arguments);
  Result<std::string> change_plan(const Json& arguments);
  Result<std::string> compile(const Json& arguments);
  Result<std::string> check(const Json& arguments);
  Result<std::string> profile(const Json& arguments);
  Result<std::string> search_notes(const Json& arguments);
  Result<std::string> submit(const Json& arguments);
  Result<std::string> decline(const Json& arguments);

  // region.cu, or changes of the plan, whatever came last.
  Result<RegionAnswer> present() const;
  Result<Draft> present_draft(const RegionAnswer& answer) const;
  Result<std::string> take(const std::string& path, std::string text);

  const Situation& now_;
  const Proposal& step_;
  const plan::Plan& plan_;
  const RegionBrief brief_;
  const LlmBrain& brain_;
  std::map<std::string, std::string> files_;
  std::optional<verifier::Verdict> last_;
  std::shared_ptr<const Json> changes_;  // null: region.cu is what counts
  std::optional<RegionAnswer> passed_;   // the fastest
  double passed_seconds_ = 0;
  std::optional<RegionAnswer> submitted_;
};

}  // namespace stitch::agents
