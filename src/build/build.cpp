#include "build/build.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/digest/sha256.h"
#include "base/machine/file_lock.h"
#include "base/machine/parallel.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "build/build_cache.h"
#include "build/build_inputs.h"
#include "build/build_sources.h"
#include "build/build_units.h"
#include "build/cuda/resources.h"
#include "build/toolchain.h"

namespace stitch::build {

namespace {

using Clock = std::chrono::steady_clock;

std::string key_of(const std::vector<std::string>& parts) {
  Sha256 sum;
  for (const std::string& part : parts) sum.add_field(part);
  return sum.hex();
}

// From the cache, or created by `make` in the scratch folder and then published.
template <class Make>
Result<CacheEntry> find_or_link(const BuildCache& cache, const std::string& key, const fs::path& scratch,
                                Make make) {
  if (auto entry = cache.find(key)) return *entry;
  BuildCache::Lock turn = cache.lock(key);
  if (auto entry = cache.find(key)) return *entry;
  const fs::path file = scratch / (key + "-program.so");
  STITCH_CHECK(make(file));
  return cache.publish(key, file, "program.so", "");
}

// In the request's order, so that a copy of the program elsewhere has the same keys.
std::vector<fs::path> folders_in_order(const BuildRequest& request) {
  std::vector<fs::path> out;
  auto add = [&](const fs::path& folder) {
    if (std::ranges::find(out, folder) == out.end()) out.push_back(folder);
  };
  for (const fs::path& source : request.sources) add(source.parent_path());
  for (const fs::path& folder : request.include_dirs) add(folder);
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from == to) return;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

using Progress = std::function<void(std::string_view)>;

struct Objects {
  std::vector<CacheEntry> entries;
  FilesRead read;
  int compiled = 0;  // sources
};

class Compilation {
 public:
  Compilation(const BuildRequest& request, const std::vector<std::string>& keys, const Toolchain& toolchain,
              const ObjectCache& objects, const Work& work, const Progress& on_progress)
      : request_(request),
        keys_(keys),
        toolchain_(toolchain),
        objects_(objects),
        work_(work),
        on_progress_(on_progress) {}

  // One thread per compiler process, as many as cores.
  Result<Objects> compile(const std::vector<Unit>& units) {
    std::vector<std::optional<Result<std::vector<ObjectCache::Object>>>> found(units.size());
    std::atomic<size_t> next = 0;
    std::atomic<bool> failed = false;
    auto take = [&] {
      for (size_t i; (i = next++) < units.size() && !failed;) {
        found[i] = compile_unit(units[i]);
        if (!*found[i]) failed = true;
      }
    };
    std::vector<std::thread> threads;
    const size_t helpers = std::min(units.size(), static_cast<size_t>(core_count()));
    for (size_t i = 1; i < helpers; ++i) threads.emplace_back(take);
    take();
    for (std::thread& thread : threads) thread.join();
    // Report the first unit's error, independent of timing.
    for (auto& objects : found)
      if (objects && !*objects) return std::move(*objects).error();
    Objects out;
    for (auto& objects : found)
      for (ObjectCache::Object& object : **objects) {
        out.entries.push_back(std::move(object.entry));
        out.read.merge(object.read);
      }
    out.compiled = compiled_;
    return out;
  }

 private:
  Result<ObjectCache::Object> object_of(const Unit& unit) {
    if (auto object = objects_.find(unit.key)) return *std::move(object);
    BuildCache::Lock turn = objects_.cache().lock(unit.key);
    if (auto object = objects_.find(unit.key)) return *std::move(object);
    STITCH_TRY(fs::path source, write_unit(unit, request_, work_.scratch));
    std::string title = request_.sources[unit.sources[0]].filename().string();
    if (unit.sources.size() > 1) title += format(" and {} more", unit.sources.size() - 1);
    if (on_progress_) {
      std::lock_guard lock(progress_);
      on_progress_("compiling " + title);
    }
    const fs::path file = work_.scratch / (unit.key + "-object.o");
    Compiled compiled;
    {
      // As many compilers as cores, over all processes of this machine.
      STITCH_TRY(MachineShare core, MachineShare::take("compilers", 1, core_count()));
      const SpentOn compiling("compile a unit");
      STITCH_TRY(compiled, toolchain_.compile(source, file, work_));
    }
    compiled_ += static_cast<int>(unit.sources.size());
    return objects_.publish(unit.key, file, compiled.notes, compiled.read);
  }

  // If sources don't compile together they are compiled one by one; errors then belong to one source.
  Result<std::vector<ObjectCache::Object>> compile_unit(const Unit& unit) {
    auto together = object_of(unit);
    if (together && unit.sources.size() > 1) remember_unit(unit, keys_, objects_.cache());
    if (together) return std::vector{*std::move(together)};
    if (unit.sources.size() == 1 || together.error().blame != Error::Blame::user)
      return std::move(together).error();
    std::vector<ObjectCache::Object> out;
    for (size_t index : unit.sources) {
      const Unit alone{{index}, keys_[index]};
      STITCH_TRY(ObjectCache::Object object, object_of(alone));
      remember_unit(alone, keys_, objects_.cache());
      out.push_back(std::move(object));
    }
    return out;
  }

  const BuildRequest& request_;
  const std::vector<std::string>& keys_;
  const Toolchain& toolchain_;
  const ObjectCache& objects_;
  const Work& work_;
  const Progress& on_progress_;
  std::mutex progress_;
  std::atomic<int> compiled_ = 0;
};

std::set<std::string> imports_of(const std::vector<fs::path>& objects) {
  ObjectSymbols all;
  for (const fs::path& object : objects) {
    ObjectSymbols one = symbols_of(object);
    all.wanted.merge(one.wanted);
    all.offered.merge(one.offered);
  }
  std::erase_if(all.wanted, [&](const std::string& name) { return all.offered.contains(name); });
  return std::move(all.wanted);
}

Result<Built> build_absolute(const BuildRequest& request, const Progress& on_progress) {
  const Clock::time_point start = Clock::now();
  if (request.sources.empty()) return user_error("build_failed", "a program needs at least one source file");
  STITCH_TRY(auto toolchain,
             request.target == Target::cuda ? cuda_toolchain(request) : emulated_toolchain(request));
  STITCH_TRY(BuildCache cache, BuildCache::open());
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-build"));
  SourceReader reader(request.sources, request.include_dirs);
  Work work{scratch.path(), reader.folders(), start + request.time_limit};

  std::vector<std::string> keys;
  for (const fs::path& source : request.sources) {
    STITCH_TRY(std::string text, reader.hash(source));
    keys.push_back(key_of(
        {"object", toolchain->identity(), toolchain->flags_of(source), source.filename().string(), text}));
  }
  if (request.alone) work.readable = reader.seen();
  const ObjectCache known(cache, BuildInputs(folders_in_order(request), scratch.path()));
  STITCH_TRY(std::vector<Unit> units, arrange_units(request, keys, known));
  STITCH_TRY(Objects objects,
             Compilation(request, keys, *toolchain, known, work, on_progress).compile(units));

  Built built;
  if (request.device_only) return built;
  std::vector<fs::path> files;
  std::vector<std::string> parts = {"library", toolchain->identity()};
  for (const CacheEntry& object : objects.entries) {
    files.push_back(object.file);
    work.readable.push_back(object.file);
    parts.push_back(object.hash);
    for (KernelResources& kernel : parse_resources(object.notes))
      built.resources.push_back(std::move(kernel));
  }
  auto link = [&](const fs::path& file) {
    if (on_progress) on_progress("linking");
    const SpentOn linking("link");
    return toolchain->link(files, file, work);
  };
  STITCH_TRY(CacheEntry library, find_or_link(cache, key_of(parts), scratch.path(), link));
  cache.trim();
  built.library = library.file;
  built.hash = library.hash;
  built.imports = imports_of(files);
  built.read = std::move(objects.read);
  built.compiled = objects.compiled;
  built.reused = static_cast<int>(request.sources.size()) - objects.compiled;
  built.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return built;
}

}  // namespace

std::string_view name(Target target) { return target == Target::cuda ? "cuda" : "emulated"; }

Result<Built> build(const BuildRequest& request, const std::function<void(std::string_view)>& on_progress) {
  // Compilers run in their own folder, so paths are absolute; messages show them as given.
  BuildRequest absolute = request;
  for (fs::path& path : absolute.sources) path = fs::absolute(path).lexically_normal();
  for (fs::path& path : absolute.shareable) path = fs::absolute(path).lexically_normal();
  for (fs::path& path : absolute.include_dirs) path = fs::absolute(path).lexically_normal();
  // Units name their sources; last, so that it hides no headers.
  if (!absolute.shareable.empty()) absolute.include_dirs.push_back(absolute.shareable[0].parent_path());
  auto built = build_absolute(absolute, on_progress);
  if (built) return built;
  Error error = std::move(built).error();
  for (size_t i = 0; i < request.sources.size(); ++i)
    for (std::string* text : {&error.message, &error.where})
      replace_all(*text, absolute.sources[i].string(), request.sources[i].string());
  return error;
}

}  // namespace stitch::build
