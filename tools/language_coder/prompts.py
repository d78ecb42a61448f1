"""What the language Coder is told: the task, the contract and numbers of it; for the second skill a program and feedback.

The numbers are products and quotients of the shapes that launches and index arithmetic are made of. A model of a few
million parameters copies well and multiplies badly.
"""

import re

LONGEST_FEEDBACK = 400  # characters


def task_lines(python):
    """A task's modules and the lines of its forward pass."""
    modules = re.findall(r"^        (self\.\w+ = .*)$", python, re.M)
    forward = python[python.index("def forward"):python.index("def get_inputs")]
    return [line.replace("self.", "") for line in modules] + [line.strip() for line in forward.split("\n")[1:] if line.strip()]


def numbers(contract):
    """Facts that the shapes imply, a line a tensor: elements, vectors of 16 bytes, strides, rows."""
    lines, known = [], {}
    for each in (*contract.inputs, *contract.parameters, contract.output):
        kind = (each.dtype, each.shape)
        if kind in known:
            lines.append(f"{each.name}: as {known[kind]}")
            continue
        known[kind] = each.name
        width = 16 // {"f32": 4, "f64": 8}.get(each.dtype, 2)
        elements, shape = each.elements, each.shape
        facts = [f"n {elements}"]
        if elements % width == 0:
            facts.append(f"n/{width} {elements // width}")
        strides = [1]
        for size in reversed(shape[1:]):
            strides.append(strides[-1] * size)
        if len(shape) > 1:
            facts.append("strides " + " ".join(map(str, reversed(strides))))
        if each not in contract.parameters and len(shape) > 1:
            row = shape[-1]
            rows = elements // row
            facts.append(f"rows {rows} of {row}")
            facts.append("x32 %d" % (rows * 32))
            if row % width == 0:
                facts.append(f"/{width} {row // width}")
            if len(shape) > 2:
                inner = elements // shape[0] // shape[1]
                facts.append(f"inner {inner}" + (f" /{width} {inner // width}" if inner % width == 0 else ""))
                facts.append(f"n/{shape[1]} {elements // shape[1]}")
        lines.append(f"{each.name}: {each.dtype}({', '.join(map(str, shape))}) {', '.join(facts)}")
    return lines


def from_scratch(contract, python):
    return "\n".join(["# task", *task_lines(python), "# contract", contract.signature(), "# numbers", *numbers(contract), "# cuda", ""])


def from_feedback(contract, python, before, feedback):
    told = from_scratch(contract, python)
    return told[:told.index("# cuda")] + "\n".join(["# program", before.strip(), "# verifier", short(feedback), "# cuda", ""])


def short(feedback):
    """The part of the Verifier's words that says what is wrong; paths of its scratch folders mean nothing."""
    text = re.sub(r"\S*/candidate\.cu", "candidate.cu", feedback.strip())
    if text.startswith("build:"):
        text = text.split("\n")[0]  # behind it stands the code once more
    return text[:LONGEST_FEEDBACK]
