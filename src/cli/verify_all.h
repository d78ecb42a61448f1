// The figures of many candidates for people: as tables, and as a page.
#pragma once

#include <string>

#include "base/json.h"
#include "base/terminal.h"

namespace stitch {

std::string verify_all_text(const Json& summary, const Terminal& terminal);
std::string verify_all_page(const Json& summary);

}  // namespace stitch
