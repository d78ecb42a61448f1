#!/usr/bin/env python3
"""Whether OpenAI's and Anthropic's own Python SDKs accept what src/llm sends and what its scripted server answers.

    ./dev clients llm-types

Requests are validated against the type definitions of the SDKs' parameters, with unknown keys forbidden; replies and
events against their response types. Not part of ./dev test: it needs packages from elsewhere. Exits 77 without them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import anthropic
    import openai
    import pydantic
    from anthropic.types import Message, MessageCreateParams, RawMessageStreamEvent
    from openai.types.chat import ChatCompletion, ChatCompletionChunk, CompletionCreateParams
    from openai.types.responses import Response, ResponseCreateParams, ResponseStreamEvent
except ImportError as missing:
    print(f"SKIPPED: {missing}", file=sys.stderr)
    sys.exit(77)


def keys_of(typed_dict):
    """All keys that a TypedDict, or any of a union of them, knows at its top level."""
    known = set()
    for one in getattr(typed_dict, "__args__", [typed_dict]):
        known |= set(getattr(one, "__annotations__", {}))
        for base in getattr(one, "__orig_bases__", ()):
            known |= set(getattr(base, "__annotations__", {}))
    return known


def check_request(params, body):
    unknown = set(body) - keys_of(params)
    if unknown:
        raise ValueError(f"the SDK knows no {sorted(unknown)}")
    adapter = pydantic.TypeAdapter(params)
    validated = adapter.validate_python(body)
    # Lists of messages are Iterables in the SDK, which pydantic validates when they are walked.
    for key in ("messages", "input", "tools", "system"):
        value = validated.get(key)
        if value is not None and not isinstance(value, str):
            for item in value:
                content = item.get("content") if isinstance(item, dict) else None
                if content is not None and not isinstance(content, str):
                    list(content)


def events_of(text):
    for event in text.split("\n\n"):
        data = [line[6:] for line in event.splitlines() if line.startswith("data: ")]
        if data and data != ["[DONE]"]:
            body = json.loads("\n".join(data))
            if body.get("type") != "ping":  # which the SDK reads over, too
                yield body


def check_reply(kind, body):
    # model_validate, not construct: the SDKs themselves look at nothing.
    pydantic.TypeAdapter(kind).validate_python(body)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.argv[1], "--gtest_brief=1", "--gtest_filter=WireSamples.*"],
            env={**os.environ, "STITCH_WIRE_OUT": folder},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for api, params, reply, event in (
            ("openai", CompletionCreateParams, ChatCompletion, ChatCompletionChunk),
            ("responses", ResponseCreateParams, Response, ResponseStreamEvent),
            ("anthropic", MessageCreateParams, Message, RawMessageStreamEvent),
        ):
            for path in sorted(pathlib.Path(folder, api).iterdir()):
                try:
                    if path.name.startswith("request"):
                        check_request(params, json.loads(path.read_text()))
                    elif path.name.startswith("reply"):
                        check_reply(reply, filled(api, json.loads(path.read_text())))
                    else:
                        for body in events_of(path.read_text()):
                            check_reply(event, filled(api, body))
                    passed += 1
                except (pydantic.ValidationError, ValueError) as error:
                    failed += 1
                    print(f"FAILED {api}/{path.name}: {error}")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {passed} files accepted, {failed} not")
    return 1 if failed else 0


def filled(api, body):
    """What real servers add and no client of ours reads."""
    if api == "openai":
        body.setdefault("created", 0)
        for choice in body.get("choices", []):
            choice.setdefault("logprobs", None)
            if "message" in choice:
                choice["message"].setdefault("refusal", None)
    elif api == "anthropic":
        for message in (body, body.get("message", {})):
            if message.get("type") == "message":
                message.setdefault("stop_sequence", None)
                message.setdefault("stop_reason", None)
    return body


if __name__ == "__main__":
    sys.exit(main())
