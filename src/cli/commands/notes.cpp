// stitchcuda notes: what is known about making kernels fast.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "gpu/gpu_spec.h"
#include "notes/note.h"

namespace stitch {

namespace {

struct NotesCommand {
  std::vector<std::string> question;
  std::string gpu;     // a GPU or an architecture; empty: notes for all
  std::string folder;  // of more notes
  std::string show;    // one note, by its name
  bool list = false;
  int most = 5;
};

// "H200", "sm_90a" or "hopper".
Result<std::string> architecture_of(const std::string& gpu) {
  if (gpu.empty()) return std::string();
  if (auto spec = find_gpu(gpu)) return notes::architecture_named(spec->architecture.name);
  auto named = notes::architecture_named(gpu);
  if (!named)
    return user_error(
        "gpu", format("unknown GPU or architecture '{}'", gpu),
        "a GPU's name, " + join(notes::architectures(), ", ") + ", ampere, ada, hopper or blackwell");
  return named;
}

Json note_json(const notes::Note& note) {
  Json json = {{"name", note.name},
               {"title", note.title},
               {"applies_to", note.applies_to},
               {"when", note.when},
               {"tags", note.tags}};
  if (!note.measured.empty()) json["measured"] = note.measured;
  return json;
}

void print_json(const Json& json, Console& console) { console.out << document_text(json); }

// What a user's folder says goes to the terminal line by line, without control characters.
std::string note_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += printable(line) + '\n';
  return out;
}

int show_list(const std::vector<const notes::Note*>& listed, Console& console) {
  if (console.json) {
    Json list = Json::array();
    for (const notes::Note* note : listed) list.push_back(note_json(*note));
    print_json({{"notes", std::move(list)}}, console);
    return 0;
  }
  Table table({{.header = "note"}, {.header = "when", .least = 30, .wrap = true}});
  for (const notes::Note* note : listed) table.add_row({printable(note->name), printable(note->when)});
  console.out << table.render(console.out_terminal);
  return 0;
}

int show_note(const notes::Note& note, Console& console) {
  if (console.json) {
    Json json = note_json(note);
    json["text"] = note.body;
    print_json(json, console);
  } else {
    console.out << note_lines(trim(notes::text_of(note)));
  }
  return 0;
}

Result<int> run_notes(const NotesCommand& command, Console& console) {
  notes::Collection all = notes::built_in();
  if (!command.folder.empty()) {
    STITCH_TRY(all, notes::with_folder(command.folder));
  }
  STITCH_TRY(const std::string architecture, architecture_of(command.gpu));
  if (!command.show.empty()) {
    STITCH_TRY(const notes::Note note, notes::find(all, command.show));
    return show_note(note, console);
  }
  if (command.list) {
    std::vector<const notes::Note*> listed;
    for (const notes::Note& note : all)
      if (architecture.empty() || note.applies(architecture)) listed.push_back(&note);
    return show_list(listed, console);
  }
  const std::string question = join(command.question, " ");
  if (trim(question).empty())
    return user_error("usage", "a question is required", "stitchcuda notes bank conflicts, or --list");
  const std::vector<notes::Hit> hits =
      notes::search(all, question, static_cast<size_t>(command.most), architecture);
  if (console.json) {
    Json list = Json::array();
    for (const notes::Hit& hit : hits) {
      Json json = note_json(*hit.note);
      json["score"] = hit.score;
      json["text"] = hit.note->body;
      list.push_back(std::move(json));
    }
    print_json({{"question", question}, {"notes", std::move(list)}}, console);
    return 0;
  }
  if (hits.empty()) {
    console.err << "No note matches; stitchcuda notes --list shows them all.\n";
    return 0;
  }
  for (size_t i = 0; i < hits.size(); ++i) {
    const notes::Note& note = *hits[i].note;
    console.out << (i ? "\n" : "") << styled(printable(note.title), Style::bold, console.out_terminal) << "  "
                << styled(printable(note.name), Style::dim, console.out_terminal) << '\n'
                << "when: " << printable(note.when) << '\n';
    if (!note.measured.empty()) console.out << "measured: " << printable(note.measured) << '\n';
    console.out << '\n' << note_lines(note.body);
  }
  return 0;
}

}  // namespace

Run add_notes(CLI::App& app) {
  const auto notes = std::make_shared<NotesCommand>();
  Flags flags(app, "notes", "Search notes on making CUDA kernels fast");
  flags("QUESTION", notes->question, "words to look for: bank conflicts, wgmma, slow LSTM");
  flags("--gpu", notes->gpu, "NAME", "only notes for this GPU or architecture: H200, sm_90, ampere");
  flags("-n", notes->most, "NUMBER", "how many notes to print (default: 5)").between(1, 1000);
  flags("--list", notes->list, "list all notes");
  flags("--show", notes->show, "NAME", "print one note");
  flags("--notes", notes->folder, "FOLDER", "a folder of additional notes in the same format");
  flags.json();
  flags.examples(
      "stitchcuda notes bank conflicts\n"
      "stitchcuda notes pipelined loads --gpu A100 -n 2\n"
      "stitchcuda notes --show cp-async");
  return [notes](Console& console) { return run_notes(*notes, console); };
}

}  // namespace stitch
