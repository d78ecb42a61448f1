#include "sandbox/sandbox.h"

#include <algorithm>
#include <cstdlib>

#include "base/machine/parallel.h"
#include "base/text.h"
#include "sandbox/confinement.h"
#include "sandbox/control_group.h"
#include "sandbox/put_up_walls.h"

namespace stitch::sandbox {

namespace {

bool below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Builds bwrap's mount arguments and remembers what is mounted.
class Mounts {
 public:
  explicit Mounts(std::vector<std::string>& words) : words_(words) {}

  void show_system(const fs::path& path) {
    std::error_code ignored;
    // Keep symlinks such as /lib -> usr/lib.
    if (fs::is_symlink(path, ignored) && path.parent_path() == "/")
      words_.insert(words_.end(), {"--symlink", fs::read_symlink(path, ignored).string(), path.string()});
    else
      words_.insert(words_.end(), {"--ro-bind-try", path.string(), path.string()});
    mounted_.push_back(path);
  }
  void show(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    const fs::path asked = fs::absolute(path).lexically_normal(), real = fs::weakly_canonical(path, ignored);
    // A path below a mounted folder is visible already, but it may be a link whose target is not.
    if (!has(asked))
      bind("--ro-bind", real, asked);
    else if (!has(real))
      bind("--ro-bind", real, real);
  }
  void open(const fs::path& folder) {
    std::error_code ignored;
    bind("--bind", fs::weakly_canonical(folder, ignored), fs::absolute(folder).lexically_normal());
  }

 private:
  bool has(const fs::path& path) const {
    return std::any_of(mounted_.begin(), mounted_.end(),
                       [&](const fs::path& folder) { return below(path, folder); });
  }
  void bind(const char* how, const fs::path& from, const fs::path& to) {
    words_.insert(words_.end(), {how, from.string(), to.string()});
    mounted_.push_back(to);
  }

  std::vector<std::string>& words_;
  std::vector<fs::path> mounted_;
};

constexpr int64_t memory_folder_limit = int64_t{1} << 30;

// --size: since bubblewrap 0.7.
bool knows_sizes(const fs::path& bubblewrap) {
  static const bool knows = [&] {
    bool found = false;
    (void)run({{bubblewrap.string(), "--help"}, {}, std::chrono::seconds(10)},
              [&](std::string_view line) { found = found || line.find("--size ") != line.npos; });
    return found;
  }();
  return knows;
}

// bubblewrap: a mount namespace that contains only what the policy names. The command line up to and
// including "--"; `launcher` will run inside.
std::vector<std::string> bubblewrap_words(const fs::path& bubblewrap, const fs::path& launcher,
                                          const Policy& policy) {
  std::vector<std::string> words = {
      bubblewrap.string(), "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"};
  // tmpfs pages count towards no process's memory limit.
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    if (knows_sizes(bubblewrap)) words.insert(words.end(), {"--size", std::to_string(memory_folder_limit)});
    words.insert(words.end(), {"--tmpfs", folder});
  }
  words.insert(words.end(), {"--ro-bind-try", "/sys", "/sys"});
  Mounts mounts(words);
  for (const fs::path& path : system_folders()) mounts.show_system(path);
  if (policy.gpu)
    for (const fs::path& path : writable_devices(true))
      words.insert(words.end(), {"--dev-bind-try", path.string(), path.string()});
  std::vector<fs::path> readable = policy.readable;
  readable.push_back(launcher);
  std::sort(readable.begin(), readable.end());  // folders before what is in them
  for (const fs::path& path : readable) mounts.show(path);
  // Scratch folders last: they may be inside a read-only folder.
  for (const fs::path& path : policy.writable) mounts.open(path);
  words.emplace_back("--");
  return words;
}

}  // namespace

namespace {

constexpr std::string_view join_word = "--join";

Result<fs::path> find_launcher() {
  std::vector<fs::path> places = {executable_folder() / "stitch-confine",
                                  executable_folder().parent_path() / "libexec/stitchcuda/stitch-confine"};
#ifdef STITCH_CONFINE
  places.emplace_back(STITCH_CONFINE);
#endif
  for (const fs::path& place : places)
    if (auto program = find_program(place.string())) return *program;
  return work_error("sandbox",
                    format("the program stitch-confine is not next to this one ({})", places[0].string()),
                    "build or install StitchCUDA again, whole");
}

bool succeeds(std::vector<std::string> words) {
  auto finished = run({std::move(words), {}, std::chrono::seconds(10)});
  return finished && finished->exit_code == 0 && !finished->timed_out;
}

bool stands(Wall wall, const fs::path& launcher) {
  if (wall == Wall::limits) return true;
  if (wall == Wall::control_group) {
    const fs::path place = place_for_groups();
    if (place.empty()) return false;
    auto group = make_group(place, {.memory = int64_t{256} << 20, .threads = 64});
    return group && succeeds({launcher.string(), "--join", group->string(), "--", launcher.string(), "--try",
                              "limits"});
  }
  if (wall != Wall::bubblewrap) return succeeds({launcher.string(), "--try", std::string(name(wall))});
  auto bubblewrap = find_program("bwrap");
  if (!bubblewrap) return false;
  std::vector<std::string> words = bubblewrap_words(*bubblewrap, launcher, {});
  words.insert(words.end(), {launcher.string(), "--try", "nothing"});
  // Exit code 1 comes from the launcher, so it ran inside.
  auto finished = run({std::move(words), {}, std::chrono::seconds(10)});
  return finished && finished->exit_code == 1;
}

// Variables that compilers, loaders and the GPU driver read and that hold no secrets.
constexpr const char* kept_variables[] = {"PATH",
                                          "LANG",
                                          "LC_ALL",
                                          "LD_LIBRARY_PATH",
                                          "CUDA_HOME",
                                          "CUDA_PATH",
                                          "CUDA_VISIBLE_DEVICES",
                                          "CUDA_DEVICE_ORDER",
                                          "CUDA_MODULE_LOADING",
                                          "CUDNN_PATH",
                                          "NVIDIA_VISIBLE_DEVICES",
                                          "NVIDIA_DRIVER_CAPABILITIES",
                                          "SOURCE_DATE_EPOCH"};

std::map<std::string, std::string> clean_environment(const Command& command, const Policy& policy) {
  std::map<std::string, std::string> out;
  for (const char* variable : kept_variables)
    if (const char* value = std::getenv(variable)) out[variable] = value;
  const std::string home = policy.writable.empty() ? "/" : policy.writable[0].string();
  out["HOME"] = out["TMPDIR"] = home;
  out["USER"] = out["LOGNAME"] = "candidate";  // there may be no /etc/passwd inside
  for (const auto& [key, value] : command.extra_environment) out[key] = value;
  return out;
}

}  // namespace

std::string_view name(Wall wall) {
  switch (wall) {
    case Wall::bubblewrap: return "bubblewrap";
    case Wall::landlock: return "landlock";
    case Wall::seccomp: return "seccomp";
    case Wall::network_namespace: return "network namespace";
    case Wall::control_group: return "control group";
    case Wall::limits: return "limits";
  }
  return "?";
}

const std::vector<Wall>& walls() {
  static const std::vector<Wall> found = [] {
    std::vector<Wall> out;
    auto launcher = find_launcher();
    if (!launcher) return out;
    const char* told = std::getenv("STITCHCUDA_WALLS");
    const std::vector<std::string> wanted = split(told ? told : "", ',');
    for (Wall wall : {Wall::bubblewrap, Wall::landlock, Wall::seccomp, Wall::network_namespace,
                      Wall::control_group, Wall::limits}) {
      const bool left_out = told && std::find(wanted.begin(), wanted.end(), name(wall)) == wanted.end();
      if (!left_out && stands(wall, *launcher)) out.push_back(wall);
    }
    return out;
  }();
  return found;
}

bool keeps_files_apart() {
  return std::any_of(walls().begin(), walls().end(),
                     [](Wall wall) { return wall == Wall::bubblewrap || wall == Wall::landlock; });
}

bool has(Wall wall) { return std::find(walls().begin(), walls().end(), wall) != walls().end(); }

bool can_confine_tools() {
  return keeps_files_apart() && (has(Wall::bubblewrap) || has(Wall::network_namespace));
}

std::string why_tools_are_not_confined() {
  return format("no wall on this machine keeps {}",
                keeps_files_apart() ? "its network apart" : "files apart");
}

std::string describe_walls() {
  std::vector<std::string> names, missing;
  for (Wall wall : walls()) names.emplace_back(name(wall));
  if (!keeps_files_apart()) missing.emplace_back("read your files");
  if (!has(Wall::seccomp)) missing.emplace_back("start processes");
  if (!has(Wall::seccomp) && !has(Wall::network_namespace) && !has(Wall::bubblewrap))
    missing.emplace_back("use the network");
  if (names.empty()) return "none: candidates run with all the rights of this user";
  return join(names, ", ") + (missing.empty()
                                  ? ": candidates see no files but their own, no network and no other process"
                                  : format(": but a candidate could {}", join(missing, ", ")));
}

std::vector<std::string> unbounded() {
  std::vector<std::string> out;
  const bool ipc = has(Wall::bubblewrap) || has(Wall::network_namespace) || has(Wall::seccomp);
  if (!ipc) out.emplace_back("System V shared memory that outlives it");
  if (!has(Wall::bubblewrap) && !keeps_files_apart()) out.emplace_back("files in memory (/dev/shm)");
  if (!has(Wall::control_group))
    out.emplace_back(
        "memory and threads, for some hundredths of a second past their limits: they are counted, and no "
        "control "
        "group (cgroup v2) caps them here");
  out.emplace_back("disk, for a tenth of a second past its limit");
  return out;
}

namespace {

// `program`: the absolute path of command.words[0].
Confinement confinement_of(const Command& command, const Policy& policy, const fs::path& program) {
  Confinement out{policy, walls(), clean_environment(command, policy), 0};
  out.policy.readable.push_back(program);
  // Folders on LD_LIBRARY_PATH may be read.
  for (const std::string& folder : split(out.environment["LD_LIBRARY_PATH"], ':'))
    if (!folder.empty()) out.policy.readable.emplace_back(folder);
  if (out.environment["LD_LIBRARY_PATH"].empty()) out.environment.erase("LD_LIBRARY_PATH");
  if (command.time_limit.count() > 0)
    out.processor_seconds = (command.time_limit.count() / 1000 + 1) * core_count() + 60;
  return out;
}

Result<fs::path> group_for(const Policy& policy) {
  if (!has(Wall::control_group) || (policy.group_memory <= 0 && policy.group_threads <= 0)) return fs::path();
  return make_group(place_for_groups(), {policy.group_memory, policy.group_threads});
}

}  // namespace

bool can_confine_forks() { return !has(Wall::bubblewrap); }

Result<ForkConfinement> confine_fork(const Command& command, const Policy& policy) {
  require(can_confine_forks() && !policy.own_network, "a fork is confined by walls that need no program");
  STITCH_TRY(fs::path group, group_for(policy));
  return ForkConfinement{to_text(confinement_of(command, policy, command.words.at(0))), std::move(group)};
}

Command with_clean_environment(Command command) {
  std::vector<std::string> words = {"/usr/bin/env", "-i"};
  for (const auto& [key, value] : clean_environment(command, {})) words.push_back(key + "=" + value);
  words.insert(words.end(), command.words.begin(), command.words.end());
  return Command{std::move(words), {}, command.time_limit};
}

Result<Command> confine(Command command, const Policy& policy) {
  require(!command.words.empty(), "a command has at least its program");
  const auto found = find_program(command.words[0]);
  if (!found) return user_error("program", format("no program named '{}' on this machine", command.words[0]));
  const fs::path program = with_real_parent(*found);
  if (policy.own_network && !can_confine_tools())
    return work_error("sandbox", format("{} can't be confined: {}", program.filename().string(),
                                        why_tools_are_not_confined()));
  STITCH_TRY(fs::path launcher, find_launcher());
  const Confinement confinement = confinement_of(command, policy, program);
  // The program can read its ancestors' environment through /proc, so they get none.
  std::vector<std::string> words = {"/usr/bin/env", "-i"};
  if (confinement.has(Wall::bubblewrap))
    for (std::string& word : bubblewrap_words(*find_program("bwrap"), launcher, confinement.policy))
      words.push_back(std::move(word));
  words.insert(words.end(), {launcher.string(), to_text(confinement), "--", program.string()});
  words.insert(words.end(), command.words.begin() + 1, command.words.end());
  STITCH_TRY(const fs::path group, group_for(policy));
  if (!group.empty()) {
    const std::vector<std::string> join = {launcher.string(), std::string(join_word), group.string(), "--"};
    words.insert(words.begin(), join.begin(), join.end());
  }
  return Command{std::move(words), {}, command.time_limit};
}

fs::path group_of(const Command& command) {
  return command.words.size() > 3 && command.words[1] == join_word ? fs::path(command.words[2]) : fs::path();
}

}  // namespace stitch::sandbox
