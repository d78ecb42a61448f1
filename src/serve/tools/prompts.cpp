// prompts: what LLM brains are told.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "serve/tools/tools.h"

namespace stitch::serve {

Tool prompts_tool(Shared workshop) {
  return {
      .name = "prompts",
      .title = "Show prompts",
      .description = "The prompt templates of StitchCUDA's LLM brains: all by name, or the text of one.",
      .schema = schema_of({{.name = "name", .description = "a prompt's name (default: list them)"}}),
      .quick = true,
      .output = output_schema({{"prompts", Kind::list, "name, purpose and values of each"},
                               {"name", Kind::text, "of the one asked for"},
                               {"values", Kind::list, "of the one asked for"},
                               {"text", Kind::text, "of the one asked for"}}),
      .run = [workshop](const Json& arguments, Call&) -> Result<Answer> {
        if (const std::string name = text(arguments, "name"); !name.empty()) {
          STITCH_TRY(const prompts::Prompt prompt, prompts::find(workshop->prompts, name));
          const Json structured = {{"name", prompt.name}, {"values", prompt.values}, {"text", prompt.text}};
          return Answer{prompt.text, std::make_shared<const Json>(structured), {}};
        }
        Json list = Json::array();
        std::string said;
        for (const prompts::Prompt& prompt : workshop->prompts) {
          list.push_back({{"name", prompt.name}, {"purpose", prompt.purpose}, {"values", prompt.values}});
          said += format("{}: {}\n", prompt.name, prompt.purpose);
        }
        return Answer{said, std::make_shared<const Json>(Json{{"prompts", std::move(list)}}), {}};
      }};
}

}  // namespace stitch::serve
