// Which server, which model, how it is spoken to and what it costs: [llm.NAME] in stitchcuda.toml, or one of
// the profiles that are built in. Keys are only ever read from the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"

namespace stitch::llm {

enum class Api {
  openai,     // chat completions
  responses,  // OpenAI's newer models take tools here only
  anthropic,
};
std::string_view name(Api api);

// Dollars per million tokens.
struct Price {
  double input = 0;
  double output = 0;
  std::optional<double> cached;       // read from the cache; else as input
  std::optional<double> cache_write;  // else as input
};

struct Profile {
  std::string name;
  Api api = Api::openai;
  std::string url;      // up to and without /chat/completions, /responses or /messages
  std::string model;    // empty: must be given, as in llm:ollama/qwen2.5-coder
  std::string key_env;  // the environment variable that holds the key; empty: the server needs none
  std::optional<int64_t> max_tokens;  // of an answer; else most_answer_tokens()
  std::optional<double> temperature;
  double timeout = 600;  // seconds without a byte
  std::optional<int64_t> context;
  std::optional<Price> price;          // else prices.json's, else unknown
  bool json_schema = false;            // the server takes the schema of the answer
  bool max_completion_tokens = false;  // what newer OpenAI models call max_tokens
  bool cache_control = false;          // an OpenAI-compatible server takes caching hints (OpenRouter)
  bool stream = true;
  std::shared_ptr<const Json> extra;  // put into every request's body as it is
  std::string origin = "built in";    // or "FILE:LINE"
};

// Environment variables, so that tests need not change the process's own.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

// What the files say.
struct Config {
  std::map<std::string, Profile> profiles;  // with those built in that no file overrides
  std::vector<std::string> warnings;        // a file that couldn't be read for want of toml++
  std::vector<fs::path> files;              // that were read
};

// `file` if it is given; else ./stitchcuda.toml and $XDG_CONFIG_HOME/stitchcuda/config.toml (~/.config/…),
// the first one's profiles before the second one's.
Result<Config> load_config(const fs::path& file = {}, const Environment& environment = process_environment());

std::vector<Profile> builtin_profiles();

// "llm:PROFILE[/MODEL]", the "llm:" may be missing. The model may hold slashes.
Result<Profile> choose_profile(const Config& config, std::string_view words);

// The key, or an error that names the variable; nothing where no key is needed.
Result<std::optional<std::string>> key_of(const Profile& profile, const Environment& environment);

// The profile's own price, else the table's; nothing for unknown models.
std::optional<Price> price_of(const Profile& profile);

// The profile's own limit of an answer, reasoning included; else what the model can, at most 65,536; 16,384
// for unknown models.
int64_t most_answer_tokens(const Profile& profile);

// stitchcuda.toml. toml++ stays in config_file.cpp.

// False: built without toml++, and no file can be read.
bool can_read_config();
// The profiles of a file; those that have the name of a built-in one start from it. Errors name file and
// line.
Result<std::vector<Profile>> read_config(const fs::path& path, std::string_view text);

}  // namespace stitch::llm
