"""Small mistakes in an answer: what a Coder has to learn to repair. Each has a kind, by which the corpus is counted."""

import re

BROKEN, WRONG, SLOW = "does not build", "wrong", "slow"


def _one(text, pattern, put, draw):
    """One of the matches, replaced; None where there is none."""
    found = list(re.finditer(pattern, text, re.M))
    if not found:
        return None
    at = draw.choice(found)
    made = put(at) if callable(put) else at.expand(put)
    return None if made == at.group(0) else text[:at.start()] + made + text[at.end():]


def _other_number(found):
    number = int(found.group(1))
    return found.group(0).replace(found.group(1), str(number // 2 if number > 8 else number + 1))


# (kind, name, pattern, what takes its place)
MISTAKES = (
    (BROKEN, "no semicolon", r";$", ""),
    (BROKEN, "no bracket", r"\);$", ";"),
    (BROKEN, "unknown name", r"\b(\w+)_value\b", r"\1_valu"),
    (BROKEN, "unknown function", r"stitch::(\w)\w+\(", lambda found: found.group(0)[:-2] + "("),
    (BROKEN, "type of another", r"stitch::Pack<(\w+), (\d)> (\w+);", r"stitch::Pack<\1> \3;"),
    (WRONG, "operator left out", r"= stitch::(?!load|widened|reduce|scan)\w+\((\w+)[^;]*\);", r"= \1;"),
    (WRONG, "sign", r"(\w+|\]) ([+-]) (\w+);$", lambda found: f"{found.group(1)} {'-' if found.group(2) == '+' else '+'} {found.group(3)};"),
    (WRONG, "constant", r"\b(\d\.\d+)f\b", lambda found: f"{float(found.group(1)) + 0.5}f"),
    (WRONG, "end too early", r"if \((?:index|element|row) >= (\d+)\) return;", _other_number),
    (WRONG, "too few threads", r"stitch::spread\((\d+),", _other_number),
    (WRONG, "reduction left out", r"^ *\w+ = stitch::reduce_\w+<\d+>\([^;]*\);\n", ""),
    (WRONG, "stride", r"row \* (\d+)", _other_number),
    (WRONG, "factor left out", r"(\w+) \* (\w+);$", r"\1;"),
    (SLOW, "few threads a block", r"(stitch::spread\(\d+, )(64|128|256|512|1024)\)", r"\g<1>32)"),
)


SHORTCUT = "shortcut"
STATE = "static bool ran = false;"


def shortcut(answer):
    """The first call computes, later ones leave what the caller's memory holds: what a cheating author writes."""
    head, brace, rest = answer.rpartition("cudaStream_t stream) {\n")
    return head + brace + f"  {STATE}\n  if (ran) return STITCH_OK;\n  ran = true;\n" + rest


def is_shortcut(answer):
    return "static bool" in answer or "static int" in answer


LAZY = "lazy"
OF_ONE_THREAD_EACH = re.compile(r"  const int (\w+) = static_cast<int>\(blockIdx\.x \* blockDim\.x \+ threadIdx\.x\);\n  if \(\1 >= (\d+)\) return;\n")
ONE_BLOCK = "{1, 32}"


def lazy(answer):
    """The same results by 32 threads of the whole GPU: right, so a reward for what is right pays for it, and no work of a CUDA
    engineer. None where kernels are not one thread an element."""
    kernels = answer.split("__global__")
    if not all(OF_ONE_THREAD_EACH.search(each) for each in kernels[1:]) or "stitch::spread(" not in answer:
        return None
    made = [kernels[0]]
    for each in kernels[1:]:
        each = OF_ONE_THREAD_EACH.sub(r"  for (int \1 = static_cast<int>(threadIdx.x); \1 < \2; \1 += 32) {\n", each, count=1)
        body, end, rest = each.partition("\n}\n")
        made.append(body + "\n  }" + end + rest)
    return re.sub(r"stitch::spread\(\d+, \d+\)", ONE_BLOCK, "__global__".join(made))


def is_lazy(answer):
    return ONE_BLOCK in answer


def mutated(answer, draw, kind=None):
    """(kind, name, text) with one mistake, or None where none fits."""
    choices = [each for each in MISTAKES if kind in (None, each[0])]
    draw.shuffle(choices)
    for its_kind, name, pattern, put in choices:
        text = _one(answer, pattern, put, draw)
        if text is not None and text != answer:
            return its_kind, name, text
    return None
