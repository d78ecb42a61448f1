"""python -m unittest language_coder.language_coder_test, in tools/. STITCHCUDA_BINARY: the tool, for what needs it."""

import contextlib
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from language_coder import arms, compact, corpus, decode, examine, frame, judge, lean, mutations, network, prompts  # noqa: E402
from language_coder import questions, reinforce, warm_up, without_datasets  # noqa: E402

TOOL = os.environ.get("STITCHCUDA_BINARY")

ANSWER = """template <bool aligned>
__global__ void __launch_bounds__(256) relu(const float* __restrict__ x, float* __restrict__ relu_out) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= 512) return;
  const auto x_vector = stitch::load_vector<aligned, 4>(x + index * 4);
  stitch::Pack<float, 4> relu_out_2;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const float x_value = x_vector[v];
    const float relu = stitch::relu(x_value);
    relu_out_2[v] = relu;
  }
  stitch::store_vector<aligned>(relu_out + index * 4, relu_out_2);
}
StitchStatus forward(const float* x, float* out, Scratch& scratch, cudaStream_t stream) {
  return stitch::launch("relu", aligned_to(16, x, out) ? relu<true> : relu<false>, stitch::spread(512, 256), stream, x, out);
}"""


def contract():
    return frame.contract_of({"name": "t", "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [32, 64]}],
                              "parameters": [{"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [64], "data": "norm.weight"}],
                              "outputs": [{"name": "relu", "role": "output", "dtype": "f32", "shape": [32, 64]}]}, 2048)


class Text(unittest.TestCase):
    def test_contract_is_read_back(self):
        self.assertEqual(frame.Contract.from_json(json.loads(json.dumps(contract().to_json()))), contract())

    def test_frame_has_only_the_headers_that_are_used(self):
        source = frame.candidate(contract(), ANSWER)
        self.assertIn("stitch/loops/load.h", source)
        self.assertNotIn("stitch/loops/vector.h", source)
        self.assertNotIn("stitch/loops/scan.h", source)
        self.assertIn('"data": "norm.weight"', source)
        self.assertIn("stitch::data<const float>(in[0]), norm_weight, stitch::data<float>(out[0])", source)

    def test_any_answer_gets_a_frame(self):
        for answer in ("", "}", "{{", '")manifest"', "scratch.of<float>(99)", "\0\ufffd"):
            self.assertIn("stitch_run", frame.candidate(contract(), answer))

    def test_state_and_two_outputs_are_refused(self):
        entry = {"name": "x", "role": "state", "dtype": "f32", "shape": [1]}
        with self.assertRaises(ValueError):
            frame.contract_of({"name": "t", "inputs": [entry], "parameters": [], "outputs": [entry]}, 1)

    def test_mistakes_are_found_for_each_kind_and_change_the_text(self):
        for kind in (mutations.BROKEN, mutations.WRONG, mutations.SLOW):
            found = mutations.mutated(ANSWER, random.Random(1), kind)
            self.assertEqual(found[0], kind)
            self.assertNotEqual(found[2], ANSWER)
        self.assertIsNone(mutations.mutated("", random.Random(1)))

    def test_a_lazy_answer_is_one_block_over_everything(self):
        made = mutations.lazy(ANSWER)
        self.assertIn("for (int index = static_cast<int>(threadIdx.x); index < 512; index += 32) {", made)
        self.assertIn("relu<false>, {1, 32}, stream", made)
        self.assertEqual(made.count("{"), made.count("}"))
        self.assertTrue(mutations.is_lazy(made) and not mutations.is_lazy(ANSWER))
        self.assertIsNone(mutations.lazy(ANSWER.replace("blockIdx.x * blockDim.x", "blockIdx.x * 2")))

    def test_a_shortcut_is_known_as_one(self):
        self.assertFalse(mutations.is_shortcut(ANSWER))
        made = mutations.shortcut(ANSWER)
        self.assertTrue(mutations.is_shortcut(made))
        self.assertEqual(made.replace(made[len(ANSWER.rpartition("{")[0]) + 2:made.rindex("  return stitch")], ""), ANSWER)

    def test_values_that_live_at_the_same_time_have_their_own_buffers(self):
        self.assertEqual(compact.placed({"a": [0, 1], "b": [1, 2], "c": [2, 3]}), {"a": 0, "b": 1, "c": 0})
        with self.assertRaises(compact.Unfit):
            compact.placed({str(i): [0, 9] for i in range(9)})

    def test_prompt_has_what_launches_are_made_of(self):
        python = "class Model:\n    def forward(self, x):\n        return torch.relu(x)\n\n\ndef get_inputs():\n"
        told = prompts.from_scratch(contract(), python)
        self.assertIn("n/4 512", told)
        again = prompts.from_feedback(contract(), python, ANSWER, "build: /tmp/a/candidate.cu(3): error\n" + "x" * 2000)
        self.assertIn("build: candidate.cu(3): error", again)
        self.assertLess(len(again), len(told) + len(ANSWER) + 500)

    def test_tasks_of_other_recipes_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "task.py"), "w", encoding="utf-8") as file:
                file.write("v1 = F.relu(x)")
            os.mkdir(os.path.join(folder, "graph"))
            with open(os.path.join(folder, "graph", "graph.txt"), "w", encoding="utf-8") as file:
                file.write("input %x : f32[64]")
            line = {"task": "task.py", "graph": "graph", "hash": "0", "recipes": ["activation", "softmax"]}
            for recipes, said in ((["activation"], "other recipes"), (["activation", "softmax"], "too large"), ([], "too large")):
                options = corpus.parsed(["out", "--most-elements", "1", *(["--recipes", *recipes] if recipes else [])])
                self.assertEqual(corpus.task_entry("no tool", folder, line, options), (None, said))

    def test_split_is_by_the_hash_alone(self):
        splits = [corpus.split_of(f"{i * 2654435761 % 2**32:08x}ff") for i in range(1000)]
        self.assertTrue(60 < splits.count("test") < 140, splits.count("test"))


class Worth(unittest.TestCase):
    def verdict(self, **more):
        return {"reward": 1.2, "counted": True, "label": "correct", "feedback": "memory",
                "components": {"rule": 1.0, "total": 16, "speedup": 1.5, "anti_hacking": 5, "cuda_engineering": 4}, **more}

    def test_lines_and_shares(self):
        question = {"task": "t", "skill": "from scratch", "contract": contract().to_json()}
        lines = [examine.examined(question, ANSWER, True, verdict) for verdict in
                 (self.verdict(), self.verdict(label="hack", reward=0.0), self.verdict(label="not built", reward=0.0), None)]
        lines.append(examine.examined(question, "x" * 9, False, self.verdict(label="wrong")))
        seen = examine.summary(lines)
        self.assertEqual((seen["answers"], seen["counted"], seen["right"], seen["hack"], seen["degenerate"]), (5, 4, 0.25, 0.25, 0.25))
        self.assertIn("| warm-up | from scratch | 5 | 4 |", examine.table([("warm-up", lines)]))

    def test_rewards(self):
        self.assertEqual(reinforce.reward_of("combined", self.verdict()), 1.2)
        self.assertEqual(reinforce.reward_of("rule", self.verdict()), 1.0)
        self.assertIsNone(reinforce.reward_of("rule", self.verdict(counted=False)))
        self.assertIsNone(reinforce.reward_of("rule", None))
        self.assertEqual(reinforce.filled("aaabb", [1.0, None, 0.0, None, None]), [1.0, 0.5, 0.0, 0.0, 0.0])

    def test_second_skill_sends_the_program_before(self):
        question = {"task": "t", "skill": "from feedback", "contract": contract().to_json(), "before": ANSWER, "feedback": "slow"}
        self.assertIn("stitch_run", examine.item_of(question, ANSWER)["before"])

    def test_stand_ins_serve_rows(self):
        rows = without_datasets.Dataset.from_list([{"prompt": "a"}, {"prompt": "b"}])
        self.assertEqual((len(rows), rows[1], rows.column_names), (2, {"prompt": "b"}, ["prompt"]))


class Judging(unittest.TestCase):
    def test_answers_come_in_order_and_as_soon_as_they_are_there(self):
        asked = judge.Judge("http://localhost:1")

        class Slow:
            def score_many(self, items):
                if items[0] == 8:
                    raise judge.rl.ServiceError("away")
                time.sleep(0.05 * (items[0] == 0))
                return [10 * item for item in items]
        asked.service, heard = Slow(), []
        with contextlib.redirect_stderr(io.StringIO()):
            got = asked.score_many(list(range(10)), lambda i, answer: heard.append((i, answer)))
        self.assertEqual(got, [0, 10, 20, 30, 40, 50, 60, 70, None, None])
        self.assertEqual(sorted(heard, key=lambda each: each[0]), list(enumerate(got)))
        self.assertNotEqual(heard[0][0], 0)

    def test_a_quick_look_needs_inputs_of_both_signs(self):
        python = "class Model:\n    w = torch.rand(4)\n    def forward(self, x): return F.relu(x)\ndef get_inputs():\n    return [torch.rand(4)]\n"
        self.assertEqual(questions.both_signs({"python": python})["python"].count("torch.rand("), 1)
        self.assertIn("[torch.randn(4)]", questions.both_signs({"python": python})["python"])
        self.assertIsNone(questions.both_signs({"python": python.replace("F.relu", "torch.sqrt")}))


    def test_what_limits_slow_programs_is_told_by_who_profiles(self):
        class Says:
            def __init__(self, text):
                self.text, self.asked = text, 0

            def score_many(self, items):
                self.asked += len(items)
                return [{"counted": True, "label": "correct, not timed", "reward": 0.25, "components": {}, "feedback": self.text} for _ in items]
        python = "class Model:\n    def forward(self, x):\n        return F.relu(x)\ndef get_inputs():\n    return [torch.rand(4)]\n"
        entries = [{"task": str(i), "hash": str(i), "python": python, "contract": contract().to_json(), "new_structure": False,
                    "answers": {"separate": ANSWER + "\n", "fused": ANSWER}} for i in range(3)]
        self.assertEqual(questions.elements(entries[0]), 2 * 2048)
        quick, profiler = Says("It is correct."), Says("memory-bound")
        asked, _ = questions.from_feedback(entries, quick, 1, profiler)
        slow = [each for each in asked if each["kind"] == mutations.SLOW]
        self.assertEqual((quick.asked, profiler.asked), (3, len(slow)))
        self.assertTrue(slow)
        for each in asked:
            self.assertEqual(each["feedback"], "memory-bound" if each in slow else "It is correct.")


class Together(unittest.TestCase):
    def test_arms_wait_for_each_other_and_end_together(self):
        with tempfile.TemporaryDirectory() as folder:
            part = arms.Part(os.path.join(folder, "one"))
            os.makedirs(part.folder)
            arms.write(os.path.join(folder, arms.CONDUCT), {"allowed": 2, "last": None})
            self.assertTrue(part.goes_on(1))
            self.assertEqual(arms.read(os.path.join(part.folder, "progress.json")), 1)
            arms.write(os.path.join(folder, arms.CONDUCT), {"allowed": 4, "last": 3})
            self.assertEqual([part.goes_on(rollouts) for rollouts in (2, 3, 4)], [True, False, False])
            waiting = threading.Timer(0.2, arms.write, (os.path.join(folder, arms.CONDUCT), {"allowed": 6, "last": None}))
            arms.write(os.path.join(folder, arms.CONDUCT), {"allowed": 5, "last": None})
            waiting.start()
            begin = time.monotonic()
            self.assertTrue(part.goes_on(5))
            self.assertGreater(time.monotonic() - begin, 0.1)

    def test_an_arm_that_fails_stops_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            made = arms.Arms({}, folder, {})
            made.processes = {name: subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds}); raise SystemExit({code})"])
                              for name, seconds, code in (("fails", 0, 1), ("works", 0.4, 0))}
            for name in made.processes:
                os.makedirs(os.path.join(folder, name))
            arms.write(os.path.join(folder, "works", "progress.json"), 2)
            made.conduct(time.monotonic() + 60, 2, every=0.05)
            self.assertEqual(made.failed, ["fails"])
            self.assertEqual(arms.read(os.path.join(folder, arms.CONDUCT)), {"allowed": 3, "last": 2})


class Batches(unittest.TestCase):
    def test_every_row_once_and_within_the_budget(self):
        draw = random.Random(1)
        rows = [([0] * draw.randint(1, 300), 1) for _ in range(200)]
        made = warm_up.batches(rows, 1000, draw)
        self.assertEqual(sum(map(len, made)), 200)
        self.assertTrue(all(len(batch) == 1 or len(batch) * max(len(row[0]) for row in batch) <= 1000 for batch in made))


@unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"), "SKIPPED: no transformers")
class Lean(unittest.TestCase):
    def test_agrees_with_transformers(self):
        import torch
        model = network.fresh("tiny", 500, 256, seed=1).eval()
        torch.manual_seed(1)
        with torch.no_grad():
            for each in model.parameters():
                each.add_(0.1 * torch.randn_like(each))
        told = torch.randint(2, 500, (3, 24))
        mask = torch.ones_like(told)
        mask[0, :13] = mask[1, :1] = 0
        with torch.no_grad():
            torch.testing.assert_close(lean.logits(model, told), model(input_ids=told).logits)
        told[mask == 0] = 0
        theirs = model.generate(input_ids=told, attention_mask=mask, max_new_tokens=12, do_sample=False)[:, 24:]
        self.assertTrue(torch.equal(decode.generate(model, told, mask, 12, temperature=0)[:, :theirs.shape[1]], theirs))
        # Drawn: the same for the same seed, and what follows the end is padding.
        first, again = (decode.generate(model, told, mask, 40) for _ in map(torch.manual_seed, (3, 3)))
        self.assertTrue(torch.equal(first, again))
        for row in first.tolist():
            self.assertTrue(1 not in row or not any(row[row.index(1) + 1:]))
        # A network that was trained since is the one that answers.
        with torch.no_grad():
            model.model.embed_tokens.weight.mul_(-1)
            theirs = model.generate(input_ids=told, attention_mask=mask, max_new_tokens=6, do_sample=False)[:, 24:]
        self.assertTrue(torch.equal(decode.generate(model, told, mask, 6, temperature=0)[:, :theirs.shape[1]], theirs))


    def test_a_graph_says_what_launches_say(self):
        import torch
        if not torch.cuda.is_available():
            self.skipTest("SKIPPED: no GPU")
        model = network.fresh("tiny", 500, 256, seed=1).cuda().eval()
        told = torch.randint(2, 500, (3, 24), device="cuda")
        once, again = (decode.generate(model, told, torch.ones_like(told), 40, 0, graphs) for graphs in (True, False))
        self.assertTrue(torch.equal(once, again))


@unittest.skipUnless(TOOL, "SKIPPED: no STITCHCUDA_BINARY")
class WithTheTool(unittest.TestCase):
    def test_pairs_of_the_corpus_verify(self):
        with tempfile.TemporaryDirectory() as folder:
            corpus.make(corpus.parsed([folder, "--tool", TOOL, "--compose", "60", "--least-time", "1e-9", "--most-time", "4e-7",
                                       "--most-elements", "65536"]))
            entries = corpus.read(os.path.join(folder, "tasks.jsonl.gz"))
            rows = corpus.read(os.path.join(folder, "rows.jsonl.gz"))
            self.assertGreater(len(entries), 3)
            self.assertEqual({row["split"] for row in rows}, {"train"})
            self.assertEqual({row["skill"] for row in rows}, {"from scratch", "from feedback"})
            entry = min((each for each in entries if "separate" in each["answers"]), key=lambda each: each["floor_seconds"])
            questions.write_tasks([entry], folder)
            source = os.path.join(folder, "candidate.cu")
            with open(source, "w", encoding="utf-8") as file:
                file.write(frame.candidate(frame.Contract.from_json(entry["contract"]), entry["answers"]["separate"]))
            done = subprocess.run([TOOL, "verify", source, "--task", os.path.join(folder, entry["task"] + ".py"), "--device", "emulated",
                                   "--quick", "--no-timing", "--json"], capture_output=True, text=True)
            self.assertEqual(json.loads(done.stdout)["verdict"], "passed", done.stdout[-2000:])


if __name__ == "__main__":
    unittest.main()
