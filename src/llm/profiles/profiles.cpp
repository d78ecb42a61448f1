#include <algorithm>
#include <cstdlib>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "llm/profiles/config_file.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

namespace {

std::vector<fs::path> usual_files(const Environment& environment) {
  std::vector<fs::path> out = {"stitchcuda.toml"};
  auto base = environment("XDG_CONFIG_HOME");
  if (base && !base->empty()) {
    out.push_back(fs::path(*base) / "stitchcuda" / "config.toml");
  } else if (auto home = environment("HOME"); home && !home->empty()) {
    out.push_back(fs::path(*home) / ".config" / "stitchcuda" / "config.toml");
  }
  return out;
}

Result<void> take_file(Config& config, const fs::path& path, bool demanded) {
  if (!can_read_config()) {
    Error error = read_config(path, "").error();
    if (demanded) return error;
    config.warnings.push_back(format("ignored {}: {}", path.string(), error.message));
    return {};
  }
  STITCH_TRY(const std::string text, read_file(path));
  STITCH_TRY(std::vector<Profile> profiles, read_config(path, text));
  config.files.push_back(path);
  for (Profile& one : profiles) {
    std::string key = one.name;
    config.profiles.emplace(std::move(key), std::move(one));  // what an earlier file said stays
  }
  return {};
}

}  // namespace

std::string_view name(Api api) {
  switch (api) {
    case Api::openai: return "openai";
    case Api::responses: return "responses";
    case Api::anthropic: return "anthropic";
  }
  throw Bug("an API without a name");
}

Environment process_environment() {
  return [](const std::string& variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<Config> load_config(const fs::path& file, const Environment& environment) {
  Config config;
  if (!file.empty()) {
    STITCH_CHECK(take_file(config, file, true));
  } else {
    for (const fs::path& path : usual_files(environment)) {
      std::error_code ignored;
      if (fs::exists(path, ignored)) STITCH_CHECK(take_file(config, path, false));
    }
  }
  for (Profile& one : builtin_profiles()) {
    std::string key = one.name;
    config.profiles.emplace(std::move(key), std::move(one));
  }
  return config;
}

Result<Profile> choose_profile(const Config& config, std::string_view words) {
  if (words.starts_with("llm:")) words.remove_prefix(4);
  const size_t slash = words.find('/');
  const std::string wanted(words.substr(0, slash));
  auto found = config.profiles.find(wanted);
  if (found == config.profiles.end()) {
    std::vector<std::string> names;
    for (const auto& [key, unused] : config.profiles) names.push_back(key);
    auto near = nearest(wanted, names);
    return user_error(
        "llm_profile", format("unknown LLM profile '{}'", printable(wanted)),
        near ? format("did you mean {}?", *near)
             : format("one of: {}; or write [llm.NAME] into stitchcuda.toml", join(names, ", ")));
  }
  Profile out = found->second;
  if (slash != std::string_view::npos) {
    out.model = words.substr(slash + 1);
    // A price in the file is that of the file's model.
    if (out.model != found->second.model && !found->second.model.empty()) out.price.reset();
  }
  if (out.model.empty())
    return user_error("llm_profile", format("the profile {} needs a model", wanted),
                      format("llm:{}/MODEL", wanted));
  if (printable(out.model) != out.model)
    return user_error("llm_profile", "a model's name must be plain text");
  return out;
}

Result<std::optional<std::string>> key_of(const Profile& profile, const Environment& environment) {
  if (profile.key_env.empty()) return std::optional<std::string>();
  auto value = environment(profile.key_env);
  const std::string key = value ? trim(*value) : "";
  if (key.empty())
    return user_error("llm_key",
                      format("the profile {} needs a key, but ${} is not set", profile.name, profile.key_env),
                      format("export {}=…", profile.key_env));
  if (!std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7F; }))
    return user_error("llm_key",
                      format("the key in ${} has characters that a key can't have", profile.key_env));
  return std::optional<std::string>(key);
}

}  // namespace stitch::llm
