// The figures of many tasks (bench) or candidates (verify --all) for people: as tables for the terminal, and
// as sentences for both the terminal and the page.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal/terminal.h"

namespace stitch {

std::string bench_text(const Json& summary, const Terminal& terminal);
std::string verify_all_text(const Json& summary, const Terminal& terminal);
// What a reader needs to know of the figures, a sentence each: "notes" of summary.json.
std::vector<std::string> notes_on_bench(const Json& summary);
std::vector<std::string> notes_on_judged(const Json& summary);

}  // namespace stitch
