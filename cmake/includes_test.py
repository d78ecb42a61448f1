"""Every source and header of src/ includes, itself or through what it includes, a header that declares each of our names it
uses. Files are compiled in batches (unity.cmake), where a file before it may have included what one forgot: then it
compiles here and not where the batches are cut otherwise. ./dev alone asks the compiler the same, and about the standard
library's headers, too; that takes half an hour, this a few seconds.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a compiler of its own sees: CUDA, shipped sources and candidates.
ELSEWHERE = ("program/include/", "program/templates/", "device/emulated/include/", "device/emulated/runtime/", "code/products/bench/", "verify/testdata/candidates/")
TEXT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|(//[^\n]*|/\*(?:.|\n)*?\*/)')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TYPE = re.compile(r"\b(?:enum class|struct|class|enum|union|concept|using) (\w+)")
# A name after a type, or after a scope it is taken from: declared, not used.
INTRODUCED = re.compile(r"using [\w:]+::(\w+)|(\w+|[>&*\]])[&*]*\s+[&*]*(?=(\w+))|[\[,]\s*&?(\w+)\s*=[^=]")
NO_TYPE = {"return", "else", "throw", "case", "new", "delete", "and", "or", "not", "co_return", "const", "constexpr", "static",
           "inline", "virtual", "extern", "explicit", "mutable", "template", "typename"}
USED = re.compile(r"(?<![\w.:>])(\w+)\s*(?=\()|(?<![\w.:>])([A-Z]\w+)\b")
MACRO_NAMES = re.compile(r"\b[A-Z][A-Z_]+\(\w+(?=,)(?:, \w+\))?")  # TEST(Suite, Case)


class File:
    def __init__(self, name, text):
        self.name = name
        self.included = re.findall(r'^[ \t]*#[ \t]*include "([^"]+)"', text, re.M)
        code = MACRO_NAMES.sub("", DIRECTIVE.sub("", TEXT.sub(lambda found: " " if found[2] else '""', text)))
        self.introduces = {name for taken, before, *names in INTRODUCED.findall(code) if before not in NO_TYPE for name in (taken, *names)}
        self.introduces.update(TYPE.findall(code))
        self.uses = {function or kind for function, kind in USED.findall(code)}
        self.declares = set(declared(code)) if name.endswith(".h") else set()


def declared(code):
    """Names at a header's file scope, which stand in lines without an indent."""
    for line in code.splitlines():
        if found := re.match(r"(?:enum class|struct|class|enum|union) (\w+)(?!.*;\s*$)|using (\w+) =", line):
            yield found[1] or found[2]
        elif not re.match(r"(using|namespace|template|friend|static_assert)\b", line):
            if found := re.match(r"[a-zA-Z][^(={;]*?[ &*>](\w+)\s*\(", line):
                yield found[1]


def rooms_of(cmake):
    """Each room with all that it may include."""
    rooms = {}
    for room, rest in re.findall(r"^add_room\((\w+)([^)]*)\)", cmake, re.M):
        rooms[room] = {room}.union(*(rooms[other] for other in re.findall(r"stitch_(\w+)", rest)))
    return rooms


def missing(texts, rooms):
    """(file, name, headers that declare it) of every name that a file uses and can't know."""
    files = {name: File(name, text) for name, text in texts.items()}
    headers = {}
    for file in files.values():
        for name in file.declares:
            headers.setdefault(name, set()).add(file.name)

    def reached(name, seen):
        if name not in seen:
            seen.add(name)
            for path in files[name].included:
                for one in (path, str(pathlib.PurePath(name).parent / path)):
                    if one in files:
                        reached(one, seen)
        return seen

    out = []
    for file in files.values():
        known = reached(file.name, set())
        for name in sorted(file.uses & headers.keys()):
            meant = sorted(header for header in headers[name] if header.split("/")[0] in rooms[file.name.split("/")[0]])
            if meant and not known & headers[name] and not any(name in files[one].introduces for one in known):
                out.append((file.name, name, meant))
    return out


def sources():
    for path in sorted((ROOT / "src").rglob("*")):
        name = path.relative_to(ROOT / "src").as_posix()
        if path.suffix in (".h", ".cpp", ".inc") and not name.startswith(ELSEWHERE) and ("/testdata/" not in name or path.suffix == ".h"):
            yield name, path.read_text(encoding="utf-8")


class Includes(unittest.TestCase):
    def test_of_every_file(self):
        texts = dict(sources())
        self.assertGreater(len(texts), 1000)
        rooms = rooms_of((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
        self.assertEqual([f"src/{file} uses {name} and includes none of: {', '.join(headers)}"
                          for file, name, headers in missing(texts, rooms)], [])

    def test_what_is_missing_is_found(self):
        rooms = rooms_of("add_room(base)\nadd_room(code WARM DEPENDS stitch_base)\nadd_room(other DEPENDS Threads::Threads)\n")
        header = "#pragma once\nnamespace stitch {\nstd::string join(const std::vector<std::string>& parts);\nstruct Parts {\n  int count() const;\n};\n}\n"

        def found(text, **others):
            texts = {"base/text.h": header, "code/a.cpp": text, **{f"code/{name}.h": other for name, other in others.items()}}
            return [(file, name) for file, name, _ in missing(texts, rooms)]

        self.assertEqual(found("void f() {\n  g(join(parts));\n}\n"), [("code/a.cpp", "join")])
        self.assertEqual(found("int f(const Parts& parts);\n"), [("code/a.cpp", "Parts")])
        self.assertEqual(found('#include "b.h"\nauto x = join(parts);\n', b='#include "base/text.h"\n'), [])
        self.assertEqual(found('#include "b.h"\nauto x = join(parts);\n', b=""), [("code/a.cpp", "join")])
        for mine in ["static std::string join(int x);\nauto y = join(3);\n", "void f(const F& join) { join(3); }\n",
                     "auto f = [join = 3] { return join(3); };\n", "thread.join();\nother::join(3);\n", '// join(x)\nauto x = "join(x)";\n',
                     "struct Parts;\nParts* p;\n", "TEST(Parts, OfAll) {}\n", "using other::join;\nauto x = join(3);\n"]:
            self.assertEqual(found(mine), [], mine)
        self.assertEqual([name for _, name, _ in missing({"base/text.h": header, "other/a.cpp": "g(join(x));\n"}, rooms)], [])


if __name__ == "__main__":
    sys.exit(unittest.main())
