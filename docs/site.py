#!/usr/bin/env python3
"""The documentation as a site: docs/site.py [OUT] makes build/site from the repository's Markdown, without the network.

Every relative link is followed: a file that isn't there, or a heading that its page doesn't have, is an error.
"""

import argparse
import html
import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What the side bar shows, in order: pages by name, then others by their places.
SECTIONS = """
Start: README.md docs/quickstart.md docs/tutorials.md docs/commands.md docs/troubleshooting.md docs/when-to-use-which.md docs/settings.md
Start: examples/README.md CHANGELOG.md
Use: docs/python.md docs/slow.md docs/gpus-and-ops.md docs/language-models.md docs/verifier.md docs/judging-many.md docs/c-abi.md
Use: docs/mcp.md
Learn and serve: docs/rubric.md docs/reward-service.md docs/many-machines.md docs/learning.md docs/training-engines.md
Measured: docs/results.md docs/results-tables.md docs/mutation.md docs/cheats.md
Develop: CONTRIBUTING.md ARCHITECTURE.md cmake/README.md
Use: docs/*.md
Source folders: src/**/README.md python/**/README.md
More: examples/**/README.md tools/**/README.md prompts/README.md
Technique notes: notes/*.md
"""
LEFT_OUT = ("/testdata/", "/templates/")

INLINE = re.compile(
    r"(`+)(?P<code>.+?)\1(?!`)|!\[(?P<alt>[^\]]*)\]\((?P<image>[^)\s]+)\)"
    r"|\[(?P<text>(?:[^\[\]`]|`[^`]*`)+)\]\((?P<link>[^)\s]+)\)|\*\*(?P<bold>.+?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])"
    r"|(?P<address>https?://[^\s<>)]+[^\s<>).,;:])",
    re.DOTALL,
)
NO_PARAGRAPH = re.compile(r"\s*([-*]\s|\d+[.)]\s|```|#{1,6}\s|\||> |<!--)")


def plain(made):
    """Text of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", made)).split())


class BrokenLink(Exception):
    pass


def source_of(path):
    """Where a file that is no page is copied to: pictures as they are, all else as text, which browsers show."""
    return pathlib.Path("source") / (path if path.suffix == ".png" else path.with_name(path.name + ".txt"))


def slug(text):
    """A heading's anchor, as GitHub makes it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda found: found[1] or "", text)
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def first(lines, at, fits):
    """The number of the first line that fits, from there on; else how many lines there are."""
    return next((i for i in range(at, len(lines)) if fits(lines[i])), len(lines))


class Page:
    def __init__(self, path, site):
        self.path, self.site = path, site
        self.lines = (site.root / path).read_text(encoding="utf-8").splitlines()
        if path.parent.name == "notes":  # a note's fields, a line each
            self.lines = [re.sub(r"^(applies to|when|tags|measured): ", r"- **\1**: ", line) for line in self.lines]
        self.anchors, self.title, in_code = {}, "", False
        for line in self.lines:
            in_code ^= line.lstrip().startswith("```")
            heading = None if in_code else re.match(r"(#{1,6})\s+(.*)", line)
            if heading:
                self.title = self.title or re.sub(r"[`*]", "", heading[2])
                base, count = slug(heading[2]), 0
                while base + (f"-{count}" if count else "") in self.anchors.values():
                    count += 1
                self.anchors[line + f"#{len(self.anchors)}"] = base + (f"-{count}" if count else "")
        self.title = self.title or str(path)
        self.out = path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html")

    def address_of(self, link):
        if re.match(r"[a-z]+:", link):
            return link
        file, _, anchor = link.partition("#")
        target = self if not file else None
        if file:
            place = pathlib.Path(os.path.normpath(self.path.parent / file))
            target = self.site.pages.get(place) or self.site.pages.get(place / "README.md")
            if not target:
                if not (self.site.root / place).exists() or str(place).startswith(".."):
                    raise BrokenLink(f"{self.path}: there is no {link}")
                if (self.site.root / place).is_dir():
                    return None
                self.site.files.add(place)
                return os.path.relpath(source_of(place), self.out.parent)
        if anchor and anchor not in target.anchors.values():
            raise BrokenLink(f"{self.path}: {target.path} has no heading #{anchor}")
        here = os.path.relpath(target.out, self.out.parent)
        return here + (f"#{anchor}" if anchor else "")

    def inline(self, text):
        out, at = [], 0
        for found in INLINE.finditer(text):
            out.append(html.escape(text[at : found.start()], quote=False))
            at = found.end()
            if found["code"]:
                out.append(f"<code>{html.escape(found['code'].strip(), quote=False)}</code>")
            elif found["text"]:
                address, text_of_link = self.link(found["link"]), self.inline(found["text"])
                out.append(f'<a href="{html.escape(address)}">{text_of_link}</a>' if address else text_of_link)
            elif found["image"]:
                out.append(f'<img alt="{html.escape(found["alt"])}" src="{html.escape(self.link(found["image"]))}">')
            elif found["address"]:
                out.append(f'<a href="{html.escape(found["address"])}">{html.escape(found["address"])}</a>')
            else:
                tag = "strong" if found["bold"] else "em"
                out.append(f"<{tag}>{self.inline(found['bold'] or found['italic'])}</{tag}>")
        return "".join(out) + html.escape(text[at:], quote=False)

    def link(self, address):
        try:
            return self.address_of(address)
        except BrokenLink as broken:
            self.site.broken.append(str(broken))
            return "#"

    def body(self):
        return "".join(self.blocks(self.lines))

    def blocks(self, lines):
        """Headings, lists, tables, code, quotes and paragraphs; a paragraph's lines are one."""
        at, heading = 0, iter(self.anchors.values()) if lines is self.lines else iter(())
        while at < len(lines):
            line = lines[at]
            bare = line.lstrip()
            if not bare or re.fullmatch(r"<!--.*-->", bare):
                at += 1
            elif bare.startswith("```"):
                end = first(lines, at + 1, lambda one: one.lstrip().startswith("```"))
                indent = len(line) - len(bare)
                code = "\n".join(one[indent:] if not one[:indent].strip() else one for one in lines[at + 1 : end])
                yield f"<pre><code>{html.escape(code, quote=False)}</code></pre>\n"
                at = end + 1
            elif found := re.match(r"(#{1,6})\s+(.*)", line):
                level, name = len(found[1]), next(heading, slug(found[2]))
                yield (
                    f'<h{level} id="{name}">{self.inline(found[2])}'
                    f'<a class="anchor" href="#{name}" aria-label="link to this heading">#</a></h{level}>\n'
                )
                at += 1
            elif bare.startswith("|") and at + 1 < len(lines) and re.fullmatch(r"\s*\|[\s:|-]+\|\s*", lines[at + 1]):
                end = first(lines, at, lambda one: not one.lstrip().startswith("|"))
                yield self.table(lines[at:end])
                at = end
            elif bare.startswith("> "):
                end = first(lines, at, lambda one: not one.lstrip().startswith(">"))
                inner = [re.sub(r"^\s*> ?", "", one) for one in lines[at:end]]
                yield "<blockquote>" + "".join(self.blocks(inner)) + "</blockquote>\n"
                at = end
            elif found := re.match(r"(\s*)([-*]|\d+[.)])\s+", line):
                made, at = self.list(lines, at)
                yield made
            else:
                end = first(lines, at + 1, lambda one: not one.strip() or NO_PARAGRAPH.match(one))
                yield f"<p>{self.inline(' '.join(one.strip() for one in lines[at:end]))}</p>\n"
                at = end

    def list(self, lines, at):
        first = re.match(r"(\s*)([-*]|\d+[.)])(\s+)", lines[at])
        indent, tag = len(first[1]), "ul" if first[2] in "-*" else "ol"
        items = []
        while at < len(lines):
            found = re.match(r"(\s*)([-*]|\d+[.)])(\s+)", lines[at])
            if not found or len(found[1]) != indent or (found[2] in "-*") != (tag == "ul"):
                break
            inside = len(found[0])
            item, at = [lines[at][inside:]], at + 1
            while at < len(lines):
                depth = len(lines[at]) - len(lines[at].lstrip())
                later = next((one for one in lines[at:] if one.strip()), "")
                if not lines[at].strip():
                    if len(later) - len(later.lstrip()) < indent + 2:
                        break
                elif depth <= indent:
                    break
                item.append(lines[at][min(depth, inside) :])
                at += 1
            made = "".join(self.blocks(item))
            items.append("<li>" + re.sub(r"^<p>(.*?)</p>\n", r"\1", made, count=1, flags=re.DOTALL) + "</li>\n")
            while at < len(lines) and not lines[at].strip() and at + 1 < len(lines) and re.match(r"\s*([-*]|\d+[.)])\s", lines[at + 1]):
                at += 1
        return f"<{tag}>\n{''.join(items)}</{tag}>\n", at

    def table(self, lines):
        def cells(line):
            kept = re.sub(r"`[^`]*`", lambda code: code[0].replace("|", "\0"), line.strip().strip("|"))
            return [self.inline(one.replace("\0", "|").strip()) for one in re.split(r"(?<!\\)\|", kept)]

        names = cells(lines[0])
        head = "".join(f"<th>{one}</th>" for one in names)
        # Where there is no room for columns, every cell says which it is of: site.css.
        names = [html.escape(re.sub("<[^>]*>", "", one)) for one in names] + [""] * 99
        rows = "".join(
            "<tr>" + "".join(f'<td data-column="{name}">{one}</td>' for name, one in zip(names, cells(line))) + "</tr>\n" for line in lines[2:]
        )
        return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n'


class Site:
    def __init__(self, root):
        self.root, self.pages, self.sections, self.broken, self.files = root, {}, {}, [], set()
        for section, _, patterns in (line.partition(": ") for line in SECTIONS.strip().splitlines()):
            for found in (found for pattern in patterns.split() for found in sorted(root.glob(pattern))):
                if not any(part in found.as_posix() for part in LEFT_OUT):
                    self.add(section, found.relative_to(root))

    def add(self, section, path):
        if path not in self.pages:
            self.pages[path] = Page(path, self)
            self.sections.setdefault(section, []).append(self.pages[path])

    def side_bar(self, page):
        out = []
        for name, pages in self.sections.items():
            links = "".join(
                f'<li><a href="{os.path.relpath(one.out, page.out.parent)}"'
                f"{' aria-current=page' if one is page else ''}>{html.escape(one.title)}</a></li>\n"
                for one in pages
            )
            opened = " open" if page in pages or len(pages) < 13 else ""
            out.append(f"<details{opened}><summary>{name}</summary><ul>\n{links}</ul></details>\n")
        return "".join(out)

    def search_index(self, bodies):
        """A section of a page each: where it is, the page's title, its heading, its text."""
        sections = []
        for page in self.pages.values():
            parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)<a class="anchor".*?</h[1-6]>', bodies[page])
            for name, heading, text in zip(parts[1::3], parts[2::3], parts[3::3]):
                sections.append({"at": f"{page.out.as_posix()}#{name}", "title": plain(page.title), "heading": plain(heading), "text": plain(text)})
        return f"window.stitchcudaSearch = {json.dumps(sections, ensure_ascii=False, separators=(',', ':'))};\n"

    def write(self, out):
        bodies = {page: page.body() for page in self.pages.values()}
        made = {
            page.out: TEMPLATE.format(
                title=html.escape(page.title),
                root=os.path.relpath(".", page.out.parent) + "/",
                side=self.side_bar(page),
                body=bodies[page],
                source=html.escape(page.path.as_posix()),
            )
            for page in self.pages.values()
        }
        if self.broken:
            return
        if out.exists():
            if not (out / "site.css").exists() and any(out.iterdir()):
                sys.exit(f"error: {out} holds files that are not this site's\nfix: name another folder")
            shutil.rmtree(out)
        for path, text in made.items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(text, encoding="utf-8")
        for path in self.files:
            (out / source_of(path)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / path, out / source_of(path))
        for name in ("site.css", "site.js"):
            shutil.copyfile(self.root / "docs" / name, out / name)
        (out / "search.js").write_text(self.search_index(bodies), encoding="utf-8")


TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title} · StitchCUDA</title><link rel="stylesheet" href="{root}site.css">
</head><body>
<a class="skip" href="#content">To the text</a>
<a class="menu" href="#pages">All pages</a>
<header><p class="home"><a href="{root}index.html">StitchCUDA</a></p>
<div class="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off" data-root="{root}">
<div id="found" hidden></div></div></header>
<nav id="pages" aria-label="Pages">
{side}</nav>
<main id="content">
{body}<footer>Made from {source}</footer>
</main><script src="{root}site.js" defer></script></body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=ROOT / "build/site")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    site = Site(arguments.root)
    site.write(arguments.out)
    for one in site.broken:
        print(f"error: {one}", file=sys.stderr)
    if site.broken:
        sys.exit(1)
    print(f"{arguments.out}/index.html: {len(site.pages)} pages, every link followed")


if __name__ == "__main__":
    main()
