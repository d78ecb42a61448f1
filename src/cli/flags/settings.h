// Values of flags that the command line leaves open: from the environment, ./stitchcuda.toml and the user's
// config.toml, in this order.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "llm/profiles/profile.h"

namespace CLI {

class App;
class Option;

}  // namespace CLI

namespace stitch {

struct Setting {
  std::string command;              // empty: of every command that has the flag
  std::string flag;                 // "budget"
  std::vector<std::string> values;  // of a switch: "true" or "false"
  std::string origin;               // "$STITCHCUDA_BUDGET", "stitchcuda.toml:3"
  bool read_elsewhere = false;      // $STITCHCUDA_PYTHON and the like, which have a reader of their own
};

struct SettingsFile {
  std::string path, scope;  // scope: "project" or "user"
  bool found = false;
};

struct Settings {
  std::vector<Setting> all;  // what comes first counts
  std::vector<SettingsFile> files;
  std::vector<std::string> warnings;  // a file that can't be read for want of toml++

  // Null: not set.
  const Setting* find(std::string_view command, std::string_view flag) const;
};

// Of the flags of `app`. Errors name the file and the line.
Result<Settings> load_settings(const CLI::App& app, const llm::Environment& environment);

// Some flags belong to one call: --force, --out, --json and what ends in a document of its own.
bool may_be_set(const CLI::Option& option);
// "$STITCHCUDA_OPTIMIZE_BUDGET" without the dollar.
std::string variable_of(std::string_view command, std::string_view flag);

// The words with a flag for each setting that the command line leaves open.
Result<std::vector<std::string>> with_settings(std::vector<std::string> words, const Settings& settings);

// settings_file.cpp, where toml++ stays.
struct FileSetting {
  std::string section, key;
  std::vector<std::string> values;
  int section_line = 0, line = 0;
};
bool can_read_settings();
// Tables but [llm], key by key.
Result<std::vector<FileSetting>> parse_settings(const std::string& path, std::string_view text);

}  // namespace stitch
