"""Every source and header of src/ includes, itself or through what of ours it includes, a header that declares each name it
uses: ours, and those of the standard library that are in the table below. Files are compiled in batches (unity.cmake) and
with precompiled headers, where a file before it may have included what one forgot: then it compiles here and not where the
batches are cut otherwise. ./dev alone asks the compiler; that takes half an hour, this a few seconds.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a compiler of its own sees: CUDA, shipped sources and candidates.
ELSEWHERE = ("program/include/", "program/templates/", "emulator/include/", "emulator/runtime/", "verify/testdata/candidates/")
TEXT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|(//[^\n]*|/\*(?:.|\n)*?\*/)')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TYPE = re.compile(r"\b(?:enum class|struct|class|enum|union|concept|using) (\w+)")
# A name after a type, or after a scope it is taken from: declared, not used.
INTRODUCED = re.compile(r"using [\w:]+::(\w+)|(\w+|[>&*\]])[&*]*\s+[&*]*(?=(\w+))|[\[,]\s*&?(\w+)\s*=[^=]")
NO_TYPE = {
    "return",
    "else",
    "throw",
    "case",
    "new",
    "delete",
    "and",
    "or",
    "not",
    "co_return",
    "const",
    "constexpr",
    "static",
    "inline",
    "virtual",
    "extern",
    "explicit",
    "mutable",
    "template",
    "typename",
}
USED = re.compile(r"(?<![\w.:>])(\w+)\s*(?=\()|(?<![\w.:>])([A-Z]\w+)\b")
MACRO_NAMES = re.compile(r"\b[A-Z][A-Z_]+\(\w+(?=,)(?:, \w+\))?")  # TEST(Suite, Case)

STANDARD = {
    header: re.compile(rf"std::(?:{names})(?![\w])")
    for header, names in {
        "algorithm": r"ranges::(?:[a-z_]+)(?=\()(?<!begin)(?<!end)(?<!size)(?<!data)(?<!empty)(?<!next)|all_of|any_of|binary_search|clamp|copy|copy_n|"
        r"count_if|equal|fill|find|find_if|generate|is_sorted|lower_bound|max_element|min_element|none_of|nth_element|partial_sort|remove_if|"
        r"replace|replace_if|reverse|rotate|shuffle|sort|stable_sort|transform|unique|upper_bound",
        "array": "array|to_array",
        "atomic": "atomic",
        "bit": "bit_cast|bit_ceil|bit_floor|bit_width|countl_zero|countr_zero|has_single_bit|popcount",
        "charconv": "from_chars|to_chars",
        "chrono": "chrono",
        "cmath": r"(?:abs|ceil|copysign|cos|erf|exp|fabs|floor|fma|fmod|frexp|hypot|isfinite|isinf|isnan|ldexp|log|log10|log2|lround|nearbyint|pow|round|"
        r"signbit|sin|sqrt|tanh|trunc)(?=\()",
        "cstring": "memcmp|memcpy|memmove|memset|strcmp|strerror|strlen",
        "deque": "deque",
        "filesystem": "filesystem",
        "functional": "function",
        "limits": "numeric_limits",
        "map": "map",
        "memory": "make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr",
        "mutex": "call_once|lock_guard|mutex|once_flag|scoped_lock|unique_lock",
        "numeric": "accumulate|gcd|inner_product|iota|lcm|midpoint|partial_sum|reduce",
        "optional": "make_optional|nullopt|optional",
        "set": "set",
        "span": "span",
        "sstream": "[io]?stringstream",
        "string": "stod|stoi|stol|stoll|string|to_string",
        "string_view": "string_view",
        "thread": "jthread|this_thread|thread",
        "tuple": "make_tuple|tie|tuple",
        "utility": "exchange|forward|move|pair|swap",
        "variant": "get_if|holds_alternative|monostate|variant|visit",
        "vector": "vector",
    }.items()
}


class File:
    def __init__(self, name, text):
        self.name = name
        self.included = re.findall(r'^[ \t]*#[ \t]*include "([^"]+)"', text, re.M)
        self.standard = set(re.findall(r"^[ \t]*#[ \t]*include <([^>]+)>", text, re.M))
        code = MACRO_NAMES.sub("", DIRECTIVE.sub("", TEXT.sub(lambda found: " " if found[2] else '""', text)))
        self.introduces = {name for taken, before, *names in INTRODUCED.findall(code) if before not in NO_TYPE for name in (taken, *names)}
        self.introduces.update(TYPE.findall(code))
        self.uses = {function or kind for function, kind in USED.findall(code)}
        self.declares = set(declared(code)) if name.endswith(".h") else set()
        self.needs = {header for header, names in STANDARD.items() if names.search(code)}


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
        for header in sorted(file.needs - {header for one in known for header in files[one].standard}):
            out.append((file.name, STANDARD[header].search(texts[file.name])[0], [f"<{header}>"]))
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
        self.assertEqual([f"src/{file} uses {name} and includes none of: {', '.join(headers)}" for file, name, headers in missing(texts, rooms)], [])

    def test_what_is_missing_is_found(self):
        rooms = rooms_of("add_room(base)\nadd_room(code WARM DEPENDS stitch_base)\nadd_room(other DEPENDS Threads::Threads)\n")
        header = "#pragma once\n#include <string>\n#include <vector>\nnamespace stitch {\nstd::string join(const std::vector<std::string>& parts);\nstruct Parts {\n  int count() const;\n};\n}\n"

        def found(text, **others):
            texts = {"base/text.h": header, "code/a.cpp": text, **{f"code/{name}.h": other for name, other in others.items()}}
            return [(file, name) for file, name, _ in missing(texts, rooms)]

        self.assertEqual(found("void f() {\n  g(join(parts));\n}\n"), [("code/a.cpp", "join")])
        self.assertEqual(found("int f(const Parts& parts);\n"), [("code/a.cpp", "Parts")])
        self.assertEqual(found("auto x = std::ranges::find(y, 3);\n"), [("code/a.cpp", "std::ranges::find")])
        self.assertEqual(found('#include "b.h"\nauto x = std::ranges::find(y, 3);\n', b="#include <algorithm>\n"), [])
        self.assertEqual(found('#include "b.h"\nauto x = join(parts);\n', b='#include "base/text.h"\n'), [])
        self.assertEqual(found('#include "b.h"\nauto x = join(parts);\n', b=""), [("code/a.cpp", "join")])
        for mine in [
            "static int join(int x);\nauto y = join(3);\n",
            "void f(const F& join) { join(3); }\n",
            "auto f = [join = 3] { return join(3); };\n",
            "thread.join();\nother::join(3);\n",
            '// join(x)\nauto x = "join(x)";\n',
            "struct Parts;\nParts* p;\n",
            "TEST(Parts, OfAll) {}\n",
            "using other::join;\nauto x = join(3);\n",
        ]:
            self.assertEqual(found(mine), [], mine)
        self.assertEqual([name for _, name, _ in missing({"base/text.h": header, "other/a.cpp": "g(join(x));\n"}, rooms)], [])


if __name__ == "__main__":
    sys.exit(unittest.main())
