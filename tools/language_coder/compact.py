"""A program of the built-in Coder (`stitchcuda code`) as a short answer: its kernels and one `forward` that launches them.

The kernels' text is the Coder's; comments go, lines are joined. What does not fit the frame (packed weights, libraries,
several streams) is refused with a reason, never bent.
"""

import json
import os
import re

from .frame import SCRATCH_BUFFERS, identifier


class Unfit(Exception):
    """This program has no short form."""


def read_program(folder):
    def read(*path):
        with open(os.path.join(folder, *path), encoding="utf-8") as file:
            return file.read()
    manifest = json.loads(read("manifest.json"))
    return manifest, read("program.cu"), {region["name"]: read(region["file"]) for region in manifest["regions"]}


def without_comments(text):
    return re.sub(r"[ \t]*//[^\n]*", "", text)


def joined(text):
    """A statement a line: lines that go on are put together."""
    out = []
    for line in text.split("\n"):
        line = line.rstrip()
        if not line.strip():
            continue
        whole = not out or out[-1].endswith((";", "{", "}", ">")) and _balanced(out[-1]) or out[-1].lstrip().startswith("#")
        if whole or line.lstrip().startswith("#"):
            out.append(line)
        else:
            glue = "" if out[-1].endswith("(") else " "
            out[-1] += glue + line.strip()
    return "\n".join(out)


def _balanced(line):
    return line.count("(") <= line.count(")")


def split_arguments(text):
    """At commas that stand in no bracket."""
    out, depth, last = [], 0, ""
    for character in text:
        depth += character in "([{<"
        depth -= character in ")]}>"
        if character == "," and depth == 0:
            out.append(last.strip())
            last = ""
        else:
            last += character
    return out + ([last.strip()] if last.strip() else [])


def _braces(text, start):
    """What stands between the brace at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1:at]
    raise Unfit("brackets")


WAIT = "stitch::wait_for_previous_kernel();"  # for programmatic launches, which short answers don't have


def region_parts(source):
    """(kernels, formal arguments, statements) of a region's file."""
    text = joined(without_comments(source))
    text = "\n".join(line for line in text.split("\n") if not line.startswith("#include") and line.strip() != WAIT)
    found = re.search(r"^StitchStatus enqueue_\w+\((.*?)\) \{", text, re.M)
    if not found:
        raise Unfit("no enqueue function")
    kernels = text[:found.start()].strip()
    body = _braces(text, found.end() - 1)
    kernels = re.sub(r"^namespace \{\n?|^\}\s*$(?![\s\S]*\S)", "", kernels, flags=re.M) if kernels.startswith("namespace {") else kernels
    return kernels.strip(), [re.search(r"(\w+)$", each).group(1) for each in split_arguments(found.group(1))], \
        [line.strip() for line in body.strip().split("\n")]


def calls_of(program, function):
    found = re.search(r"StitchStatus " + function + r"\([^)]*\) \{", program)
    if not found:
        raise Unfit(f"no {function}")
    lines = joined(without_comments(_braces(program, found.end() - 1))).split("\n")
    calls, others = [], []
    for line in map(str.strip, lines):
        call = re.fullmatch(r"STITCH_OK_OR_RETURN\(\s*enqueue_(\w+)\((.*)\)\);", line)
        if call:
            calls.append((call.group(1), split_arguments(call.group(2))))
        else:
            others.append(line)
    return calls, others


CREATE_MAY = (r"\(void\)params;", r"STITCH_OK_OR_RETURN\(graphs\.create\(\)\);", r"STITCH_OK_OR_RETURN\(arena\.(allocate|place)\(.*\)\);",
              r"STITCH_OK_OR_RETURN\(stitch::copy_weight\((\w+), params\[\d+\], \d+\)\);", r"return STITCH_OK;")
RUN_MAY = (r"\(void\)in, \(void\)out, \(void\)stream;", r"const stitch::ProgrammaticLaunches launches\(.*\);", r"return STITCH_OK;")


def _only(lines, allowed):
    for line in lines:
        if line and not any(re.fullmatch(each, line) for each in allowed):
            raise Unfit("does more than copy weights and launch kernels")


def renamed(text, names):
    if not names:
        return text
    return re.sub(r"(?<![\w\"])(?:" + "|".join(map(re.escape, names)) + r")\b(?!\")", lambda found: names[found.group(0)], text)


def launches(statements, names):
    """The statements of an enqueue function with the caller's names, each launch a statement of its own."""
    out, condition = [], None
    for line in statements:
        aligned = re.fullmatch(r"bool aligned = (.*);", line)
        if aligned:
            checks = [re.fullmatch(r"stitch::is_aligned\((\w+), (\d+)\)", each.strip()) for each in aligned.group(1).split("&&")]
            if not all(checks):
                raise Unfit("alignment of another kind")
            widths = {check.group(2) for check in checks}
            if len(widths) == 1:
                condition = f"aligned_to({widths.pop()}, {', '.join(check.group(1) for check in checks)})"
            else:
                condition = " && ".join(f"aligned_to({check.group(2)}, {check.group(1)})" for check in checks)
            continue
        if not re.fullmatch(r"(return |STITCH_OK_OR_RETURN\()stitch::(launch|enqueue_product).*;", line):
            raise Unfit("its launcher does more than launch")
        text = line[line.index("stitch::"):].rstrip(";")
        if line.startswith("STITCH_OK"):
            text = text[:-1]
        if condition:
            text = text.replace("aligned ?", condition + " ?")
        out.append(renamed(text, names))
    return out


def answer_of(folder):
    """(kernels, lines of forward) of a program's folder."""
    manifest, program, sources = read_program(folder)
    if manifest.get("libraries") or "stitch::Branches" in program:
        raise Unfit("libraries or several streams")
    settings = {identifier(each["name"]): str(each["value"]) for each in manifest.get("settings", [])}
    program = renamed(program, settings)
    once, rest = calls_of(program, "create")
    _only(rest, CREATE_MAY)
    calls, rest = calls_of(program, "enqueue")
    _only(rest, RUN_MAY)
    calls = [(name, [each if each != "nullptr" else "stream" for each in arguments]) for name, arguments in once] + calls
    types = {name: kind for kind, name in re.findall(r"^  (\w+)\* (\w+) = nullptr;", program, re.M)}
    inputs = [identifier(each["name"]) for each in manifest["inputs"]]
    weights = {identifier(each["name"]) for each in manifest["parameters"]}

    def actual(text):
        found = re.fullmatch(r"stitch::data<.*?>\((in|out)\[(\d+)\]\)", text)
        if not found:
            return text
        return inputs[int(found.group(2))] if found.group(1) == "in" else "out"
    kernels, statements, seen, lifetimes = [], [], set(), {}
    for at, (name, arguments) in enumerate(calls):
        if name not in sources:
            raise Unfit("shared kernels")
        text, formals, body = region_parts(sources[name])
        given = [actual(each) for each in arguments]
        if len(given) != len(formals):
            raise Unfit("arguments")
        if any(not re.fullmatch(r"\w+", each) for each in given):
            raise Unfit("an argument is an expression")
        for each in given:
            if each in types and each not in weights:
                lifetimes.setdefault(each, [at, at])[1] = at
        if name not in seen:
            kernels.append(text)
            seen.add(name)
        statements += launches(body, {formal: value for formal, value in zip(formals, given) if formal != value})
    declared = [f"{types[name]}* {name} = scratch.of<{types[name]}>({buffer});" for name, buffer in placed(lifetimes).items()]
    last = statements.pop()
    lines = declared + [f"STITCH_OK_OR_RETURN({each});" for each in statements] + [f"return {last};"]
    return "\n".join(kernels), lines


def placed(lifetimes):
    """A buffer for each value between kernels; values that never live at the same time share one."""
    out, busy = {}, {}
    for name, (first, last) in sorted(lifetimes.items(), key=lambda item: item[1]):
        free = [which for which in range(SCRATCH_BUFFERS) if busy.get(which, -1) < first]
        if not free:
            raise Unfit("more values than scratch buffers")
        out[name], busy[free[0]] = free[0], last
    return out


def short_answer(folder, contract):
    kernels, lines = answer_of(folder)
    return kernels + "\n" + contract.signature() + " {\n" + "\n".join("  " + line for line in lines) + "\n}"
