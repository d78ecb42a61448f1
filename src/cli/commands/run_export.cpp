#include "cli/commands/runs.h"

#include <nlohmann/json.hpp>

#include "agents/record/run_history.h"
#include "base/terminal/wording.h"
#include "cli/output_place.h"
#include "cli/pages/run_conversation.h"

namespace stitch {

// Each attempt's sources, plan and verdict as files, for other tools and for inspection.
Result<int> export_run(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                       Console& console) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  const fs::path out = command.out.empty() ? fs::path("run-" + run.id) : fs::path(command.out);
  STITCH_TRY(OutputFolder folder, OutputFolder::create(out, overwrite_if(command.force)));
  STITCH_TRY(Json json, run_document(store, run));
  json["options"] = parse_json(run.start.options) ? *parse_json(run.start.options) : Json();
  auto write = [&](const fs::path& path, const std::string& text) -> Result<void> {
    std::error_code ec;
    fs::create_directories((folder.path() / path).parent_path(), ec);
    return write_file(folder.path() / path, text);
  };
  int number = 0;
  for (size_t i = 0; i < past.steps.size(); ++i) {
    const agents::PastStep& step = past.steps[i];
    const fs::path place = fs::path("steps") / format("{:02}", i);
    if (!step.plan.empty()) {
      STITCH_TRY(std::string plan, store.blob(step.plan));
      STITCH_CHECK(write(place / "plan.json", plan + "\n"));
    }
    for (const agents::PastAttempt& attempt : step.attempts) {
      const fs::path at = place / format("attempt{}-{}", attempt.number, ++number);
      STITCH_TRY(auto sources, sources_of(store, attempt));
      for (const auto& [path, text] : sources) {
        // Paths in the store are untrusted: the file may come from elsewhere.
        if (fs::path(path).is_absolute() || path.find("..") != std::string::npos) continue;
        STITCH_CHECK(write(at / "sources" / path, text));
      }
      if (attempt.verdict.empty()) continue;
      STITCH_TRY(std::string verdict, store.blob(attempt.verdict));
      STITCH_CHECK(write(at / "verdict.json", verdict + "\n"));
    }
  }
  std::string conversation;
  for (const std::string& hash : past.conversation) {
    STITCH_TRY(std::string line, store.blob(hash));
    conversation += line + '\n';
  }
  if (!conversation.empty()) {
    STITCH_TRY(const std::vector<Exchange> all, conversation_of(store, past));
    STITCH_CHECK(write("conversation.jsonl", conversation));
    STITCH_CHECK(write("conversation.md", conversation_markdown(all)));
  }
  STITCH_CHECK(write("run.json", document_text(json)));
  STITCH_TRY(Published published, folder.publish());
  if (console.json) {
    Json said = {{"run", run.id}, {"attempts", number}};
    add_place(said, "folder", published, out.string());
    console.out << document_text(said);
  } else {
    console.out << said_of(published, out.string())
                << format("{}: {} of the run {}\n", place_of(published, out.string()),
                          counted(static_cast<int64_t>(number), "attempt"), run.id);
  }
  return 0;
}

}  // namespace stitch
