#include "build/compile_emulated/compile.h"

#include <cstdlib>
#include <map>
#include <optional>

#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "build/build_inputs.h"
#include "emulator/rewrite.h"

namespace stitch::emulated {

namespace {

// Editors write it at the start of a file, and compilers accept it only there.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// The rewritten files, below a scratch folder at the same relative paths, so that relative includes work.
class Mirror {
 public:
  Mirror(fs::path root, const std::vector<fs::path>& include_dirs) : root_(std::move(root)) {
    for (const fs::path& folder : include_dirs)
      include_dirs_.push_back(fs::absolute(folder).lexically_normal());
  }

  fs::path place(const fs::path& file) const {
    return root_ / fs::absolute(file).lexically_normal().relative_path();
  }

  // `shown`: the name in messages.
  Result<fs::path> add(const fs::path& file, const std::string& shown) {
    const fs::path from = fs::absolute(file).lexically_normal();
    const fs::path to = place(from);
    if (done_.contains(from)) return to;
    STITCH_TRY(std::string source, read_file(from));
    done_[from] = sha256(source);
    if (source.starts_with(byte_order_mark)) source.erase(0, byte_order_mark.size());
    STITCH_TRY(std::string rewritten, rewrite_launches(source, shown));
    std::error_code failed;
    fs::create_directories(to.parent_path(), failed);
    if (failed)
      return work_error("write",
                        "cannot make the folder " + to.parent_path().string() + ": " + failed.message());
    STITCH_CHECK(write_file(to, "#line 1 " + quote(shown) + "\n" + rewritten));
    for (const std::string& name : included(source)) {
      if (std::optional<fs::path> found = find(name, from.parent_path())) {
        auto header = add(*found, found->string());
        if (!header) return std::move(header).error();
      }
    }
    return to;
  }
  const std::vector<fs::path>& include_dirs() const { return include_dirs_; }
  // With the hashes of what is compiled in their place.
  const std::map<fs::path, std::string>& read() const { return done_; }
  // The original of a file that the compiler read.
  fs::path original(const fs::path& file) const {
    const fs::path below = file.lexically_normal().lexically_relative(root_);
    return below.empty() || *below.begin() == ".." ? file : "/" / below;
  }

 private:
  // The names in #include lines, of both forms.
  static std::vector<std::string> included(std::string_view source) {
    std::vector<std::string> out;
    for (const std::string& line : split(source, '\n')) {
      std::string_view rest = line;
      auto skip = [&] {
        while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
      };
      skip();
      if (!rest.starts_with('#')) continue;
      rest.remove_prefix(1);
      skip();
      if (!rest.starts_with("include")) continue;
      rest.remove_prefix(7);
      skip();
      if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) continue;
      const size_t end = rest.find(rest[0] == '"' ? '"' : '>', 1);
      if (end != std::string_view::npos) out.emplace_back(rest.substr(1, end - 1));
    }
    return out;
  }
  std::optional<fs::path> find(const std::string& name, const fs::path& beside) const {
    std::error_code ignored;
    if (fs::is_regular_file(beside / name, ignored)) return (beside / name).lexically_normal();
    for (const fs::path& folder : include_dirs_)
      if (fs::is_regular_file(folder / name, ignored)) return (folder / name).lexically_normal();
    return std::nullopt;
  }

  fs::path root_;
  std::vector<fs::path> include_dirs_;
  std::map<fs::path, std::string> done_;
};

// Compiler output without our macros and the scratch folder.
std::string readable(const std::string& diagnostics, const std::string& scratch) {
  std::string out;
  size_t kept = 0;
  for (std::string line : split(diagnostics, '\n')) {
    if (line.find("expansion of macro 'STITCH_") != std::string::npos ||
        line.find("expansion of macro ‘STITCH_") != std::string::npos ||
        line.find("expanded from macro 'STITCH_") != std::string::npos ||
        line.find("definition of macro") != std::string::npos)
      continue;
    for (size_t at; (at = line.find(scratch)) != std::string::npos;) line.erase(at, scratch.size());
    if (trim(line).empty()) continue;
    if (++kept > 80) return out + "…";
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

std::string default_compiler() {
  for (const char* name : {"g++", "clang++"})
    if (find_program(name)) return name;
  return "";
}

}  // namespace

Result<Installation> find_installation() {
  std::vector<Installation> places;
  if (const char* folder = std::getenv("STITCHCUDA_EMULATED"))
    places.push_back({fs::path(folder) / "include", fs::path(folder) / "libstitch_emulated_runtime.so"});
  // Installed: below bin/, or below libexec/stitchcuda/ for the compiler process.
  const fs::path above = executable_folder().parent_path();
  for (const fs::path& prefix : {above, above.parent_path()})
    places.push_back(
        {prefix / "share/stitchcuda/emulated/include", prefix / "lib/libstitch_emulated_runtime.so"});
#if defined(STITCH_EMULATED_HEADERS) && defined(STITCH_EMULATED_RUNTIME)
  places.push_back({STITCH_EMULATED_HEADERS, STITCH_EMULATED_RUNTIME});
#endif
  std::error_code ignored;
  for (const Installation& place : places)
    if (fs::exists(place.headers / "cuda_runtime.h", ignored) && fs::exists(place.runtime, ignored))
      return place;
  return work_error(
      "emulated-missing",
      "the emulated GPU's headers and runtime library are not where they should be: " +
          places.front().headers.string() + ", " + places.front().runtime.string(),
      "set STITCHCUDA_EMULATED to the folder that holds include/ and libstitch_emulated_runtime.so");
}

Result<fs::path> compile_emulated(const std::vector<fs::path>& sources, const fs::path& out,
                                  const CompileOptions& options) {
  if (sources.empty() && options.objects.empty())
    return user_error("no-sources", "a program needs at least one source file");
  STITCH_TRY(Installation installation, find_installation());
  const std::string compiler = options.compiler.empty() ? default_compiler() : options.compiler;
  if (compiler.empty() || !find_program(compiler))
    return work_error("no-compiler",
                      compiler.empty() ? "no C++ compiler (g++, clang++) is on the PATH"
                                       : "the C++ compiler " + compiler + " is not on the PATH",
                      "install g++");
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-emulated"));
  Mirror mirror(scratch.path(), options.include_dirs);
  // C++17 as for nvcc (cuda/nvcc.cpp); C++20's headers also take a small region twice as long.
  std::vector<std::string> words = {compiler, "-std=c++17", "-g1",
                                    // CUDA programs read floats as float4 and the like.
                                    // A GPU's registers hold anything: a sum without a beginning is to show.
                                    "-fno-strict-aliasing", "-ftrivial-auto-var-init=pattern", "-w",
                                    "-fdiagnostics-color=never", "-fPIC", "-DSTITCH_EMULATED=1", "-include",
                                    "cuda_runtime.h"};
  // Compiling takes longer than running the result: -O2 costs a third more than -O1 and gains a tenth. Fused
  // multiply-adds, which nvcc uses, are among the "expensive" optimisations.
  if (options.optimise)
    words.insert(words.end(), {"-O1", "-fexpensive-optimizations"});
  else
    words.emplace_back("-O0");
  if (!options.executable) words.push_back("-shared");
  // Two programs in one process must not share static members of common templates.
  if (compiler.find("clang") == std::string::npos)
    words.insert(words.end(), {"-fno-gnu-unique", "-fmax-errors=20"});
#if defined(__x86_64__)
  words.insert(words.end(), {"-march=native", "-ffp-contract=fast"});  // fused multiply-add, as nvcc does
#endif
  if (options.asan) words.insert(words.end(), {"-fsanitize=address", "-fno-omit-frame-pointer"});
  for (const fs::path& folder : mirror.include_dirs()) words.push_back("-I" + mirror.place(folder).string());
  for (const fs::path& source : sources) {
    const std::string folder = fs::absolute(source).lexically_normal().parent_path().string();
    words.insert(words.end(), {"-iquote", folder});
  }
  for (const fs::path& folder : mirror.include_dirs()) words.push_back("-I" + folder.string());
  words.push_back("-I" + installation.headers.string());
  words.insert(words.end(), options.extra_flags.begin(), options.extra_flags.end());
  if (!sources.empty()) words.insert(words.end(), {"-x", "c++"});
  for (const fs::path& source : sources) {
    STITCH_TRY(fs::path rewritten, mirror.add(source, source.string()));
    words.push_back(rewritten.string());
  }
  const fs::path draft = scratch.path() / "program";
  words.insert(words.end(), {"-x", "none"});
  for (const fs::path& object : options.objects) words.push_back(object.string());
  words.insert(words.end(), {installation.runtime.string(),
                             "-Wl,-rpath," + fs::absolute(installation.runtime).parent_path().string(), "-o",
                             draft.string()});
  const fs::path rule = scratch.path() / "read.d", assembled = scratch.path() / "assembled.d";
  const bool has_assembler = compiler.find("clang") == std::string::npos;  // clang is its own
  if (!options.read_list.empty()) {
    words.insert(words.end(), {"-MD", "-MF", rule.string()});
    if (has_assembler) words.push_back("-Wa,--MD," + assembled.string());
  }
  // Report undefined functions at link time, not at load. (AddressSanitizer's are undefined.)
  if (!options.asan && !options.executable) words.push_back("-Wl,-z,defs");
  Command command{words, {{"LC_ALL", "C.UTF-8"}}, options.time_limit};
  STITCH_TRY(Finished finished, run(command));
  if (finished.timed_out)
    return work_error(
        error_code::compile_timeout,
        "compiling took longer than " + std::to_string(options.time_limit.count() / 1000) + " s");
  if (finished.exit_code != 0)
    return user_error(error_code::compile, "the program does not compile for the emulated GPU:\n" +
                                               readable(finished.error_tail, scratch.path().string()));
  if (!options.read_list.empty()) {
    build::FilesRead read = mirror.read();
    for (const fs::path& file : {rule, assembled}) {
      if (file == assembled && !has_assembler) continue;
      STITCH_TRY(std::string text, read_file(file));
      for (const std::string& path : build::files_in_rule(text)) {
        if (fs::path(path).extension() == ".s") continue;
        if (file == assembled && !build::was_compiled(path, read))
          return user_error(error_code::compile, "the program does not compile for the emulated GPU:\n" +
                                                     path + ": read by the assembler, which needs no files");
        read.try_emplace(mirror.original(path));
      }
    }
    std::string list;
    for (const auto& [path, hash] : read) list += hash + ' ' + path.string() + '\n';
    STITCH_CHECK(write_file(options.read_list, list));
  }
  std::error_code failed;
  fs::create_directories(fs::absolute(out).parent_path(), failed);
  // Written next to its final path and renamed: visible whole or not at all.
  const fs::path beside = out.string() + ".draft";
  fs::copy_file(draft, beside, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::rename(beside, out, failed);
  if (failed) return work_error("write", "cannot write " + out.string() + ": " + failed.message());
  return out;
}

}  // namespace stitch::emulated
