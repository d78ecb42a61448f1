// The prompts of the LLM brains: which there are, which values each may use, and a user's in their place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::prompts {

// A prompt with {{names}} where values go: substitution, and nothing else.

using Values = std::map<std::string, std::string, std::less<>>;

// Each name once, in the order of the text. An error where a {{ is not closed or holds no name.
Result<std::vector<std::string>> names_in(std::string_view text);

// Every {{name}} replaced by its value; a name without one is an error. Values are not looked into for names,
// and can't end the <material> block that they stand in.
Result<std::string> fill(std::string_view text, const Values& values);

struct Prompt {
  std::string name;                 // coder_answer
  std::string purpose;              // a line
  std::vector<std::string> values;  // that will be given
  std::string text;
  fs::path file;  // of a user's; empty: built in
};

// In the order of the table.
const std::vector<Prompt>& built_in();
// Built-in ones, except where the folder has a file of that name. Names that will have no value are errors,
// and so are files that are no prompt of ours.
Result<std::vector<Prompt>> with_folder(const fs::path& folder);
Result<Prompt> find(const std::vector<Prompt>& all, std::string_view name);

// fill() of the prompt: the values have to be those of the table, neither fewer nor others.
Result<std::string> fill(const Prompt& prompt, const Values& values);

// Values of the table that the text leaves out: legal, but worth a word.
std::vector<std::string> unused(const Prompt& prompt);

}  // namespace stitch::prompts
