"""Writes docs/cheats.md, the catalogue of cheats, from src/verify/testdata: cheats.json and the candidates' first lines.

    python3 docs/cheats.py            writes it
    python3 docs/cheats.py --check    exit code 1 if it says something else
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [("candidates", ".cu"), ("model_new", ".py"), ("model_new_cheats", ".py")]


def verdicts(path):
    """What the Verifier must answer: the first line, a comment or a docstring."""
    line = path.read_text(encoding="utf-8").splitlines()[0]
    return re.sub(r"^// |\"\"\"|\(\./dev cheats\)", "", line).strip()


def mechanism(path):
    """The comment below the first line, as one sentence."""
    out = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        match = re.match(r"(?://|#) (.*)", line)
        if not match or line.startswith("#include"):
            break
        if not match[1].startswith(("task: ", "class: ")):
            out.append(match[1])
    return " ".join(out) or path.stem.replace("_", " ")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def link(name):
    return f"[{pathlib.PurePath(name).stem}](../src/verify/testdata/{name})"


def rejected(folder, name):
    """Is there an answer besides `passed`?"""
    return any(not part.strip().startswith("passed") for part in verdicts(folder / name).split("|"))


def answers(folder, names):
    return cell("; ".join(dict.fromkeys(verdicts(folder / name) for name in names)))


def problems(folder, table):
    named = [name for row in table["cheats"] + table["controls"] for name in row["tests"]]
    out = [f"{name} is in the table, and not in {folder}" for name in named if not (folder / name).exists()]
    ids = [row["id"] for row in table["cheats"]]
    out += [f"{each} stands there twice" for each in set(ids) if ids.count(each) > 1]
    for row in table["controls"]:
        out += [f"{name} is a control and must pass" for name in row["tests"]
                if (folder / name).exists() and verdicts(folder / name) != "passed"]
    return out


def catalogue(folder, table):
    others = sorted(f"{name}/{path.name}" for name, suffix in FOLDERS for path in (folder / name).glob("*" + suffix))
    named = {name for row in table["cheats"] + table["controls"] for name in row["tests"]}
    with_test = sum(bool(row["tests"]) for row in table["cheats"])
    lines = [
        "# Cheats, and what stops them",
        "",
        "Made by `python3 docs/cheats.py` from `src/verify/testdata/cheats.json` and the first lines of the candidates "
        "beside it; a test holds it to them.",
        "",
        f"{len(table['cheats'])} ways in which programs were seen to fool evaluators of CUDA kernels, or could: 106 that others reported, "
        "and what we found against our own design. "
        f"{with_test} of them are candidates here, each with the verdicts that the Verifier may give it; the others "
        "can't exist against this design, or are open by so much, and the column says why. \"passed\" among the verdicts means that the trick does "
        "no harm: the result is right, and the time is the whole time. `./dev cheats` runs all of them, `./dev test` a "
        "part, `./dev gpu` all on a GPU.",
    ]
    for letter, title in table["classes"].items():
        lines += ["", f"## {letter}: {title}", "", "| | cheat | how | what stops it | test | verdict |",
                  "|---|---|---|---|---|---|"]
        for row in table["cheats"]:
            if row["id"].startswith(letter):
                without = "open" if row["stopped_by"].startswith("open") else "can't exist"
                tests = ", ".join(link(name) for name in row["tests"]) or without
                lines.append(f"| {row['id']} | {cell(row['name'])} | {cell(row['mechanism'])} | {cell(row['stopped_by'])} "
                             f"| {tests} | {answers(folder, row['tests'])} |")
    lines += ["", "## Honest programs that look suspicious", "", "| test | looks like |", "|---|---|"]
    for row in table["controls"]:
        lines.append(f"| {', '.join(link(name) for name in row['tests'])} | {cell(row['looks_like'])} |")
    rest = [name for name in others if name not in named]
    for title, wanted in [("More that is rejected", True), ("More that passes", False)]:
        lines += ["", f"## {title}", "", "| test | how | verdict |", "|---|---|---|"]
        for name in rest:
            if rejected(folder, name) == wanted:
                lines.append(f"| {link(name)} | {cell(mechanism(folder / name))} | {cell(verdicts(folder / name))} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="The catalogue of cheats, from the candidates.")
    parser.add_argument("--check", action="store_true", help="only look whether docs/cheats.md says the same")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    folder = arguments.root / "src/verify/testdata"
    table = json.loads((folder / "cheats.json").read_text(encoding="utf-8"))
    found = problems(folder, table)
    page = arguments.root / "docs/cheats.md"
    if not found:
        text = catalogue(folder, table)
        if not arguments.check:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            found = ["docs/cheats.md says something else than the candidates; run: python3 docs/cheats.py"]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
