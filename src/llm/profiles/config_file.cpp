#include "llm/profiles/profile.h"

#ifdef STITCH_HAVE_TOML

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::llm {

namespace {

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = {"api",
                                               "url",
                                               "model",
                                               "key_env",
                                               "max_tokens",
                                               "temperature",
                                               "timeout",
                                               "context",
                                               "price",
                                               "json_schema",
                                               "max_completion_tokens",
                                               "cache_control",
                                               "stream",
                                               "extra"};
  return all;
}
const std::vector<std::string> price_keys = {"input", "output", "cached", "cache_write"};
constexpr std::array secret_names = {"key", "api_key", "apikey", "token", "secret", "password", "auth"};

// Values never stand in messages here: one of them might be a key after all.
class Reader {
 public:
  explicit Reader(const fs::path& path) : path_(path.string()) {}

  Result<std::vector<Profile>> read(const toml::table& root) {
    std::vector<Profile> out;
    for (const auto& [key, value] : root) {
      if (key.str() != "llm") {
        // Other sections are defaults of flags, which the command line reads; a slip of ours is still one.
        const std::vector<std::string> ours = {"llm"};
        if (nearest(key.str(), ours)) return unknown(key, ours, "");
        continue;
      }
      if (!value.is_table()) return wrong(value, "llm", "a table: [llm.NAME]");
      for (const auto& [name, profile] : *value.as_table()) {
        const std::string where = format("llm.{}", printable(name.str()));
        if (!profile.is_table()) return wrong(profile, where, format("a table: [{}]", where));
        if (name.str().find('/') != std::string_view::npos)
          return fail(name.source(), format("[{}]: a profile's name can't contain a slash", where));
        STITCH_TRY(Profile one, profile_of(std::string(name.str()), *profile.as_table(), where));
        out.push_back(std::move(one));
      }
    }
    return out;
  }

 private:
  Error fail(const toml::source_region& place, std::string message, std::string fix = {}) const {
    return at(format("{}:{}", path_, place.begin.line),
              user_error("config", std::move(message), std::move(fix)));
  }
  Error wrong(const toml::node& node, const std::string& what, const std::string& wanted) const {
    return fail(node.source(), format("{} must be {}", what, wanted));
  }
  Error unknown(const toml::key& key, const std::vector<std::string>& known, const std::string& where) const {
    const std::string name(key.str());
    auto near = nearest(name, known);
    return fail(key.source(),
                format("unknown setting '{}'{}", printable(name), where.empty() ? "" : " in " + where),
                near ? format("did you mean {}?", *near) : "one of: " + join(known, ", "));
  }

  Result<Profile> profile_of(const std::string& name, const toml::table& table, const std::string& where) {
    Profile out{.name = name};
    bool known = false;
    for (Profile& one : builtin_profiles())
      if (one.name == name) {
        out = std::move(one);
        known = true;
      }
    out.origin = format("{}:{}", path_, table.source().begin.line);
    for (const auto& [key, value] : table) {
      if (std::ranges::find(secret_names, key.str()) != secret_names.end())
        return fail(key.source(), format("{} has a key in the file", where),
                    "put the key into an environment variable and its name here: key_env = \"MY_API_KEY\"");
      if (std::ranges::find(keys(), key.str()) == keys().end())
        return unknown(key, keys(), "[" + where + "]");
      STITCH_CHECK(take(out, std::string(key.str()), value, where));
    }
    if (!known && out.url.empty())
      return fail(table.source(), format("[{}] has no url", where), "url = \"http://localhost:8000/v1\"");
    return out;
  }

  Result<void> take(Profile& out, const std::string& key, const toml::node& value, const std::string& where) {
    const std::string what = where + "." + key;
    if (key == "api") {
      const auto text = value.value_exact<std::string>();
      for (Api api : {Api::openai, Api::responses, Api::anthropic})
        if (text == name(api)) {
          out.api = api;
          return {};
        }
      return wrong(value, what, "\"openai\", \"responses\" or \"anthropic\"");
    }
    if (key == "url") return take_url(out, value, what);
    if (key == "model") return take_text(out.model, value, what);
    if (key == "key_env") return take_key_env(out, value, what);
    if (key == "max_tokens") return take_count(value, what, [&](int64_t count) { out.max_tokens = count; });
    if (key == "context") return take_count(value, what, [&](int64_t count) { out.context = count; });
    if (key == "temperature")
      return take_number(value, what, 0, [&](double number) { out.temperature = number; });
    if (key == "timeout") return take_number(value, what, 0.1, [&](double number) { out.timeout = number; });
    if (key == "price") return take_price(out, value, what);
    if (key == "json_schema") return take_switch(out.json_schema, value, what);
    if (key == "max_completion_tokens") return take_switch(out.max_completion_tokens, value, what);
    if (key == "cache_control") return take_switch(out.cache_control, value, what);
    if (key == "stream") return take_switch(out.stream, value, what);
    if (!value.is_table()) return wrong(value, what, "a table, such as {seed = 7}");
    STITCH_TRY(Json extra, json_of(value, what));
    out.extra = std::make_shared<const Json>(std::move(extra));
    return {};
  }

  Result<void> take_text(std::string& out, const toml::node& value, const std::string& what) {
    const auto text = value.value_exact<std::string>();
    if (!text || text->empty() || printable(*text) != *text) return wrong(value, what, "a string");
    out = *text;
    return {};
  }

  Result<void> take_url(Profile& out, const toml::node& value, const std::string& what) {
    STITCH_CHECK(take_text(out.url, value, what));
    if (!out.url.starts_with("http://") && !out.url.starts_with("https://"))
      return wrong(value, what, "an address that begins with http:// or https://");
    const size_t host = out.url.find("//") + 2;
    if (out.url.substr(host, out.url.find('/', host) - host).find('@') != std::string::npos)
      return fail(value.source(), format("{} has a password in it", what),
                  "put the key into an environment variable and its name into key_env");
    return {};
  }

  Result<void> take_key_env(Profile& out, const toml::node& value, const std::string& what) {
    const auto text = value.value_exact<std::string>();
    if (!text) return wrong(value, what, "the name of an environment variable");
    const bool is_name =
        std::ranges::all_of(*text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!is_name || (!text->empty() && std::isdigit(static_cast<unsigned char>(text->front()))))
      return fail(value.source(),
                  format("{} must be the name of an environment variable, not the key itself", what),
                  "key_env = \"OPENAI_API_KEY\"");
    out.key_env = *text;
    return {};
  }

  Result<void> take_count(const toml::node& value, const std::string& what, auto set) {
    const auto count = value.value_exact<int64_t>();
    if (!count || *count < 1) return wrong(value, what, "a whole number above 0");
    set(*count);
    return {};
  }

  Result<void> take_number(const toml::node& value, const std::string& what, double least, auto set) {
    const auto number = value.is_number() ? value.value<double>() : std::nullopt;
    if (!number || !(*number >= least) || *number > 1e9)
      return wrong(value, what, least > 0 ? "a number above 0" : "a number, 0 or above");
    set(*number);
    return {};
  }

  Result<void> take_switch(bool& out, const toml::node& value, const std::string& what) {
    const auto on = value.value_exact<bool>();
    if (!on) return wrong(value, what, "true or false");
    out = *on;
    return {};
  }

  Result<void> take_price(Profile& out, const toml::node& value, const std::string& what) {
    const toml::table* table = value.as_table();
    if (!table)
      return wrong(value, what, "dollars per million tokens: {input = 3, output = 15, cached = 0.3}");
    Price price;
    bool input = false, output = false;
    for (const auto& [key, one] : *table) {
      const std::string name(key.str());
      if (std::ranges::find(price_keys, name) == price_keys.end()) return unknown(key, price_keys, what);
      STITCH_CHECK(take_number(one, what + "." + name, 0, [&](double dollars) {
        if (name == "input") price.input = dollars, input = true;
        if (name == "output") price.output = dollars, output = true;
        if (name == "cached") price.cached = dollars;
        if (name == "cache_write") price.cache_write = dollars;
      }));
    }
    if (!input || !output) return wrong(value, what, "a table with input and output");
    out.price = price;
    return {};
  }

  Result<Json> json_of(const toml::node& node, const std::string& what) {
    if (const toml::table* table = node.as_table()) {
      Json out = Json::object();
      for (const auto& [key, value] : *table) {
        if (std::ranges::find(secret_names, key.str()) != secret_names.end())
          return fail(key.source(), format("{} has a key in the file", what), "keys only come from key_env");
        STITCH_TRY(Json one, json_of(value, what));
        out[std::string(key.str())] = std::move(one);
      }
      return out;
    }
    if (const toml::array* array = node.as_array()) {
      Json out = Json::array();
      for (const toml::node& value : *array) {
        STITCH_TRY(Json one, json_of(value, what));
        out.push_back(std::move(one));
      }
      return out;
    }
    if (auto text = node.value_exact<std::string>()) return Json(*text);
    if (auto count = node.value_exact<int64_t>()) return Json(*count);
    if (auto number = node.value_exact<double>()) return Json(*number);
    if (auto on = node.value_exact<bool>()) return Json(*on);
    return wrong(node, what, "of values that JSON has, too: no dates");
  }

  const std::string path_;
};

}  // namespace

bool can_read_config() { return true; }

Result<std::vector<Profile>> read_config(const fs::path& path, std::string_view text) {
  // The packaged library is compiled with exceptions; they end here.
  try {
    return Reader(path).read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    return at(format("{}:{}", path.string(), error.source().begin.line),
              user_error("config", "not valid TOML: " + printable(error.description())));
  }
}

}  // namespace stitch::llm

#else

namespace stitch::llm {

bool can_read_config() { return false; }
Result<std::vector<Profile>> read_config(const fs::path& path, std::string_view) {
  return at(path.string(), work_error("config", "built without configuration files (toml++ was not found)"));
}

}  // namespace stitch::llm

#endif
