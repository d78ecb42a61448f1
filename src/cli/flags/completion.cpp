#include "cli/commands/commands.h"
#include "cli/flags/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "gpu/gpu_spec.h"

namespace stitch {

namespace {

// What may follow a flag.
enum class Follows : uint8_t { nothing, words, file, folder, anything };

struct CompletedFlag {
  std::vector<std::string> names;  // -o, --out
  std::string about;
  Follows follows = Follows::nothing;
  std::vector<std::string> words;
};
struct CompletedCommand {
  std::string name, about;
  std::vector<CompletedFlag> flags;
  std::vector<std::string> actions;  // of its first argument; none: a file
};

// A word that no shell takes apart.
bool is_plain(std::string_view word) {
  return std::ranges::all_of(
      word, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == ':'; });
}

// Up to the first detail: a list of candidates has one line for each.
std::string in_short(const std::string& about) {
  return about.substr(0, std::min({about.find(" ("), about.find("; "), about.find(": ")}));
}

std::vector<std::string> values_of(const std::string& command, const std::string& flag) {
  std::vector<std::string> out;
  for (std::string_view value : choices_of(command, flag)) out.emplace_back(value);
  if (flag == "--gpu")
    for (const GpuSpec& gpu : all_gpus())
      if (is_plain(gpu.name)) out.push_back(gpu.name);
  return out;
}

CompletedFlag completed(const std::string& command, const CLI::Option& option) {
  CompletedFlag out{.names = {}, .about = in_short(option.get_description()), .words = {}};
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_items_expected_max() == 0) return out;
  out.words = values_of(command, out.names.back());
  const std::string type = split(option.get_type_name(), ':').front();
  out.follows = !out.words.empty()                                   ? Follows::words
                : type == "FOLDER"                                   ? Follows::folder
                : type == "FILE" || type == "PATH" || type == "TASK" ? Follows::file
                                                                     : Follows::anything;
  return out;
}

std::vector<CompletedCommand> all_completed(const CLI::App& app) {
  std::vector<CompletedCommand> out;
  for (const CLI::App* command : app.get_subcommands({})) {
    CompletedCommand one{.name = command->get_name(),
                         .about = in_short(command->get_description()),
                         .flags = {},
                         .actions = {}};
    bool first = true;
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_positional()) {
        one.flags.push_back(completed(one.name, *option));
      } else if (std::exchange(first, false)) {
        one.actions = values_of(one.name, option->get_name(true));
        if (option->get_name(true) == "COMMAND") one.actions = command_names(app);
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> out;
  for (const CompletedCommand& command : commands) out.push_back(command.name);
  return out;
}

std::string flags_text(const CompletedCommand& command) {
  std::vector<std::string> all;
  for (const CompletedFlag& flag : command.flags) all.insert(all.end(), flag.names.begin(), flag.names.end());
  return join(all, " ");
}

// "optimize:--numerics|optimize:-n": what a case of a shell is about.
std::string case_of(const CompletedCommand& command, const CompletedFlag& flag) {
  std::vector<std::string> all;
  for (const std::string& name : flag.names) all.push_back(command.name + ":" + name);
  return join(all, "|");
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::vector<CompletedCommand> commands = all_completed(app);
  std::string out =
      R"sh(# bash completion for stitchcuda. For this shell: eval "$(stitchcuda completion bash)"
# For all: stitchcuda completion bash > ~/.local/share/bash-completion/completions/stitchcuda
_stitchcuda() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' flags='' i
  COMPREPLY=()
  # --flag=value comes as three words
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  _stitchcuda_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
  _stitchcuda_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
  }
)sh";
  const std::string names = join(names_of(commands), " ");
  out += format(
      "  if [[ -z $command ]]; then\n    _stitchcuda_words \"{} help --help --version --json\"\n    return\n "
      " fi\n",
      names);
  out += format("  if [[ $command == help ]]; then\n    _stitchcuda_words \"{}\"\n    return\n  fi\n", names);
  out += "  case \"$command:$before\" in\n";
  for (const CompletedCommand& command : commands)
    for (const CompletedFlag& flag : command.flags) {
      std::string action = flag.follows == Follows::words
                               ? format("_stitchcuda_words \"{}\"", join(flag.words, " "))
                           : flag.follows == Follows::file   ? "_stitchcuda_files -f"
                           : flag.follows == Follows::folder ? "_stitchcuda_files -d"
                                                             : "";
      if (flag.follows == Follows::nothing) continue;
      out += format("    {}) {}return ;;\n", case_of(command, flag), action.empty() ? "" : action + "; ");
    }
  out += "  esac\n  case $command in\n";
  for (const CompletedCommand& command : commands)
    out += format("    {}) flags=\"{}\" ;;\n", command.name, flags_text(command));
  out += "  esac\n  if [[ $current == -* ]]; then\n    _stitchcuda_words \"$flags\"\n    return\n  fi\n";
  out += "  case \"$command:$before\" in\n";
  for (const CompletedCommand& command : commands)
    if (!command.actions.empty())
      out += format("    {0}:{0}) _stitchcuda_words \"{1}\"; return ;;\n", command.name,
                    join(command.actions, " "));
  return out + "  esac\n  _stitchcuda_files -f\n}\ncomplete -F _stitchcuda stitchcuda\n";
}

std::string zsh_completion(const CLI::App& app) {
  const std::vector<CompletedCommand> commands = all_completed(app);
  std::string out =
      R"sh(#compdef stitchcuda
# zsh completion for stitchcuda. For this shell: eval "$(stitchcuda completion zsh)"
# For all: stitchcuda completion zsh > _stitchcuda in a folder of $fpath
_stitchcuda() {
  local -a candidates
  if (( CURRENT == 2 )); then
    candidates=(
)sh";
  for (const CompletedCommand& command : commands)
    out += format("      {}\n", single_quoted(command.name + ":" + command.about));
  out +=
      "    )\n    _describe command candidates\n    return\n  fi\n  case \"$words[2]:$words[CURRENT-1]\" "
      "in\n";
  for (const CompletedCommand& command : commands)
    for (const CompletedFlag& flag : command.flags) {
      if (flag.follows == Follows::nothing) continue;
      const std::string action = flag.follows == Follows::words    ? "compadd -- " + join(flag.words, " ")
                                 : flag.follows == Follows::file   ? "_files"
                                 : flag.follows == Follows::folder ? "_files -/"
                                                                   : "_message value";
      out += format("    ({}) {}; return ;;\n", case_of(command, flag), action);
    }
  for (const CompletedCommand& command : commands)
    if (!command.actions.empty())
      out += format("    ({0}:{0}) [[ $PREFIX == -* ]] || {{ compadd -- {1}; return; }} ;;\n", command.name,
                    join(command.actions, " "));
  out += "  esac\n  if [[ $PREFIX == -* ]]; then\n    case $words[2] in\n";
  for (const CompletedCommand& command : commands) {
    out += format("      ({}) candidates=(\n", command.name);
    for (const CompletedFlag& flag : command.flags)
      for (const std::string& name : flag.names)
        out += format("        {}\n", single_quoted(name + ":" + flag.about));
    out += "      ) ;;\n";
  }
  return out + R"sh(    esac
    _describe -o flag candidates
    return
  fi
  _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _stitchcuda "$@"
else
  compdef _stitchcuda stitchcuda
fi
)sh";
}

std::string fish_completion(const CLI::App& app) {
  std::string out =
      "# fish completion for stitchcuda. For this shell: stitchcuda completion fish | source\n"
      "# For all: stitchcuda completion fish > ~/.config/fish/completions/stitchcuda.fish\n";
  for (const CompletedCommand& command : all_completed(app)) {
    out += format("complete -c stitchcuda -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                  single_quoted(command.about));
    const std::string here =
        format("complete -c stitchcuda -n '__fish_seen_subcommand_from {}'", command.name);
    for (const CompletedFlag& flag : command.flags) {
      std::string line = here;
      for (const std::string& name : flag.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      switch (flag.follows) {
        case Follows::nothing: break;
        case Follows::words: line += " -x -a " + single_quoted(join(flag.words, " ")); break;
        case Follows::file: line += " -r -F"; break;
        case Follows::folder: line += " -x -a '(__fish_complete_directories)'"; break;
        case Follows::anything: line += " -x"; break;
      }
      out += line + " -d " + single_quoted(flag.about) + "\n";
    }
    if (!command.actions.empty()) out += here + " -a " + single_quoted(join(command.actions, " ")) + "\n";
  }
  return out;
}

namespace {

Result<int> run_completion(const std::string& shell, Console& console) {
  CLI::App app;
  CommandLine line;
  add_command_line(app, line);
  if (shell == "bash")
    console.out << bash_completion(app);
  else if (shell == "zsh")
    console.out << zsh_completion(app);
  else if (shell == "fish")
    console.out << fish_completion(app);
  else
    return user_error("shell", format("no completion for the shell '{}'", printable(shell)),
                      "one of: bash, zsh, fish");
  return 0;
}

}  // namespace

Run add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  Flags flags(app, "completion", "Print a shell completion script");
  flags("SHELL", *shell, "bash, zsh or fish").required();
  flags.examples(
      "eval \"$(stitchcuda completion bash)\"\n"
      "stitchcuda completion bash > ~/.local/share/bash-completion/completions/stitchcuda\n"
      "stitchcuda completion fish > ~/.config/fish/completions/stitchcuda.fish");
  return [shell](Console& console) { return run_completion(*shell, console); };
}

}  // namespace stitch
