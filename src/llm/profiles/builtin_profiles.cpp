// Servers that many people have, known without a file. Their models must be named, prices of local ones are
// 0.
#include "llm/profiles/profile.h"

namespace stitch::llm {

std::vector<Profile> builtin_profiles() {
  auto local = [](std::string name, std::string url, bool json_schema) {
    return Profile{.name = std::move(name),
                   .url = std::move(url),
                   .timeout = 1800,  // a large model on a CPU takes its time before the first token
                   .price = Price{.cached = 0},
                   .json_schema = json_schema};
  };
  return {
      {.name = "openai",
       .api = Api::responses,
       .url = "https://api.openai.com/v1",
       .key_env = "OPENAI_API_KEY",
       .json_schema = true,
       .max_completion_tokens = true},
      {.name = "anthropic",
       .api = Api::anthropic,
       .url = "https://api.anthropic.com/v1",
       .key_env = "ANTHROPIC_API_KEY"},
      {.name = "openrouter", .url = "https://openrouter.ai/api/v1", .key_env = "OPENROUTER_API_KEY"},
      local("ollama", "http://localhost:11434/v1", true),
      local("vllm", "http://localhost:8000/v1", true),
      local("llamacpp", "http://localhost:8080/v1", true),
      local("sglang", "http://localhost:30000/v1", true),
  };
}

}  // namespace stitch::llm
