// notes: what is known about making kernels fast.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "notes/note.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

namespace {

Json note_json(const notes::Note& note) {
  Json json = {
      {"name", note.name}, {"title", note.title}, {"applies_to", note.applies_to}, {"when", note.when}};
  if (!note.measured.empty()) json["measured"] = note.measured;
  return json;
}

Result<Answer> run_notes(const Workshop& workshop, const Json& arguments) {
  if (const std::string name = text(arguments, "name"); !name.empty()) {
    STITCH_TRY(const notes::Note note, notes::find(workshop.notes, name));
    return Answer{notes::text_of(note), std::make_shared<const Json>(Json{{"notes", {note_json(note)}}}), {}};
  }
  std::string architecture;
  if (const std::string gpu = text(arguments, "gpu"); !gpu.empty()) {
    auto spec = find_gpu(gpu);
    STITCH_TRY(architecture, notes::architecture_named(spec ? spec->architecture.name : gpu));
  }
  const std::string question = text(arguments, "question");
  Json list = Json::array();
  std::string said;
  if (trim(question).empty()) {
    for (const notes::Note& note : workshop.notes) {
      if (!architecture.empty() && !note.applies(architecture)) continue;
      list.push_back({{"name", note.name}, {"title", note.title}});
      said += format("{}: {}\n", note.name, note.title);
    }
  } else {
    const auto most = static_cast<size_t>(integer(arguments, "most", 4));
    for (const notes::Hit& hit : notes::search(workshop.notes, question, most, architecture)) {
      list.push_back(note_json(*hit.note));
      said += notes::text_of(*hit.note) + "\n";
    }
    if (list.empty()) said = "No note matches. Without 'question' all are listed.\n";
  }
  return Answer{std::move(said), std::make_shared<const Json>(Json{{"notes", std::move(list)}}), {}};
}

}  // namespace

Tool notes_tool(Shared workshop) {
  return {.name = "notes",
          .title = "Search technique notes",
          .description =
              "Search short notes on CUDA techniques for Ampere, Hopper and Blackwell: memory, tensor cores,"
              " reductions, launches, fusion, libraries, numerics, debugging, traps; with what was measured "
              "on an H200. Without a question all notes are listed.",
          .schema = schema_of({{"question", Kind::text, "words to look for: bank conflicts, wgmma, split-K"},
                               {"name", Kind::text, "one note, by its name"},
                               {"gpu", Kind::text, "only notes for this GPU or architecture"},
                               {.name = "most",
                                .kind = Kind::integer,
                                .description = "how many notes (default: 4)",
                                .least = 1,
                                .most = 20}}),
          .quick = true,
          .output = output_schema({{"notes", Kind::list, "name, title, when it applies, what was measured"}}),
          .run = [workshop](const Json& arguments, Call&) { return run_notes(*workshop, arguments); }};
}

// prompts: what LLM brains are told.

Tool prompts_tool(Shared workshop) {
  return {
      .name = "prompts",
      .title = "Show prompts",
      .description = "The prompt templates of StitchCUDA's LLM brains: all by name, or the text of one.",
      .schema = schema_of({{"name", Kind::text, "a prompt's name (default: list them)"}}),
      .quick = true,
      .output = output_schema({{"prompts", Kind::list, "name, purpose and values of each"},
                               {"name", Kind::text, "of the one asked for"},
                               {"values", Kind::list, "of the one asked for"},
                               {"text", Kind::text, "of the one asked for"}}),
      .run = [workshop](const Json& arguments, Call&) -> Result<Answer> {
        if (const std::string name = text(arguments, "name"); !name.empty()) {
          STITCH_TRY(const prompts::Prompt prompt, prompts::find(workshop->prompts, name));
          const Json structured = {{"name", prompt.name}, {"values", prompt.values}, {"text", prompt.text}};
          return Answer{prompt.text, std::make_shared<const Json>(structured), {}};
        }
        Json list = Json::array();
        std::string said;
        for (const prompts::Prompt& prompt : workshop->prompts) {
          list.push_back({{"name", prompt.name}, {"purpose", prompt.purpose}, {"values", prompt.values}});
          said += format("{}: {}\n", prompt.name, prompt.purpose);
        }
        return Answer{said, std::make_shared<const Json>(Json{{"prompts", std::move(list)}}), {}};
      }};
}

}  // namespace stitch::serve
