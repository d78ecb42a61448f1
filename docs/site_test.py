"""The documentation can be made into a site, its links hold, and a link that doesn't is found."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
ROOT = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("stitchcuda_site", ROOT / "docs/site.py")
stitchcuda_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stitchcuda_site)


def made_of(text, **others):
    """A site of README.md with this text; its broken links and its page."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        for name in ("site.css", "site.js"):
            (root / "docs" / name).write_text("")
        (root / "README.md").write_text(text)
        for name, other in others.items():
            (root / "docs" / f"{name}.md").write_text(other)
        site = stitchcuda_site.Site(root)
        site.write(root / "out")
        page = root / "out/index.html"
        return site.broken, page.read_text() if page.exists() else ""


class Documentation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.site = cls.folder / "site"
        cls.made = subprocess.run([sys.executable, ROOT / "docs/site.py", cls.site], capture_output=True, text=True, check=False)

    def test_every_link_of_ours_holds(self):
        self.assertEqual(self.made.returncode, 0, self.made.stdout + self.made.stderr)
        # Once more by the files that were written, whoever made the links.
        there = {str(one) for one in self.site.rglob("*")}
        for page in self.site.rglob("*.html"):
            for link in set(re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8"))):
                self.assertIn(os.path.normpath(page.parent / link), there, page)

    def test_pictures_stay_pictures(self):
        page = (self.site / "docs/quickstart.html").read_text(encoding="utf-8")
        (picture,) = re.findall(r'<img [^>]*src="([^"]+)"', page)
        self.assertTrue((self.site / "docs" / picture).read_bytes().startswith(b"\x89PNG"))
        self.assertTrue(picture.endswith(".png"))

    def test_the_search_index_leads_to_sections_that_are_there(self):
        text = (self.site / "search.js").read_text(encoding="utf-8")
        index = json.loads(text.removeprefix("window.stitchcudaSearch = ").removesuffix(";\n"))
        self.assertGreater(len(index), 300)
        pages = {}
        for section in index:
            path, name = section["at"].split("#")
            page = pages.setdefault(path, (self.site / path).read_text(encoding="utf-8"))
            self.assertIn(f'id="{name}"', page)
        (found,) = [one for one in index if one["heading"] == "Operators that are refused"]
        self.assertIn("stitchcuda import model.py", found["text"])

    @unittest.skipUnless(CHROMIUM, "SKIPPED: no Chromium")
    def test_the_search_box_finds_a_note(self):
        flags = f"--headless --no-sandbox --disable-gpu --user-data-dir={self.folder}/profile --virtual-time-budget=5000 --dump-dom".split()
        address = f"{(self.site / 'docs/results.html').as_uri()}?search=bank+conflicts"
        page = subprocess.run([CHROMIUM, *flags, address], capture_output=True, text=True, check=True, timeout=120).stdout
        self.assertRegex(page, r'<div id="found"><a href="\.\./notes/shared-memory\.html#[\w-]+"><b>[\w ]+: Shared memory bank conflicts')

    def test_a_link_that_leads_nowhere_is_found(self):
        broken, page = made_of("# A\n[b](docs/b.md) [c](docs/c.md#d) [e](#f) [g](../../etc/passwd)\n", c="# C\n")
        self.assertEqual(
            broken,
            [
                "README.md: there is no docs/b.md",
                "README.md: docs/c.md has no heading #d",
                "README.md: README.md has no heading #f",
                "README.md: there is no ../../etc/passwd",
            ],
        )
        self.assertEqual(page, "")

    def test_markdown_becomes_html(self):
        broken, page = made_of(
            """# A `b` & <c>
Text with `a|b`, **bold *and* it**, [a link](docs/c.md#one-more-d), <script>alert(1)</script>.

- first
  - inner
- second
  goes on

1. one
2. two

| a | b |
|---|---|
| `x|y` | *z* |

```sh
echo "<hi>"  # a comment
```
""",
            c="# C\n## One more: d!\n",
        )
        self.assertEqual(broken, [])
        for expected in [
            "<code>b</code> &amp; &lt;c&gt;",
            "<code>a|b</code>",
            "<strong>bold <em>and</em> it</strong>",
            '<a href="docs/c.html#one-more-d">a link</a>',
            "&lt;script&gt;",
            "<li>first<ul>\n<li>inner</li>",
            "<li>second goes on</li>",
            "<ol>\n<li>one</li>\n<li>two</li>\n</ol>",
            '<td data-column="a"><code>x|y</code></td><td data-column="b"><em>z</em></td>',
            'echo "&lt;hi&gt;"  # a comment',
        ]:
            self.assertIn(expected, page)
        self.assertNotIn("<script>", page)


if __name__ == "__main__":
    unittest.main()
