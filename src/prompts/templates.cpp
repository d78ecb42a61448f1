#include "prompts/templates.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/text.h"

namespace stitch::prompts {

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
  });
}

// `on_text` for what stands between names, `on_name` for them.
Result<void> walk(std::string_view text, const std::function<void(std::string_view)>& on_text,
                  const std::function<Result<void>(std::string_view)>& on_name) {
  size_t done = 0;
  for (size_t open; (open = text.find("{{", done)) != std::string_view::npos;) {
    const size_t close = text.find("}}", open);
    const std::string_view name =
        close == std::string_view::npos ? std::string_view() : text.substr(open + 2, close - open - 2);
    if (!is_name(name)) {
      const auto line = std::ranges::count(text.substr(0, open), '\n') + 1;
      return user_error("template", format("line {}: {{{{ without a name and }}}} behind it", line),
                        "write {{name}}, in lower case with underscores");
    }
    on_text(text.substr(done, open - done));
    STITCH_CHECK(on_name(name));
    done = close + 2;
  }
  on_text(text.substr(done));
  return {};
}

// A value may hold the mark that ends its block; a zero-width change would be invisible, this one isn't.
std::string guarded(std::string_view value) {
  static constexpr std::string_view ends = "</material", begins = "<material";
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    auto is = [&](std::string_view mark) {
      return value.size() - i >= mark.size() &&
             std::ranges::equal(value.substr(i, mark.size()), mark, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
             });
    };
    out += is(ends) || is(begins) ? "&lt;" : std::string(1, value[i]);
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> names_in(std::string_view text) {
  std::vector<std::string> names;
  STITCH_CHECK(walk(
      text, [](std::string_view) {},
      [&](std::string_view name) -> Result<void> {
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        return {};
      }));
  return names;
}

Result<std::string> fill(std::string_view text, const Values& values) {
  std::string out;
  STITCH_CHECK(walk(
      text, [&](std::string_view plain) { out += plain; },
      [&](std::string_view name) -> Result<void> {
        auto value = values.find(name);
        if (value == values.end()) return user_error("template", format("no value for {{{{{}}}}}", name));
        out += guarded(value->second);
        return {};
      }));
  return out;
}

}  // namespace stitch::prompts

namespace stitch {

extern const std::span<const std::pair<std::string_view, std::string_view>> embedded_prompts;

}  // namespace stitch

namespace stitch::prompts {

namespace {

constexpr uintmax_t most_prompt_bytes = 1 << 20;

// The one table: a prompt, what it is for, and the values that it is given.
struct Row {
  const char *name, *purpose, *values;
};
constexpr Row rows[] = {
    {"planner", "a plan document from graph, timeline and ledger",
     "graph plan facts timeline hardware numerics catalogue ledger refused schema budget"},
    {"coder_answer", "one region's CUDA source in one answer",
     "contract subgraph_pytorch subgraph_text builtin_source facts choices notes feedback siblings "
     "function_signature hardware numerics idea"},
    {"coder_agent", "one region's CUDA source with tools in a folder",
     "contract subgraph_pytorch subgraph_text builtin_source facts choices notes feedback siblings "
     "function_signature hardware numerics idea turns"},
    {"coder_improve", "a region's source that is right but no faster, improved",
     "contract subgraph_pytorch function_signature builtin_source facts choices siblings feedback idea "
     "hardware numerics notes"},
    {"coder_repair", "a region's source that failed, mended",
     "contract subgraph_pytorch function_signature siblings feedback hardware numerics notes"},
    {"coder_program", "a whole program in one source",
     "task graph abi manifest hardware numerics notes siblings feedback"},
    {"coder_model_new", "a KernelBench ModelNew in one Python file",
     "task hardware numerics notes siblings feedback"},
    {"verifier", "why an attempt failed, or what limits it",
     "outcome build_log mismatch profile facts source schema"},
    {"judge", "an attempt graded by a rubric", "skill source evidence change rubric schema"},
};

Result<void> check_names(const Prompt& prompt) {
  STITCH_TRY(std::vector<std::string> used, names_in(prompt.text));
  for (const std::string& name : used) {
    if (std::ranges::find(prompt.values, name) != prompt.values.end()) continue;
    auto near = nearest(name, prompt.values);
    return user_error(
        "template", format("unknown value {{{{{}}}}}", name),
        near ? format("did you mean {{{{{}}}}}?", *near) : "one of: " + join(prompt.values, ", "));
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<Prompt>& all) {
  std::vector<std::string> names;
  for (const Prompt& prompt : all) names.push_back(prompt.name);
  return names;
}

}  // namespace

const std::vector<Prompt>& built_in() {
  static const std::vector<Prompt> all = [] {
    std::vector<Prompt> prompts;
    for (const Row& row : rows) {
      auto text = std::ranges::find(embedded_prompts, std::string_view(row.name),
                                    &std::pair<std::string_view, std::string_view>::first);
      if (text == embedded_prompts.end()) throw Bug(format("prompts/{}.md is missing", row.name));
      Prompt prompt{row.name, row.purpose, split(row.values, ' '), std::string(text->second), {}};
      if (auto good = check_names(prompt); !good) throw Bug(prompt.name + ".md: " + good.error().text());
      prompts.push_back(std::move(prompt));
    }
    return prompts;
  }();
  return all;
}

Result<std::vector<Prompt>> with_folder(const fs::path& folder) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec))
    return at(folder.string(),
              user_error("prompts", "no such folder of prompts", "name a folder of .md files"));
  std::vector<Prompt> all = built_in();
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".md" || file.stem() == "README") continue;
    auto prompt = std::ranges::find(all, file.stem().string(), &Prompt::name);
    if (prompt == all.end()) {
      auto near = nearest(file.stem().string(), names_of(all));
      return at(file.string(), user_error("prompts", format("unknown prompt '{}'", file.stem().string()),
                                          near ? format("did you mean {}.md?", *near)
                                               : "one of: " + join(names_of(all), ", ")));
    }
    if (fs::file_size(file, ec) > most_prompt_bytes)
      return at(file.string(), user_error("prompts", "too large for a prompt"));
    STITCH_TRY(prompt->text, read_file(file));
    prompt->file = file;
    if (auto good = check_names(*prompt); !good) return at(file.string(), good.error());
  }
  return all;
}

Result<Prompt> find(const std::vector<Prompt>& all, std::string_view name) {
  auto found = std::ranges::find(all, name, &Prompt::name);
  if (found != all.end()) return *found;
  auto near = nearest(name, names_of(all));
  return user_error("prompts", format("unknown prompt '{}'", name),
                    near ? format("did you mean {}?", *near) : "one of: " + join(names_of(all), ", "));
}

Result<std::string> fill(const Prompt& prompt, const Values& values) {
  for (const std::string& name : prompt.values)
    if (!values.contains(name)) throw Bug(format("{}: no value for '{}'", prompt.name, name));
  for (const auto& [name, value] : values)
    if (std::ranges::find(prompt.values, name) == prompt.values.end())
      throw Bug(format("{} has no value '{}'", prompt.name, name));
  return fill(prompt.text, values);
}

std::vector<std::string> unused(const Prompt& prompt) {
  auto used = names_in(prompt.text);
  std::vector<std::string> out;
  for (const std::string& name : prompt.values)
    if (!used || std::ranges::find(*used, name) == used->end()) out.push_back(name);
  return out;
}

}  // namespace stitch::prompts
