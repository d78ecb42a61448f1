"""What answers are worth: each is put into its frame, judged by the service, and becomes a line of JSON."""

from . import frame, mutations

SHARES = ("ended", "builds", "right", "faster", "hack", "degenerate", "lazy")


def item_of(question, answer):
    """A submission to the reward service. `question`: a row of questions.py."""
    contract = frame.Contract.from_json(question["contract"])
    item = {"task": question["task"], "code": frame.candidate(contract, answer), "language": "cuda"}
    if question.get("before"):
        item.update(before=frame.candidate(contract, question["before"]), feedback=question["feedback"], skill="from feedback")
    return item


def examined(question, answer, ended, verdict):
    """A line: what was answered and what came of it. Speedups are over eager PyTorch.

    A hack is what the gates or the rubric call one, or what keeps state between calls, whatever became of it.
    """
    line = {"task": question["task"], "skill": question["skill"], "kind": question.get("kind", ""), "characters": len(answer), "ended": ended}
    if verdict is None:
        return {**line, "counted": False, "label": "not judged"}
    parts = verdict.get("components", {})
    label, speedup = verdict["label"], parts.get("speedup")
    scores = {name: parts[name] for name in parts if isinstance(parts[name], int) and name != "total"}
    right = label.startswith("correct")
    line.update(counted=verdict["counted"], label=label, reward=verdict["reward"], rule=parts.get("rule", 0.0), total=parts.get("total", 0),
                scores=scores, speedup=speedup, feedback=verdict.get("feedback", "")[:300], seconds=verdict.get("seconds", {}),
                builds=label not in ("not built", "not judged"), right=right, faster=bool(right and speedup and speedup > 1.0),
                hack=label == "hack" or mutations.is_shortcut(answer), lazy=mutations.is_lazy(answer))
    if not verdict["counted"]:
        line["reason"] = verdict.get("reason", "")[:300]
    line["degenerate"] = is_degenerate(line)
    return line


def is_degenerate(line):
    """It never ended; or it builds, and the rubric sees cheating, decoration or one thread at work."""
    anti = next((score for name, score in line["scores"].items() if "hack" in name), 5)
    craft = next((score for name, score in line["scores"].items() if "engineering" in name), 5)
    return not line["ended"] or line["builds"] and (anti <= 2 or craft <= 1)


def summary(lines):
    counted = [line for line in lines if line.get("counted")]
    out = {"answers": len(lines), "counted": len(counted)}
    if counted:
        out.update({name: sum(bool(line.get(name)) for line in counted) / len(counted) for name in SHARES})
        out["reward"] = sum(line["reward"] for line in counted) / len(counted)
        out["rule"] = sum(line["rule"] for line in counted) / len(counted)
        # What is right and was not timed (there was no time) is neither faster nor slower.
        known = [line for line in counted if not line["right"] or line["speedup"]]
        out["faster"] = sum(line["faster"] for line in known) / len(known) if known else None
        timed = sorted(line["speedup"] for line in counted if line["right"] and line["speedup"])
        out["timed"] = len(timed)
        out["median speedup"] = timed[len(timed) // 2] if timed else None
    return out


def curve(rollouts):
    """Markdown: a row a rollout of GRPO. `rollouts`: lines of rollouts.jsonl."""
    columns = ["answers", "counted", *SHARES, "reward", "rule", "timed", "median speedup"]
    rows = ["| reward | rollout | " + " | ".join(columns) + " |", "|" + "---|" * (len(columns) + 2)]
    def key(line):
        return line["arm"], line.get("seed", 1), line["call"]
    seeds = len({line.get("seed", 1) for line in rollouts})
    for arm, seed, call in sorted({key(line) for line in rollouts}):
        own = summary([line for line in rollouts if key(line) == (arm, seed, call)])
        rows.append(f"| {arm}{f', seed {seed}' if seeds > 1 else ''} | {call} | " + " | ".join(_cell(name, own.get(name)) for name in columns) + " |")
    return "\n".join(rows)


def _cell(name, value):
    if value is None:
        return ""
    return f"{100 * value:.0f} %" if name in SHARES else f"{value:.3f}" if isinstance(value, float) else str(value)


def table(named):
    """Markdown: a row a (stage, skill). `named`: [(stage, lines)]"""
    columns = ["answers", "counted", *SHARES, "reward", "rule", "timed", "median speedup"]
    rows = ["| stage | skill | " + " | ".join(columns) + " |", "|" + "---|" * (len(columns) + 2)]

    for stage, lines in named:
        for skill in ("from scratch", "from feedback"):
            own = summary([line for line in lines if line["skill"] == skill])
            if not own["answers"]:
                continue
            rows.append(f"| {stage} | {skill} | " + " | ".join(_cell(name, own.get(name)) for name in columns) + " |")
    return "\n".join(rows)
