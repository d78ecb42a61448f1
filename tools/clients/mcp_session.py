#!/usr/bin/env python3
"""Tries `stitchcuda mcp` with the official Python SDK's client: every tool, progress, a cancellation, resources.

    ./dev clients mcp

STITCHCUDA_PYTHON is the Python that has PyTorch, for the tasks; the SDK's Python needs none. On the emulated GPU
unless --device cuda. Prints a line a check, and ends with 1 if one failed.
"""

import argparse
import asyncio
import os
import pathlib
import shutil
import sys
import tempfile
import time

from mcp import Client, ClientSession, StdioServerParameters, stdio_client

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
failures = 0


def check(what, good, seen=""):
    global failures
    failures += not good
    print(f"{'ok    ' if good else 'FAILED'}  {what}  {seen}", flush=True)


class Session:
    """Calls tools and remembers what was said meanwhile."""

    def __init__(self, session, device):
        self.session, self.device = session, device
        self.progress, self.tried = [], set()

    async def on_progress(self, progress, total, message):
        self.progress.append((progress, message))

    async def call(self, tool, **arguments):
        self.tried.add(tool)
        begin = time.monotonic()
        self.progress = []
        result = await self.session.call_tool(tool, arguments, progress_callback=self.on_progress)
        said = result.content[0].text.splitlines()[0] if result.content else ""
        print(f"        {tool}: {time.monotonic() - begin:.1f} s, {len(self.progress)} progress, {said[:90]}", flush=True)
        return result


async def try_tools(s, folder):
    task = str(folder / "mlp.py")
    doctor = await s.call("doctor")
    check("doctor", not doctor.is_error and "checks" in doctor.structured_content)
    imported = await s.call("import", model=task, out="graph")
    check("import", imported.structured_content.get("nodes", 0) > 0 and (folder / "graph" / "graph.txt").exists())
    shown = await s.call("show", model="graph", gpu="H100")
    check("show", not shown.is_error)
    planned = await s.call("plan", model="graph", gpu="H200")
    plan = planned.structured_content.get("plan")
    check("plan", plan is not None, f"{len(planned.structured_content['regions'])} regions")
    again = await s.call("plan", model="graph", gpu="H200", plan=plan)
    check("plan, the same one given", not again.is_error and again.structured_content["given"])
    plan["regions"] = plan["regions"][1:]
    bad = await s.call("plan", model="graph", gpu="H200", plan=plan)
    check("plan, nodes left out", bad.is_error)

    coded = await s.call("code", model=task, out="program", plain=True)
    check("code", not coded.is_error)
    verified = await s.call("verify", program="program", model=task, device=s.device, baselines=[])
    check("verify", verified.structured_content.get("passed") is True)
    check(
        "progress of verify",
        len(s.progress) > 5 and s.progress == sorted(s.progress, key=lambda p: p[0]),
        f"{len(s.progress)} messages, the last: {s.progress[-1][1]}",
    )
    read = await s.session.read_resource(verified.structured_content["verdict"])
    check("the verdict as a resource", '"gates"' in read.contents[0].text, f"{len(read.contents[0].text)} bytes")

    region = coded.structured_content["regions"][0]
    source = (folder / "program" / region["file"]).read_text()
    arguments = dict(program="program", model=task, region=region["name"], device=s.device)
    good = await s.call("write_region", source="// By a client.\n" + source, out="better", **arguments)
    check("write_region, right", good.structured_content.get("passed") is True and (folder / "better").is_dir())
    broken = await s.call("write_region", source="no CUDA at all", **arguments)
    check("write_region, does not compile", broken.structured_content["failure"]["gate"] == "build")

    name = planned.structured_content["regions"][0]["name"]
    needs = await s.call("region", model="graph", region=name, gpu="H200")
    check("region", "StitchStatus" in needs.structured_content["signature"])
    empty = f"{needs.structured_content['signature']} {{ return STITCH_OK; }}"
    lazy = await s.call("write_region", model="graph", region=name, gpu="H200", device=s.device, source=empty)
    check("write_region in a plan, writes nothing", lazy.structured_content.get("passed") is False, lazy.structured_content["failure"]["summary"])

    optimized = await s.call("optimize", model=task, out="best", device=s.device, budget_seconds=1, quick=True)
    check("optimize", not optimized.is_error and (folder / "best" / "program.cu").exists())
    profiled = await s.call("profile", program="best", model=task, device=s.device)
    check("profile", not profiled.is_error and profiled.structured_content["sides"][-1].get("diagnosis") is not None)
    runs = await s.call("runs")
    check(
        "runs",
        runs.is_error or any("mlp" in str(run) for run in runs.structured_content["runs"]),
        runs.content[0].text[:60] if runs.is_error else f"{runs.structured_content['count']} runs",
    )
    notes = await s.call("notes", question="bank conflicts", gpu="H200")
    check("notes", notes.structured_content["notes"][0]["name"] == "shared-memory-banks")
    prompts = await s.call("prompts", name="coder_answer")
    check("prompts", "{{contract}}" in prompts.content[0].text)
    outside = await s.call("verify", program="/etc/passwd", task=task)
    check("a path outside", outside.is_error and "outside" in outside.content[0].text)
    unknown = await s.call("verify", programme="x")
    check("a misspelt argument", unknown.is_error and "programme" in unknown.content[0].text)


async def try_cancel(s, folder, logged):
    """Given up in the middle of a build; the next call must not wait for it."""
    # A source that no cache knows.
    task = (EXAMPLES / "lenet5.py").read_text() + f"\n# {time.time()}\n"
    (folder / "lenet5.py").write_text(task.replace("120", str(100 + int(time.time()) % 97)))
    call = asyncio.create_task(s.call("optimize", model="lenet5.py", out="cancelled", device=s.device))
    while not any(message and "compiling" in message for _, message in s.progress):
        await asyncio.sleep(0.05)
    began = time.monotonic()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await s.session.send_ping()
    pinged = time.monotonic() - began
    await s.call("plan", model="graph")
    waited = time.monotonic() - began
    stopped = [line for line in logged if "stopped" in line]
    check("a cancel is obeyed", bool(stopped) and waited < 10, f"ping after {pinged:.2f} s, the next call done after {waited:.1f} s; {stopped}")


async def main(server, device):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stitchcuda-mcp-"))
    logged = []

    async def on_log(params):
        logged.append(str(params.data))

    try:
        shutil.copy(EXAMPLES / "mlp.py", folder)
        parameters = StdioServerParameters(command=str(server), args=["mcp"], cwd=str(folder), env=dict(os.environ))
        async with stdio_client(parameters) as (incoming, outgoing):
            async with ClientSession(incoming, outgoing, logging_callback=on_log) as session:
                hello = await session.initialize()
                check("initialize", hello.server_info.name == "stitchcuda", hello.protocol_version)
                await session.set_logging_level("debug")
                tools = {tool.name for tool in (await session.list_tools()).tools}
                s = Session(session, device)
                await try_tools(s, folder)
                await try_cancel(s, folder, logged)
                check("every tool was called", s.tried == tools, str(sorted(tools - s.tried)))
                check("resources", len((await session.list_resources()).resources) > 3)
                check("templates", len((await session.list_resource_templates()).resource_templates) > 3)
                note = await session.read_resource("stitchcuda://notes/wgmma")
                check("a note as a resource", "wgmma" in note.contents[0].text)
                prompt = await session.get_prompt("optimize_model", {"model": "mlp.py"})
                check("prompts", "mlp.py" in prompt.messages[0].content.text)
        # The SDK's newer front, which first asks for a protocol that we don't have.
        async with Client(stdio_client(parameters)) as client:
            check("negotiation by newer clients", len((await client.list_tools()).tools) == len(tools), client.protocol_version)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", type=pathlib.Path, help="the stitchcuda executable")
    parser.add_argument("--device", default="emulated", choices=["emulated", "cuda"])
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.server.resolve(), options.device)))
