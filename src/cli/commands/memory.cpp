// stitchcuda memory: what earlier runs leave for later ones.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/runs.h"
#include "store/memory.h"

namespace stitch {

namespace {

struct MemoryCommand {
  std::string action;  // show, export, merge, forget
  std::string what;    // merge: a file; show, forget: the beginning of a graph's hash or a kind of region
  std::string store, out;
  bool force = false;
};

// What was observed of one way to do one thing, together.
struct Kind {
  store::Observation last;
  int better = 0, slower = 0, refused = 0;
  double best = 0;  // seconds a call
};

std::vector<Kind> kinds_of(const std::vector<store::Observation>& observations,
                           const std::string& beginning) {
  std::vector<Kind> out;
  std::map<std::string, size_t> places;
  for (const store::Observation& one : observations) {
    if (!one.signature.starts_with(beginning)) continue;
    const std::string key =
        format("{}\n{}\n{}\n{}\n{}\n{}", static_cast<int>(one.scope), one.signature, one.machine,
               one.numerics, one.technique, one.scope == store::Scope::region ? one.knobs : "");
    auto [place, fresh] = places.emplace(key, out.size());
    if (fresh) out.push_back({});
    Kind& kind = out[place->second];
    kind.last = one;
    ++(one.outcome == "better" ? kind.better : one.outcome == "not better" ? kind.slower : kind.refused);
    if (one.after && (kind.best == 0 || *one.after < kind.best)) kind.best = *one.after;
  }
  return out;
}

Result<int> show(const MemoryCommand& command, const store::Memory& memory, Console& console) {
  STITCH_TRY(std::vector<store::Observation> observations, memory.all());
  const std::vector<Kind> kinds = kinds_of(observations, command.what);
  if (console.json) {
    Json json = {{"observations", observations.size()}, {"kinds", Json::array()}};
    for (const Kind& kind : kinds) {
      Json one = to_json(kind.last);
      for (const char* key :
           {"origin", "number", "plan", "kernel", "outcome", "before_seconds", "after_seconds", "tries"})
        one.erase(key);
      one.update(Json{{"better", kind.better}, {"not_better", kind.slower}, {"refused", kind.refused}});
      if (kind.best > 0) one["best_seconds"] = kind.best;
      json["kinds"].push_back(std::move(one));
    }
    console.out << document_text(json);
    return 0;
  }
  if (kinds.empty()) {
    console.out << (command.what.empty() ? "Nothing is recorded yet.\n" : "Nothing is recorded for it.\n");
    return 0;
  }
  Table table({{.header = "of"},
               {.header = "kind", .least = 16},
               {.header = "tried", .least = 14},
               {.header = "better", .align = Column::Align::right},
               {.header = "slower", .align = Column::Align::right},
               {.header = "refused", .align = Column::Align::right},
               {.header = "best a call", .align = Column::Align::right, .optional = 2},
               {.header = "on", .optional = 3},
               {.header = "last reason", .least = 20, .optional = 1}});
  for (const Kind& kind : kinds)
    table.add_row(
        {std::string(name(kind.last.scope)),
         printable(kind.last.scope == store::Scope::region || kind.last.scope == store::Scope::kernel
                       ? kind.last.signature
                       : kind.last.signature.substr(0, 12)),
         printable(trim(kind.last.technique +
                        (kind.last.scope == store::Scope::region ? " " + kind.last.knobs : ""))),
         std::to_string(kind.better),
         std::to_string(kind.slower),
         std::to_string(kind.refused),
         kind.best > 0 ? (kind.last.measured ? "" : "~") + seconds_text(kind.best) : "",
         printable(kind.last.machine),
         {printable(kind.last.why), Style::dim}});
  console.out << table.render(console.out_terminal);
  return 0;
}

Result<int> export_lines(const MemoryCommand& command, const store::Memory& memory, Console& console) {
  std::string lines;
  STITCH_TRY(int64_t count,
             memory.write_lines([&](std::string_view line) { lines += std::string(line) + '\n'; }));
  if (command.out.empty()) {
    console.out << lines;  // JSON lines either way
    return 0;
  }
  STITCH_CHECK(write_output_file(command.out, lines, overwrite_if(command.force)));
  if (console.json)
    console.out << document_text({{"file", command.out}, {"observations", count}});
  else
    console.out << format("{}: {}\n", command.out, counted(static_cast<int64_t>(count), "observation"));
  return 0;
}

Result<int> merge(const MemoryCommand& command, store::Memory& memory, Console& console) {
  STITCH_TRY(std::string lines, read_file(command.what));
  auto merged = memory.merge(lines);
  if (!merged) return within(command.what, std::move(merged).error());
  if (console.json)
    console.out << document_text({{"added", merged->added}, {"known", merged->known}});
  else
    console.out << format("{} added, {} already known\n",
                          counted(static_cast<int64_t>(merged->added), "observation"), merged->known);
  return 0;
}

Result<int> forget(const MemoryCommand& command, store::Memory& memory, Console& console) {
  if (command.what.empty() && !command.force)
    return user_error("memory", "this would delete everything that was remembered",
                      "name a graph or a kind of region, or add --force");
  STITCH_TRY(int64_t forgotten, memory.forget(command.what));
  if (console.json)
    console.out << document_text({{"forgotten", forgotten}});
  else
    console.out << format("{} forgotten\n", counted(static_cast<int64_t>(forgotten), "observation"));
  return 0;
}

Result<int> run_memory(const MemoryCommand& command, Console& console) {
  const std::vector<std::string> actions = {"show", "export", "merge", "forget"};
  if (std::ranges::find(actions, command.action) == actions.end()) {
    auto near = nearest(command.action, actions);
    return user_error("memory", format("unknown action 'memory {}'", shorten(printable(command.action), 40)),
                      near ? format("did you mean {}?", *near) : "one of: " + join(actions, ", "));
  }
  if (command.action == "merge" && command.what.empty())
    return user_error("memory", "FILE is required", "stitchcuda memory merge FILE");
  const fs::path file = store_file(command.store);
  if (file.empty())
    return user_error("store_absent", "runs are not recorded: the store is 'none'", "name one with --store");
  const bool writes = command.action == "merge" || command.action == "forget";
  STITCH_TRY(store::RunStore store, store::RunStore::open(file, writes ? store::RunStore::Access::write
                                                                       : store::RunStore::Access::read));
  store::Memory memory(store);
  if (command.action == "show") return show(command, memory, console);
  if (command.action == "export") return export_lines(command, memory, console);
  if (command.action == "merge") return merge(command, memory, console);
  return forget(command, memory, console);
}

}  // namespace

Run add_memory(CLI::App& app) {
  const auto memory = std::make_shared<MemoryCommand>();
  Flags flags(app, "memory", "Show, export, merge or forget what earlier runs found");
  flags("ACTION", memory->action, "show, export, merge or forget").required();
  flags(
      "WHAT", memory->what,
      "merge: a file that export wrote; show and forget: a prefix of a graph's hash or of a kind of region");
  flags("-o,--out", memory->out, "FILE", "export: the file to write (default: standard output)");
  flags.store(memory->store);
  flags("--force", memory->force, "forget: everything; export: overwrite the file");
  flags.json();
  flags.examples(
      "stitchcuda memory show\n"
      "stitchcuda memory export -o memory.jsonl\n"
      "stitchcuda memory merge memory.jsonl\n"
      "stitchcuda memory forget \"conv relu\"");
  return [memory](Console& console) { return run_memory(*memory, console); };
}

}  // namespace stitch
