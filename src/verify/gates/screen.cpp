// What no kernel needs: processes, files, sockets, other libraries, the emulated GPU's own controls. The
// sandbox stops these at run time; here they get a name. Looked at are the symbols that the built objects
// import: no macro, alias, header or string can make them say anything else, and a comment, a member or a
// variable of such a name is none.
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/terminal/wording.h"
#include "base/text.h"
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
    Refused{"stitch_emulated_*", "controls the emulated GPU, which is the Verifier's"},
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

const Refused* refused(std::string_view function) {
  for (const Refused& one : functions)
    if (one.name.ends_with('*') ? function.starts_with(one.name.substr(0, one.name.size() - 1))
                                : function == one.name)
      return &one;
  return nullptr;
}

// The emulated GPU's runtime is C++: "_Z15cudaDeviceResetv" is cudaDeviceReset.
std::string function_of(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  const std::string_view name = status == 0 ? text.get() : std::string_view(symbol);
  return std::string(name.substr(0, name.find('(')));
}

// Where sources say this word first: for people. Empty where a macro makes it.
std::string place_of(const Package& package, std::string_view name) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const fs::path& path : package.sources) {
    const auto source = read_file(path);
    if (!source) continue;
    for (size_t at = source->find(name); at != std::string::npos; at = source->find(name, at + 1)) {
      const size_t end = at + name.size();
      if ((at > 0 && in_word((*source)[at - 1])) || (end < source->size() && in_word((*source)[end])))
        continue;
      const auto line = 1 + std::count(source->begin(), source->begin() + static_cast<ptrdiff_t>(at), '\n');
      return format("{}:{}", fs::relative(path, package.folder).string(), line);
    }
  }
  return "";
}

}  // namespace

Result<Passed> screen(Session& session, Json& evidence) {
  if (session.python) return skipped("Python candidate: low trust");
  for (const std::string& symbol : session.built.imports) {
    const std::string name = function_of(symbol);
    const Refused* why = refused(name);
    if (!why) continue;
    Error error = found("screened", format("it calls '{}', which {}", name, why->why));
    const std::string place = place_of(session.package, name);
    return place.empty() ? error : at(place, std::move(error));
  }
  evidence["imports"] = session.built.imports.size();
  return Passed{counted(std::ssize(session.built.imports), "function") + " of others, none refused"};
}

}  // namespace stitch::verifier
