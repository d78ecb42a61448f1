#include "serve/tools/tools.h"

namespace stitch::serve {

std::vector<Tool> all_tools(const Shared& workshop) {
  return {import_tool(workshop), plan_tool(workshop),     code_tool(workshop),  write_region_tool(workshop),
          verify_tool(workshop), optimize_tool(workshop), notes_tool(workshop), prompts_tool(workshop)};
}

}  // namespace stitch::serve
