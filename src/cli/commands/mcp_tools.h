// The MCP server's tools whose work stands in this room.
#pragma once

#include "serve/tools/workshop.h"

namespace stitch {

serve::Tool show_tool(serve::Shared workshop);
serve::Tool profile_tool(serve::Shared workshop);
serve::Tool runs_tool();
serve::Tool doctor_tool();

}  // namespace stitch
