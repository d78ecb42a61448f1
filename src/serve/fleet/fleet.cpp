#include "serve/fleet/fleet.h"

#include <algorithm>
#include <cctype>

#include "base/machine/process.h"
#include "base/terminal/wording.h"

namespace stitch::serve {

Result<std::unique_ptr<Fleet>> Fleet::start(const FleetOptions& options) {
  if (options.engine == "slurm") return start_slurm(options);
  if (options.engine == "ray") return start_ray(options);
  return user_error("on", format("unknown cluster '{}'", options.engine), "slurm or ray");
}

std::string said_of_ended(const Fleet& fleet, const FleetState& before, const FleetState& now) {
  if (now.ended <= before.ended) return {};
  return format("{} of {} of {} {} ended; logs: {}", now.ended,
                counted(now.running + now.waiting + now.ended, "worker"), fleet.name(),
                now.ended == 1 ? "has" : "have", fleet.logs());
}

std::vector<std::string> worker_words(const FleetOptions& options) {
  std::vector<std::string> out = {(executable_folder() / "stitchcuda").string(),
                                  "worker",
                                  "--server",
                                  options.server,
                                  "--token-env",
                                  token_variable,
                                  "--device",
                                  options.gpu ? "cuda" : "emulated",
                                  "--jobs",
                                  "1",
                                  "--patience",
                                  "60"};
  if (!options.python.empty()) out.insert(out.end(), {"--python", options.python});
  return out;
}

std::string shell_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) ||
             std::string_view("_-./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    out += (out.empty() ? "" : " ") + (plain ? word : quoted + "'");
  }
  return out;
}

}  // namespace stitch::serve
