// For tests: the tool, run in this process.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testdata/must.h"
#include "cli/run_cli.h"

namespace stitch {

struct Ran {
  int code = 0;
  std::string out, err;
  std::string text() const { return out + err; }
  bool has(std::string_view words) const { return text().find(words) != std::string::npos; }
  Json json() const { return must(parse_json(out)); }
};

inline Ran stitchcuda(std::vector<std::string> words) {
  std::vector<const char*> arguments = {"stitchcuda"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  const int code = run_cli(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace stitch
