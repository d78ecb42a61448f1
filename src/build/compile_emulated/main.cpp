// stitch-compile-emulated: one source to an object, or objects to a library, for the emulated GPU. Runs in
// the sandbox, since sources are untrusted; returns an exit code and, on failure, an Error as JSON on the
// last line of stdout.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "build/compile_emulated/compile.h"

int main(int count, char** words) {
  using namespace stitch;
  emulated::CompileOptions options;
  options.time_limit = std::chrono::hours(24);  // the caller enforces the time limit
  options.extra_flags = {"-fvisibility=hidden"};
  std::vector<fs::path> sources;
  fs::path out;
  const bool object = count > 1 && std::string_view(words[1]) == "object";
  if (object) options.extra_flags.emplace_back("-c");
  bool counted = false;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--asan")
      options.asan = true;
    else if (word == "--count-accesses")
      counted = true;
    else if (word == "--no-optimise")
      options.optimise = false;
    else {
      if (word == "--source") sources.emplace_back(value);
      if (word == "--out") out = value;
      if (word == "--include") options.include_dirs.emplace_back(value);
      if (word == "--read") options.read_list = value;
      if (word == "--object") options.objects.emplace_back(value);
      ++i;
    }
  }
  // The hooks are the runtime's (runtime/access_counters.h), so that nothing but objects is told of it.
  if (object && counted)
    options.extra_flags.insert(options.extra_flags.end(), {"-fsanitize=thread", "-fno-tree-vectorize"});
  auto built = emulated::compile_emulated(sources, out, options);
  if (built) return 0;
  std::printf("\n%s\n", line_text(to_json(built.error())).c_str());
  return built.error().exit_code();
}
