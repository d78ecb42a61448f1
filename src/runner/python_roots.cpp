#include "runner/python_roots.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/machine/process.h"

namespace stitch::runner {

namespace {

constexpr const char* question = R"(
import importlib.util, json, os, site, sys
packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)]
torch = importlib.util.find_spec("torch")
if torch and torch.origin:
    packages.append(os.path.dirname(os.path.dirname(torch.origin)))
print(json.dumps({"packages": sorted(set(packages)), "user_base": site.getuserbase() if site.ENABLE_USER_SITE else ""}))
)";

PythonRoots ask(const fs::path& python) {
  std::string answer;
  (void)run({{python.string(), "-c", question}, {}, std::chrono::seconds(20)},
            [&](std::string_view line) { answer = line; });
  auto json = parse_json(answer);
  if (!json || !json->is_object()) return {};
  PythonRoots out;
  for (const Json& path : json->value("packages", Json::array()))
    out.packages.emplace_back(path.get<std::string>());
  out.user_base = json->value("user_base", "");
  return out;
}

}  // namespace

const PythonRoots& python_roots(const fs::path& python) {
  static std::mutex mutex;
  static std::map<fs::path, PythonRoots> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(python);
  if (found == known.end()) found = known.emplace(python, ask(python)).first;
  return found->second;
}

}  // namespace stitch::runner
