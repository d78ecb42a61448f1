#include "device/build.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/parallel.h"
#include "base/sha256.h"
#include "base/text.h"
#include "device/build_cache.h"
#include "device/build_sources.h"
#include "device/cuda/resources.h"
#include "device/toolchain.h"

namespace stitch::device {

namespace {

using Clock = std::chrono::steady_clock;

std::string key_of(const std::vector<std::string>& parts) {
  Sha256 sum;
  for (const std::string& part : parts) sum.add_field(part);
  return sum.hex();
}

// From the cache, or made by `make` into a file of the scratch folder and then put there.
template <class Make>
Result<CacheEntry> find_or_make(const BuildCache& cache, const std::string& key, const std::string& name,
                                const fs::path& scratch, bool& made, Make make) {
  if (auto entry = cache.find(key)) return *entry;
  BuildCache::Lock turn = cache.lock(key);
  if (auto entry = cache.find(key)) return *entry;
  made = true;
  const fs::path file = scratch / (key + "-" + name);
  STITCH_TRY(std::string notes, make(file));
  return cache.publish(key, file, name, notes);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from == to) return;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

Result<Built> build_absolute(const BuildRequest& request,
                             const std::function<void(std::string_view)>& on_progress) {
  const Clock::time_point start = Clock::now();
  if (request.sources.empty()) return user_error("build_failed", "a program needs at least one source file");
  STITCH_TRY(auto toolchain,
             request.target == Target::cuda ? cuda_toolchain(request) : emulated_toolchain(request));
  STITCH_TRY(BuildCache cache, BuildCache::open());
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-build"));
  SourceReader reader(request.sources, request.include_dirs);
  const Work work{scratch.path(), reader.folders(), start + request.time_limit};

  const size_t count = request.sources.size();
  std::vector<std::string> keys(count);
  for (size_t i = 0; i < count; ++i) {
    STITCH_TRY(std::string text, reader.hash(request.sources[i]));
    keys[i] = key_of({"object", toolchain->identity(), request.sources[i].filename().string(), text});
  }

  // Compilers are processes: a thread each to wait for them, as many as there are cores. The first source's
  // error is the one reported, whichever came first.
  std::vector<std::optional<Result<CacheEntry>>> objects(count);
  std::atomic<size_t> next = 0, compiled = 0;
  std::atomic<bool> failed = false;
  std::mutex progress;
  auto take = [&] {
    for (size_t i; (i = next++) < count && !failed;) {
      bool made = false;
      objects[i] =
          find_or_make(cache, keys[i], "object.o", scratch.path(), made, [&](const fs::path& object) {
            if (on_progress) {
              std::lock_guard lock(progress);
              on_progress(format("compiling {} for the {} GPU", request.sources[i].filename().string(),
                                 request.target == Target::cuda ? "real" : "emulated"));
            }
            return toolchain->compile(request.sources[i], object, work);
          });
      compiled += made;
      if (!*objects[i]) failed = true;
    }
  };
  std::vector<std::thread> threads;
  const size_t helpers = std::min(count, static_cast<size_t>(core_count()));
  // The caller's thread is one of them: children die with the thread that started them.
  for (size_t i = 1; i < helpers; ++i) threads.emplace_back(take);
  take();
  for (std::thread& thread : threads) thread.join();

  std::vector<fs::path> files, readable = work.readable;
  std::vector<std::string> parts = {"library", toolchain->identity()};
  Built built;
  for (auto& object : objects)
    if (object && !*object) return std::move(*object).error();
  for (auto& object : objects) {
    files.push_back((**object).file);
    parts.push_back((**object).hash);
    readable.push_back((**object).file);
    for (KernelResources& kernel : parse_resources((**object).notes))
      built.resources.push_back(std::move(kernel));
  }
  bool linked = false;
  const Work linking{work.scratch, readable, work.deadline};
  STITCH_TRY(CacheEntry library, find_or_make(cache, key_of(parts), "program.so", scratch.path(), linked,
                                              [&](const fs::path& file) -> Result<std::string> {
                                                if (on_progress) on_progress("linking");
                                                STITCH_CHECK(toolchain->link(files, file, linking));
                                                return std::string();
                                              }));
  cache.trim();
  built.library = library.file;
  built.hash = library.hash;
  built.compiled = static_cast<int>(compiled.load());
  built.reused = static_cast<int>(count) - built.compiled;
  built.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return built;
}

}  // namespace

std::string_view name(Target target) { return target == Target::cuda ? "cuda" : "emulated"; }

Result<Built> build(const BuildRequest& request, const std::function<void(std::string_view)>& on_progress) {
  // Compilers work in a folder of their own, so they get whole paths; messages get them as they were given.
  BuildRequest absolute = request;
  for (fs::path& path : absolute.sources) path = fs::absolute(path).lexically_normal();
  for (fs::path& path : absolute.include_dirs) path = fs::absolute(path).lexically_normal();
  auto built = build_absolute(absolute, on_progress);
  if (built) return built;
  Error error = std::move(built).error();
  for (size_t i = 0; i < request.sources.size(); ++i)
    for (std::string* text : {&error.message, &error.where})
      replace_all(*text, absolute.sources[i].string(), request.sources[i].string());
  return error;
}

}  // namespace stitch::device
