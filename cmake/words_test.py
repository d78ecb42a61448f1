"""Comments (and Python's docstrings) don't speak of anonymous people: a process, caller, thread or program has a name in this field."""

import ast
import io
import pathlib
import re
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = re.compile(r"\b(nobody|somebody|whoever|anybody|everybody|those who|has a say)\b", re.I)
C_STYLE = (".c", ".cpp", ".cu", ".cuh", ".h", ".inc")
TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|(?P<comment>(?://[^\n]*\s*)+|/\*.*?\*/)', re.S)


def comments(path, text):
    if path.endswith(C_STYLE):
        yield from (found["comment"].replace("//", "") for found in TOKEN.finditer(text) if found["comment"])
    elif path.endswith((".cmake", "CMakeLists.txt", ".sh", "/templates/model_new.py")):  # a template is no Python yet
        yield from re.findall(r"(?:^|\s)#[^\n]*", text)
    elif path.endswith(".py"):
        yield from (token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT)
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
        yield from filter(None, map(ast.get_docstring, nodes))


class Words(unittest.TestCase):
    def test_comments_name_what_they_speak_of(self):
        files = {
            str(path.relative_to(ROOT)): path for folder in ("cmake", "examples", "python", "src", "tools") for path in (ROOT / folder).rglob("*.*")
        }
        found = [
            f"{name}: {said[:160]}"
            for name, path in {**files, "CMakeLists.txt": ROOT / "CMakeLists.txt"}.items()
            if name.endswith((*C_STYLE, ".cmake", ".sh", ".txt", ".py")) and "testdata/" not in name
            for comment in comments(name, path.read_text(encoding="utf-8", errors="replace"))
            if WORDS.search(said := " ".join(comment.split()))
        ]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_strings_and_identifiers_are_no_comments(self):
        source = 'auto nobody = "whoever // somebody"; // those\n// who\nchar c = \'"\'; /* everybody */'
        self.assertEqual([" ".join(comment.split()) for comment in comments("a.cpp", source)], ["those who", "/* everybody */"])


if __name__ == "__main__":
    unittest.main()
