// What no kernel needs: processes, files, sockets, other libraries, assembler that reads files. The sandbox
// stops these at run time too; here they get a name and a line before anything is built.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/wording.h"
#include "device/emulated/tokens.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

struct Banned {
  std::string_view word, why;
};

constexpr std::array banned = {
    Banned{"system", "starts a process"},
    Banned{"popen", "starts a process"},
    Banned{"fork", "starts a process"},
    Banned{"vfork", "starts a process"},
    Banned{"execl", "starts a process"},
    Banned{"execv", "starts a process"},
    Banned{"execve", "starts a process"},
    Banned{"posix_spawn", "starts a process"},
    Banned{"ptrace", "looks into processes"},
    Banned{"process_vm_readv", "looks into processes"},
    Banned{"process_vm_writev", "looks into processes"},
    Banned{"dlopen", "loads code that was not verified"},
    Banned{"dlsym", "looks for code that was not verified"},
    Banned{"dlmopen", "loads code that was not verified"},
    Banned{"mprotect", "changes what memory may do"},
    Banned{"socket", "opens a network connection"},
    Banned{"pthread_create", "starts a thread"},
    Banned{"syscall", "goes around the C library"},
    Banned{"LD_PRELOAD", "replaces libraries"},
    Banned{"cudaEventElapsedTime", "times: that is the Verifier's work"},
    Banned{"cudaLaunchHostFunc", "runs host code behind the caller's back"},
    Banned{"cudaStreamAddCallback", "runs host code behind the caller's back"},
    Banned{"cudaDeviceReset", "takes the device away from the caller"},
    Banned{"cuModuleLoad", "loads code that was not verified"},
    Banned{"cuModuleLoadData", "loads code that was not verified"},
    Banned{"cudaIpcOpenMemHandle", "reads another process's memory"},
    Banned{"cuIpcOpenMemHandle", "reads another process's memory"},
};

constexpr std::array forbidden_headers = {
    Banned{"torch/", "PyTorch does the work"},
    Banned{"ATen/", "PyTorch does the work"},
    Banned{"c10/", "PyTorch does the work"},
    Banned{"thread", "starts threads"},
    Banned{"future", "starts threads"},
    Banned{"pthread.h", "starts threads"},
    Banned{"dlfcn.h", "loads code that was not verified"},
    Banned{"sys/socket.h", "opens network connections"},
    Banned{"sys/ptrace.h", "looks into processes"},
    Banned{"spawn.h", "starts processes"},
};

bool standard_thread(std::span<const emulated::Token> tokens, size_t at, std::string_view source) {
  auto text = [&](size_t i) { return source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin); };
  return at >= 3 && text(at - 3) == "std" &&
         (text(at) == "thread" || text(at) == "jthread" || text(at) == "async");
}

Result<void> screen_words(const std::string& file, std::string_view source) {
  std::vector<emulated::Token> tokens = emulated::tokenize(source);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string_view word = source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
    if (tokens[i].kind == emulated::Token::word) {
      for (const Banned& ban : banned)
        if (word == ban.word)
          return at(format("{}:{}", file, tokens[i].line),
                    found("screened", format("'{}' {}", word, ban.why)));
      if (standard_thread(tokens, i, source))
        return at(format("{}:{}", file, tokens[i].line),
                  found("screened", format("'std::{}' starts a thread", word)));
    }
    if (tokens[i].kind == emulated::Token::string && word.find(".incbin") != std::string_view::npos)
      return at(format("{}:{}", file, tokens[i].line),
                found("screened", "'.incbin' reads a file into the program"));
  }
  return {};
}

bool inside(const fs::path& folder, const fs::path& path) {
  fs::path relative = path.lexically_normal().lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

Result<void> screen_includes(const fs::path& folder, const std::string& file, std::string_view source) {
  size_t line = 1;
  for (size_t begin = 0; begin < source.size(); ++line) {
    size_t end = std::min(source.find('\n', begin), source.size());
    std::string_view text = source.substr(begin, end - begin);
    begin = end + 1;
    size_t hash = text.find_first_not_of(" \t");
    if (hash == std::string_view::npos || text[hash] != '#') continue;
    size_t word = text.find_first_not_of(" \t", hash + 1);
    if (word == std::string_view::npos || !text.substr(word).starts_with("include")) continue;
    size_t open = text.find_first_of("<\"", word);
    if (open == std::string_view::npos) continue;
    std::string_view header = text.substr(open + 1, text.find_first_of(">\"", open + 1) - open - 1);
    if (header.starts_with('/') || !inside(folder, (folder / file).parent_path() / header))
      return at(format("{}:{}", file, line),
                found("screened", format("#include \"{}\" reaches outside the program", header)));
    for (const Banned& ban : forbidden_headers)
      if (header == ban.word || (ban.word.ends_with('/') && header.starts_with(ban.word)))
        return at(format("{}:{}", file, line),
                  found("screened", format("#include <{}>: {}", header, ban.why)));
  }
  return {};
}

}  // namespace

Result<void> screen_sources(const Package& package, Json& evidence) {
  for (const fs::path& path : package.sources) {
    STITCH_TRY(std::string source, read_file(path));
    std::string file = fs::relative(path, package.folder).string();
    STITCH_CHECK(screen_words(file, source));
    STITCH_CHECK(screen_includes(package.folder, file, source));
    evidence["files"].push_back(file);
  }
  return {};
}

Result<Passed> screen(Session& session, Json& evidence) {
  if (session.python) return skipped("Python candidate: low trust");
  STITCH_TRY(session.package, load_package(session.options.program));
  STITCH_CHECK(screen_sources(session.package, evidence));
  return Passed{counted(std::ssize(session.package.sources), "file")};
}

}  // namespace stitch::verifier
