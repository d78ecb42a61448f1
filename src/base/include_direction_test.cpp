// A room includes only the rooms that its add_room(… DEPENDS …) in CMakeLists.txt names, and theirs. The
// rooms are static libraries that share one include path, so the compiler alone would let any of them reach
// any other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"

namespace stitch {
namespace {

using Rooms = std::map<std::string, std::set<std::string>>;

// Folders that are not linked as their room is; none lies within another.
struct Folder {
  std::string path, reason;
  std::set<std::string> rooms;  // their own dependencies are not added
};

// Or single files.
const std::vector<Folder>& folders() {
  static const char* planner_tests =
      "the Planner with the Coder's own techniques: add_room_tests(plan ALSO …)";
  static const std::set<std::string> coder = {"code", "plan", "program", "gpu", "graph", "base"};
  static const std::vector<Folder> all = {
      {"code/loops/emulated/",
       "tests that cmake/device_tests.cmake links with the import and the oracle",
       {"code", "plan", "program", "gpu", "build", "emulator", "sandbox", "import", "passes", "oracle",
        "graph", "base"}},
      {"code/products/emulated/",
       "tests that cmake/device_tests.cmake links with the oracle",
       {"code", "plan", "program", "gpu", "build", "emulator", "sandbox", "oracle", "graph", "base"}},
      {"code/test_memory.h",
       "included by those two alone",
       {"code", "plan", "program", "gpu", "emulator", "oracle", "graph", "base"}},
      {"emulator/include/", "stands in for the CUDA toolkit's headers", {}},
      {"emulator/compile_test.cpp",
       "cmake/emulated.cmake links it with build",
       {"build", "gpu", "emulator", "sandbox", "graph", "base"}},
      {"emulator/constants_test.cpp",
       "cmake/emulated.cmake links it with build",
       {"build", "gpu", "emulator", "sandbox", "graph", "base"}},
      {"emulator/runtime/", "a library of its own, which emulated programs link", {}},
      {"plan/golden_test.cpp", planner_tests, coder},
      {"plan/planning_test.cpp", planner_tests, coder},
      {"plan/planning_convolutions_test.cpp", planner_tests, coder},
      {"plan/planning_products_test.cpp", planner_tests, coder},
      {"plan/testdata/planned.h", planner_tests, coder},
      {"plan/precision/budget_test.cpp", planner_tests, coder},
      {"plan/cost/live_memory_test.cpp", planner_tests, coder},
      {"plan/document/document_test.cpp", planner_tests, coder},
      {"plan/document/difference_test.cpp", planner_tests, coder},
      {"program/include/", "shipped with every program", {}},
      {"runner/child/",
       "a process of its own: cmake/runner.cmake links these rooms",
       {"runner", "graph", "sandbox", "base"}},
  };
  return all;
}

std::vector<std::string> words(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }, ' ');
  auto parts = split(text, ' ');
  std::erase(parts, "");
  return parts;
}

void add_reachable(const Rooms& direct, const std::string& room, std::set<std::string>& reached) {
  if (!reached.insert(room).second) return;
  auto found = direct.find(room);
  if (found == direct.end()) return;
  for (const std::string& next : found->second) add_reachable(direct, next, reached);
}

// Each room with all it may include, itself among them.
Rooms read_rooms(const std::string& cmake) {
  constexpr std::string_view call = "add_room(", prefix = "stitch_";
  Rooms direct, all;
  for (size_t at = cmake.find(call); at != std::string::npos; at = cmake.find(call, at + 1)) {
    size_t begin = at + call.size();
    auto arguments = words(cmake.substr(begin, cmake.find(')', begin) - begin));
    auto& depends = direct[arguments.at(0)];
    for (const std::string& word : arguments)
      if (word.starts_with(prefix)) depends.insert(word.substr(prefix.size()));
  }
  for (const auto& [room, depends] : direct) add_reachable(direct, room, all[room]);
  return all;
}

// The path of `#include "path"`, or nothing.
std::string quoted_include(std::string line) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return {};
  size_t open = line.find('"'), close = line.rfind('"');
  return open == close ? std::string() : line.substr(open + 1, close - open - 1);
}

// A line for each include in `text`, the file src/`path`, that its room may not have.
std::vector<std::string> violations(const Rooms& rooms, const std::string& path, const std::string& text) {
  std::string room = path.substr(0, path.find('/'));
  auto known = rooms.find(room);
  if (known == rooms.end()) return {"src/" + path + ": CMakeLists.txt has no add_room(" + room + ")"};
  const std::set<std::string>* allowed = &known->second;
  std::string rule = "add_room(" + room + " DEPENDS …) in CMakeLists.txt allows";
  for (const Folder& folder : folders())
    if (path.starts_with(folder.path)) {
      allowed = &folder.rooms;
      rule = "src/" + folder.path + " (" + folder.reason + ") may include";
    }
  std::vector<std::string> found;
  auto lines = split(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string included = quoted_include(lines[i]);
    std::string other = included.substr(0, included.find('/'));
    if (other == included || !rooms.contains(other) || allowed->contains(other)) continue;
    std::vector<std::string> names(allowed->begin(), allowed->end());
    found.push_back("src/" + path + ":" + std::to_string(i + 1) + ": includes \"" + included + "\", but " +
                    rule + " only: " + (names.empty() ? "no room" : join(names, ", ")));
  }
  return found;
}

std::string source(const std::string& path) {
  auto text = read_file(fs::path(STITCH_SOURCE_DIR) / path);
  EXPECT_TRUE(text) << path;
  return text ? *text : std::string();
}

TEST(IncludeDirection, OfEveryFile) {
  Rooms rooms = read_rooms(source("CMakeLists.txt"));
  EXPECT_GE(rooms.size(), 14u);
  fs::path root = fs::path(STITCH_SOURCE_DIR) / "src";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string path = entry.path().lexically_relative(root).string();
    std::string kind = entry.path().extension().string();
    // Programs in testdata/ are inputs, not part of their room; headers there serve the tests.
    bool input = kind != ".h" && path.find("/testdata/") != std::string::npos;
    if (input || (kind != ".h" && kind != ".cpp" && kind != ".cu" && kind != ".inc")) continue;
    ++files;
    for (const std::string& line : violations(rooms, path, source("src/" + path))) ADD_FAILURE() << line;
  }
  EXPECT_GT(files, 300);
}

TEST(IncludeDirection, ViolationsAreNamedWithFileLineAndRule) {
  Rooms rooms = read_rooms(
      "add_room(base DEPENDS Threads::Threads)\nadd_room(graph DEPENDS stitch_base)\n"
      "add_room(plan\n  DEPENDS stitch_graph)\nadd_room(emulator DEPENDS stitch_base)\n");
  EXPECT_EQ(
      violations(rooms, "plan/a.cpp", "#include \"base/text.h\"\n#include <plan/x.h>\n#include \"a.h\"\n"),
      std::vector<std::string>());
  EXPECT_EQ(
      violations(rooms, "graph/b.h", "// b\n #  include \"plan/a.h\"\n#include \"graph/c.h\"\n"),
      std::vector<std::string>{"src/graph/b.h:2: includes \"plan/a.h\", but add_room(graph DEPENDS …) in "
                               "CMakeLists.txt allows only: base, graph"});
  EXPECT_EQ(violations(rooms, "emulator/runtime/c.cpp", "#include \"base/text.h\"\n"),
            std::vector<std::string>{"src/emulator/runtime/c.cpp:1: includes \"base/text.h\", but "
                                     "src/emulator/runtime/ (a library of its own, which emulated programs "
                                     "link) may include only: no room"});
  EXPECT_EQ(violations(rooms, "attic/d.cpp", ""),
            std::vector<std::string>{"src/attic/d.cpp: CMakeLists.txt has no add_room(attic)"});
}

}  // namespace
}  // namespace stitch
