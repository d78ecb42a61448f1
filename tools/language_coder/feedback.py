"""The Verifier's words for the warm-up's rows. In GRPO and in evaluation feedback is the Verifier's own, judged on the spot;
thousands of rows are not judged, so here its sentences (src/verify, src/profile, nvcc's messages) are filled in by kind.
"""

import re

from . import mutations

BUILD = {
    "no semicolon": 'expected a ";"',
    "no bracket": 'expected a ")"',
    "unknown name": 'identifier "{word}" is undefined',
    "unknown function": 'namespace "stitch" has no member "{word}"',
    "type of another": 'too few arguments for class template "stitch::Pack"',
}
ADVICE = (
    "memory-bound (share_of_call {call} %, idle_share {idle} %, share_of_bandwidth {share} %, share_of_arithmetic 1 %): in {kernel}: move fewer bytes: fuse it with its neighbours or store narrower types; it "
    "is near the bandwidth",
    "launch-bound (kernels {count}): capture the call as a CUDA graph, and fuse short kernels",
    "launch-bound: in {kernel}: fuse it into the kernel before or after it: its launch takes as long as its work",
    "latency-bound (share_of_call {call} %, idle_share {idle} %): in {kernel}: more work in flight: larger tiles, wider loads, independent instructions; "
    "counters would say what it waits for",
    "occupancy-bound (share_of_call {call} %, idle_share {idle} %, blocks {blocks}, multiprocessors 132): in {kernel}: split the work over "
    "more blocks: {blocks} blocks leave {left} of 132 multiprocessors idle",
    "It is correct.",
)


def imagined(kind, before, contract, draw):
    """What the Verifier would say of `before`: its form and its kind are right, its figures are drawn."""
    sort, name = kind
    if sort == mutations.BROKEN:
        lines = before.split("\n")
        line, word = draw.randint(1, len(lines)), ""
        for i, text in enumerate(lines):
            found = re.search(r"\b\w+_valu\b", text) if name == "unknown name" else None
            if found:
                line, word = i + 1, found.group(0)
                break
        return f"build: candidate.cu:{line + 24}: " + BUILD.get(name, "expected an expression").format(word=word)
    if sort == mutations.WRONG:
        kinds, output = draw.choice(("task", "task", "normal")), f"output '{draw.choice(('add', 'mul', 'relu', 'softmax', 'linear', 'mish'))}'"
        if draw.random() < 0.3:
            count, of = sorted((draw.randint(1, contract.output.elements), contract.output.elements))
            return (f"correctness: {output} on inputs of kind '{kinds}': {count} of {of} elements are NaN or infinite where they should not "
                    f"be, the first at [{draw.randint(0, 9)},0]")
        error = f"{draw.uniform(1, 9.99):.2f}e-0{draw.randint(0, 4)}"
        return f"correctness: {output} on inputs of kind '{kinds}': relative error {error} is over the budget of 1.00e-05"
    kernels = re.findall(r'stitch::\w+(?:<\w+>)?\("(\w+)"', before) or ["forward"]
    blocks = draw.choice((1, 4, 8, 16, 32, 64, 96))
    return draw.choice(ADVICE).format(share=draw.randint(5, 100), kernel=draw.choice(kernels), count=len(kernels), call=draw.randint(20, 100),
                                      idle=draw.choice((0, 0, 1, 3)), blocks=blocks, left=132 - blocks)
