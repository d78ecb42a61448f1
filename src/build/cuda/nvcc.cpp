// Compiles programs for a real GPU with nvcc.
#include <sys/stat.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "base/digest/sha256.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "build/build_inputs.h"
#include "build/toolchain.h"
#include "gpu/architecture.h"

namespace stitch::build {

namespace {

constexpr std::string_view known_libraries[] = {"cublas", "cublasLt", "cudnn"};

// .../cuda/bin/nvcc, links resolved, is in .../cuda.
fs::path toolkit_of(const fs::path& nvcc) {
  std::error_code ignored;
  return fs::weakly_canonical(nvcc, ignored).parent_path().parent_path();
}

// Of content or name: unlike the time of the last write it can't be set.
std::pair<time_t, long> changed_at(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};
  return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

// The assembler's input and nvcc's intermediate files.
bool is_of_nvcc(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.extension() == ".s" || name.find(".cudafe1.") != name.npos || name.starts_with("tmpxft_");
}

class NvccToolchain final : public Toolchain {
 public:
  static Result<std::unique_ptr<Toolchain>> create(const BuildRequest& request) {
    auto out = std::make_unique<NvccToolchain>();
    STITCH_TRY(out->nvcc_, find_nvcc());
    STITCH_CHECK(parse_architecture(request.architecture));
    if (!request.needs.empty()) STITCH_CHECK(check_architecture(request.needs, request.architecture));
    if (request.address_sanitizer)
      return user_error("sanitizer",
                        "AddressSanitizer is for the emulated GPU; use compute-sanitizer on a real one");
    const std::string number = request.architecture.substr(3);
    out->flags_ = {"-std=c++17",
                   // Host code only; kernels are optimised either way. -O3 takes half as long again.
                   request.optimise ? "-O1" : "-O0",
                   format("-gencode=arch=compute_{},code=sm_{}", number, number), "-Xptxas=-v",
                   "-Xcompiler=-fPIC,-fvisibility=hidden"};
    if (request.line_info) out->flags_.emplace_back("-lineinfo");
    out->flags_.emplace_back(request.device_only ? "-cubin" : "-c");
    out->device_only_ = request.device_only;
    for (const std::string& library : request.libraries) {
      STITCH_TRY(fs::path file, out->find_library(library));
      out->libraries_.push_back(file);
    }
    std::optional<fs::path> host = find_program("g++");
    if (!host) return work_error("no_compiler", "nvcc needs g++, which is not on the PATH", "install g++");
    STITCH_TRY(std::string host_version, version_of(*host));
    Sha256 sum;
    for (const std::string& part : {std::string("cuda/1"), out->nvcc_.version, host_version})
      sum.add_field(part);
    for (const std::string& flag : out->flags_) sum.add_field(flag);
    for (const fs::path& library : out->libraries_) sum.add_field(library.string());
    out->identity_ = sum.hex();
    for (const fs::path& folder : request.include_dirs) out->flags_.push_back("-I" + folder.string());
    return Result<std::unique_ptr<Toolchain>>(std::move(out));
  }

  std::string identity() const override { return identity_; }

  Result<Compiled> compile(const fs::path& source, const fs::path& object, const Work& work) const override {
    std::vector<std::string> words = {nvcc_.path.string()};
    words.insert(words.end(), flags_.begin(), flags_.end());
    // .cpp too: host code includes cuda_runtime.h.
    words.insert(words.end(), {"-x", "cu", source.string(), "-o", object.string()});
    // Dependencies of the host and device preprocessors, and of the assembler (.incbin).
    const std::string rule = object.string() + ".read", assembled = object.string() + ".assembled";
    words.insert(words.end(), {"-MD", "-MF", rule, format("-Xcompiler=\"-Wa,--MD,{}\"", assembled)});
    Compiled out;
    // nvcc reads files itself: what they hold now is what it read if they have not changed since.
    STITCH_CHECK(write_file(rule, ""));
    const auto begin = changed_at(rule);
    STITCH_TRY(out.notes, run(std::move(words), work));
    for (const std::string& file : {rule, assembled}) {
      if (file == assembled && device_only_) continue;
      STITCH_TRY(std::string text, read_file(file));
      for (const std::string& read : files_in_rule(text)) {
        if (is_of_nvcc(read)) continue;
        if (file == assembled && !was_compiled(read, out.read))
          return user_error("build_failed", read + ": read by the assembler, which needs no files");
        out.read.emplace(read, "");
      }
    }
    for (const auto& [path, hash] : out.read)
      if (changed_at(path) > begin)
        return at(path.string(), user_error("build_failed", "changed while it was compiled"));
    return out;
  }

  Result<void> link(const std::vector<fs::path>& objects, const fs::path& library,
                    const Work& work) const override {
    std::vector<std::string> words = {nvcc_.path.string(), "-shared", "-Xlinker",
                                      "--no-undefined",    "-o",      library.string()};
    for (const fs::path& object : objects) words.push_back(object.string());
    words.insert(words.end(), {"-Xlinker", "--as-needed"});  // a header alone needs no library
    std::set<fs::path> folders;
    for (const fs::path& file : libraries_) {
      words.push_back(file.string());
      folders.insert(file.parent_path());
    }
    for (const fs::path& folder : folders)
      words.insert(words.end(), {"-Xlinker", "-rpath," + folder.string()});
    auto said = run(std::move(words), work);
    if (!said) return std::move(said).error();
    return {};
  }

 private:
  Result<std::string> run(std::vector<std::string> words, const Work& work) const {
    STITCH_TRY(CompilerRun run,
               run_compiler(std::move(words), work,
                            {toolkit_of(nvcc_.path), nvcc_.path.parent_path().parent_path()}));
    if (run.exit_code != 0) return build_failure(run.output, work.scratch.string(), run.exit_code);
    return run.output;
  }

  // Also finds libcudnn.so.9 without the plain name that -l needs.
  Result<fs::path> find_library(const std::string& name) const {
    bool known = false;
    for (std::string_view one : known_libraries) known |= one == name;
    if (!known)
      return user_error("library", format("a program may link cublasLt, cublas and cudnn, not '{}'", name));
    std::vector<fs::path> folders = {toolkit_of(nvcc_.path) / "lib64", toolkit_of(nvcc_.path) / "lib"};
    if (const char* place = std::getenv("CUDNN_PATH")) folders.emplace_back(fs::path(place) / "lib");
#if defined(__aarch64__)
    folders.emplace_back("/usr/lib/aarch64-linux-gnu");
#else
    folders.emplace_back("/usr/lib/x86_64-linux-gnu");
    folders.emplace_back("/usr/lib64");
#endif
    std::error_code ignored;
    std::set<fs::path> versions;
    for (const fs::path& folder : folders) {
      const std::string plain = format("lib{}.so", name);
      if (fs::exists(folder / plain, ignored)) return folder / plain;
      for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (entry.path().filename().string().starts_with(plain + ".")) versions.insert(entry.path());
    }
    if (!versions.empty()) return *versions.begin();
    return work_error("no_library",
                      format("the program needs lib{}, which is not installed beside CUDA", name),
                      "install it, or set CUDNN_PATH");
  }

  Nvcc nvcc_;
  std::vector<std::string> flags_;
  bool device_only_ = false;
  std::vector<fs::path> libraries_;
  std::string identity_;
};

}  // namespace

Result<Nvcc> find_nvcc() {
  std::vector<fs::path> places;
  if (const char* told = std::getenv("STITCHCUDA_NVCC")) places.emplace_back(told);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(name)) places.push_back(fs::path(folder) / "bin/nvcc");
  if (auto found = find_program("nvcc")) places.push_back(*found);
  places.emplace_back("/usr/local/cuda/bin/nvcc");
  for (const fs::path& place : places) {
    if (!find_program(place.string())) continue;
    STITCH_TRY(std::string text, version_of(place));
    // … release 13.0, V13.0.88
    const size_t at = text.find(", V");
    return Nvcc{place, at == text.npos ? trim(text) : text.substr(at + 3, text.find('\n', at) - at - 3)};
  }
  return work_error("no_nvcc", "nvcc was not found, so nothing can be built for a GPU",
                    "install the CUDA toolkit, or set CUDA_HOME; the emulated GPU doesn't need it");
}

Result<std::unique_ptr<Toolchain>> cuda_toolchain(const BuildRequest& request) {
  return NvccToolchain::create(request);
}

}  // namespace stitch::build
