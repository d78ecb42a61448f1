// What no kernel needs: processes, files, sockets, other libraries, assembler that reads files. The sandbox
// stops these at run time; here they get a name and a line. A lexer sees calls before anything is built, the
// objects' symbols what macros and headers made of them.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "base/terminal/wording.h"
#include "emulator/tokens.h"
#include "verify/gates/gates.h"

namespace stitch::verifier {

namespace {

struct Refused {
  std::string_view name, why;
};

// Functions, as the linker knows them; a '*' ends those that come in several forms.
constexpr std::array functions = {
    Refused{"system", "starts a process"},
    Refused{"popen", "starts a process"},
    Refused{"fork", "starts a process"},
    Refused{"vfork", "starts a process"},
    Refused{"_Fork", "starts a process"},
    Refused{"clone", "starts a process"},
    Refused{"daemon", "leaves a process behind"},
    Refused{"execl", "starts a program"},
    Refused{"execle", "starts a program"},
    Refused{"execlp", "starts a program"},
    Refused{"execv", "starts a program"},
    Refused{"execve", "starts a program"},
    Refused{"execvp", "starts a program"},
    Refused{"execvpe", "starts a program"},
    Refused{"fexecve", "starts a program"},
    Refused{"posix_spawn*", "starts a process"},
    Refused{"ptrace", "looks into processes"},
    Refused{"process_vm_*", "looks into processes"},
    Refused{"dlopen", "loads code that was not verified"},
    Refused{"dlmopen", "loads code that was not verified"},
    Refused{"dlsym", "looks for code that was not verified"},
    Refused{"dlvsym", "looks for code that was not verified"},
    Refused{"mprotect", "changes what memory may do"},
    Refused{"socket", "opens a network connection"},
    Refused{"syscall", "goes around the C library"},
    Refused{"cudaEventElapsedTime*", "times: that is the Verifier's work"},
    Refused{"cudaLaunchHostFunc*", "runs host code behind the caller's back"},
    Refused{"cudaStreamAddCallback*", "runs host code behind the caller's back"},
    Refused{"cudaGraphAddHostNode*", "runs host code behind the caller's back"},
    Refused{"cuLaunchHostFunc*", "runs host code behind the caller's back"},
    Refused{"cuStreamAddCallback*", "runs host code behind the caller's back"},
    Refused{"cuGraphAddHostNode*", "runs host code behind the caller's back"},
    Refused{"cudaDeviceReset", "takes the device away from the caller"},
    Refused{"cuModuleLoad*", "loads code that was not verified"},
    Refused{"cuLibraryLoad*", "loads code that was not verified"},
    Refused{"cudaIpcOpenMemHandle", "reads another process's memory"},
    Refused{"cuIpcOpenMemHandle*", "reads another process's memory"},
};

constexpr std::array forbidden_headers = {
    Refused{"torch/", "PyTorch does the work"},
    Refused{"ATen/", "PyTorch does the work"},
    Refused{"c10/", "PyTorch does the work"},
};

const Refused* refused(std::string_view function) {
  for (const Refused& one : functions)
    if (one.name.ends_with('*') ? function.starts_with(one.name.substr(0, one.name.size() - 1))
                                : function == one.name)
      return &one;
  return nullptr;
}

// Calls by name. A variable, a member, a macro or a function of the program's own may be called what it
// likes: a source that declares the function itself is found by its object's symbols.
class Calls {
 public:
  Calls(std::string file, std::string_view source)
      : file_(std::move(file)), source_(source), tokens_(emulated::tokenize(source)) {}

  Result<void> screen() const {
    std::set<std::string_view> own;
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (is_defined(i) || is_declared(i)) own.insert(text(i));
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == emulated::Token::string)
        if (const char* reads = reads_a_file(i))
          return at(where(i), found("screened", format("'{}' reads a file into the program", reads)));
      if (tokens_[i].kind != emulated::Token::word || text(i + 1) != "(" || is_of_object(i)) continue;
      if (const Refused* why = refused(text(i)); why && !own.contains(text(i)))
        return at(where(i), found("screened", format("'{}' {}", text(i), why->why)));
    }
    return {};
  }

 private:
  // The assembler's own directives, in a literal and those right behind it, which the compiler puts together.
  const char* reads_a_file(size_t i) const {
    std::string whole;
    // Within a macro lines end with a backslash.
    for (; i < tokens_.size() && (tokens_[i].kind == emulated::Token::string || text(i) == "\\"); ++i) {
      const std::string_view literal = text(i);
      const size_t open = literal.find('"'), close = literal.rfind('"');
      if (close > open) whole += literal.substr(open + 1, close - open - 1);
    }
    for (const char* directive : {".incbin", ".include"})
      if (whole.find(directive) != std::string::npos) return directive;
    return nullptr;
  }
  std::string_view text(size_t i) const {
    return i < tokens_.size() ? source_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin) : "";
  }
  std::string where(size_t i) const { return format("{}:{}", file_, tokens_[i].line); }
  // a.fork(), a->fork(), Join::fork(); not ::fork().
  bool is_of_object(size_t i) const {
    if (i == 0) return false;
    if (text(i - 1) == "." || (i >= 2 && text(i - 1) == ">" && text(i - 2) == "-")) return true;
    return i >= 3 && text(i - 1) == ":" && text(i - 2) == ":" && tokens_[i - 3].kind == emulated::Token::word;
  }
  // "void fork(int n) {", "Event& fork() {": a definition. "return fork()" is none, nor is a declaration
  // alone.
  bool is_defined(size_t i) const {
    if (i == 0 || text(i + 1) != "(" || tokens_[i].kind != emulated::Token::word) return false;
    size_t end = i + 1;
    for (int depth = 0; end < tokens_.size(); ++end) {
      depth += text(end) == "(" ? 1 : text(end) == ")" ? -1 : 0;
      if (depth == 0) break;
    }
    if (text(end + 1) != "{") return false;
    if (text(i - 1) == "*" || text(i - 1) == "&")
      return i >= 2 && tokens_[i - 2].kind == emulated::Token::word && is_after_type(i - 2);
    return tokens_[i - 1].kind == emulated::Token::word && is_after_type(i - 1);
  }
  // "Tile fork(3)", "auto fork =", "Body fork)", "#define fork", "int (*fork)(int)".
  bool is_declared(size_t i) const {
    if (i < 2 || tokens_[i].kind != emulated::Token::word) return false;
    const size_t line = source_.rfind('\n', tokens_[i].begin) + 1;
    if (trim(source_.substr(line, tokens_[i].begin - line)).ends_with("define")) return true;
    if (tokens_[i - 1].kind == emulated::Token::word) return is_after_type(i - 1);
    return text(i - 2) == "(" && text(i - 1) == "*" && text(i + 1) == ")";
  }
  bool is_after_type(size_t i) const {
    constexpr std::array<std::string_view, 9> not_types = {"return", "else",      "do",       "case", "goto",
                                                           "throw",  "co_return", "co_await", "new"};
    return std::ranges::find(not_types, text(i)) == not_types.end();
  }

  std::string file_;
  std::string_view source_;
  std::vector<emulated::Token> tokens_;
};

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
    for (const Refused& one : forbidden_headers)
      if (header.starts_with(one.name))
        return at(format("{}:{}", file, line),
                  found("screened", format("#include <{}>: {}", header, one.why)));
  }
  return {};
}

}  // namespace

Result<void> screen_imports(const std::set<std::string>& imports) {
  for (const std::string& name : imports)
    if (const Refused* why = refused(name))
      return found("screened", format("its objects call '{}', which {}", name, why->why));
  return {};
}

Result<void> screen_sources(const Package& package, Json& evidence) {
  for (const fs::path& path : package.sources) {
    STITCH_TRY(std::string source, read_file(path));
    std::string file = fs::relative(path, package.folder).string();
    STITCH_CHECK(Calls(file, source).screen());
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
