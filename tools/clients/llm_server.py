#!/usr/bin/env python3
"""Whether `stitchcuda llm ask` works with an independent server: `transformers serve` with a tiny model of
random weights, so its answers are garbage.

    ./dev clients llm-server

Not part of ./dev test: it needs packages from elsewhere. Exits 77 without them.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

try:
    import fastapi  # noqa: F401 (what `transformers serve` needs)
    import tokenizers
    import torch
    import transformers
    import uvicorn  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {missing}", file=sys.stderr)
    sys.exit(77)

TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}<|assistant|>"


def make_model(folder):
    """Bytes as tokens and one layer: loads in no time, answers with noise."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<end>"] + alphabet)}
    bytes_alone = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    bytes_alone.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_alone, eos_token="<end>", pad_token="<end>", chat_template=TEMPLATE)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            eos_token_id=0,
            pad_token_id=0,
            bos_token_id=0,
        )
    )
    model.generation_config.do_sample = True
    model.generation_config.suppress_tokens = [0]  # no end before max_tokens
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, server, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        if server.poll() is not None:
            sys.exit("the server ended")
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except OSError:
            time.sleep(0.3)
    sys.exit("the server does not come up")


class Checks:
    def __init__(self, stitchcuda, config, model):
        self.stitchcuda, self.config, self.model, self.failed = stitchcuda, config, model, 0

    def ask(self, profile, text, *flags):
        command = [self.stitchcuda, "llm", "ask", profile, text, "--config", self.config, *flags]
        return subprocess.run(command, capture_output=True, timeout=120)

    def expect(self, what, condition, ran):
        print(f"{'ok    ' if condition else 'FAILED'} {what}")
        if not condition:
            self.failed += 1
            print(ran.returncode, ran.stdout[-2000:], ran.stderr[-2000:])

    def run(self):
        model = self.model
        ran = self.ask(f"tiny/{model}", "hello", "--json", "--max-tokens", "40")
        reply = json.loads(ran.stdout) if ran.returncode == 0 else {}
        usage = reply.get("usage", {})
        self.expect(
            f"streamed: {usage}, {reply.get('finish')}, {len(reply.get('text', ''))} characters",
            ran.returncode == 0 and usage.get("output", 0) > 0 and not usage.get("estimated"),
            ran,
        )
        ran = self.ask(f"whole/{model}", "hello", "--json", "--max-tokens", "40")
        reply = json.loads(ran.stdout) if ran.returncode == 0 else {}
        self.expect(f"in one piece: {reply.get('usage')}", ran.returncode == 0 and reply["usage"]["output"] > 0, ran)
        ran = self.ask(f"tiny/{model}", "hello", "--stream", "--max-tokens", "200", "--system", "Be random.")
        controls = [byte for byte in ran.stdout if byte < 32 and byte != 10]
        self.expect("garbage reaches a terminal escaped", ran.returncode == 0 and not controls, ran)
        ran = self.ask("tiny/no/such-model", "hello")
        self.expect("another model: one clear message", ran.returncode in (1, 2) and b"error:" in ran.stderr, ran)
        print("       " + ran.stderr.decode(errors="replace").strip().replace("\n", "\n       "))
        ran = self.ask(f"elsewhere/{model}", "hello")
        self.expect("not there: one clear message", ran.returncode == 1 and b"is a server running" in ran.stderr, ran)
        ran = self.ask(f"wrong_api/{model}", "hello")
        self.expect("another API's path: one clear message", ran.returncode == 2 and b"404" in ran.stderr, ran)
        start = time.time()
        asking = subprocess.Popen(
            [self.stitchcuda, "llm", "ask", f"tiny/{model}", "hello", "--config", self.config, "--max-tokens", "3500"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(1.0)
        asking.send_signal(signal.SIGINT)
        output = asking.communicate(timeout=20)
        ran = subprocess.CompletedProcess([], asking.returncode, *output)
        self.expect(f"Ctrl-C in the middle: over after {time.time() - start - 1:.2f} s", time.time() - start < 3 and b"stopped" in ran.stderr, ran)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "tiny")
        make_model(model)
        port = free_port()
        server = subprocess.Popen(
            [sys.executable, "-m", "transformers.cli.transformers", "serve", model, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(folder, "log"), "w"),
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/health", server)
            config = os.path.join(folder, "stitchcuda.toml")
            url = f'url = "http://127.0.0.1:{port}/v1"\n'
            pathlib.Path(config).write_text(
                f'[llm.tiny]\n{url}[llm.whole]\n{url}stream = false\n[llm.wrong_api]\n{url}api = "anthropic"\n'
                f'[llm.elsewhere]\nurl = "http://127.0.0.1:{free_port()}/v1"\n'
            )
            checks = Checks(sys.argv[1], config, model)
            checks.run()
        finally:
            server.terminate()
            server.wait(20)
        if checks.failed:
            print(pathlib.Path(folder, "log").read_text()[-3000:])
    print(f"transformers {transformers.__version__}: {checks.failed} checks failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
