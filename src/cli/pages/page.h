// A page: the viewer (files/) with a JSON document inside, drawn by the view of that name. One file, nothing
// fetched.
#pragma once

#include <string>

#include "base/json.h"

namespace stitch {

struct Package;

enum class View : uint8_t { show, plan, optimize, profile, bench, run, verify_all, train, service };

std::string page(View view, const Json& document);

// The program's sources by their paths in its folder, for a page to show; what is too long for one is left
// out.
Json sources_of(const Package& package);

}  // namespace stitch
