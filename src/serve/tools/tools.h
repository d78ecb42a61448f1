// The tools, a file each; those of other rooms can be put beside them.
#pragma once

#include "serve/tools/workshop.h"

namespace stitch::serve {

Tool import_tool(Shared workshop);
Tool plan_tool(Shared workshop);
Tool code_tool(Shared workshop);
Tool region_tool(Shared workshop);
Tool write_region_tool(Shared workshop);
Tool verify_tool(Shared workshop);
Tool optimize_tool(Shared workshop);
Tool notes_tool(Shared workshop);
Tool prompts_tool(Shared workshop);

// All tools, in the usual order of use.
std::vector<Tool> all_tools(const Shared& workshop);

}  // namespace stitch::serve
