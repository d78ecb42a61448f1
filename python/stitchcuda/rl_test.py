"""The adapters for RL engines, over a service that is made up: what is sent, what is asked again, what is given back."""

import asyncio
import http.server
import json
import os
import threading
import types
import unittest

from . import rl


class FakeService(http.server.BaseHTTPRequestHandler):
    script, seen = [], []  # statuses to answer with before all is well; what came in

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        FakeService.seen.append((self.path, body, self.headers.get("Authorization")))
        status = FakeService.script.pop(0) if FakeService.script else 200
        if status == 0:  # cut off
            self.connection.close()
            return
        answers = []
        for item in body["items"]:
            text = item["response"] if "response" in item else item["code"]
            label = "hack" if "hack" in text else "not judged" if "break" in text else "correct"
            state = "waiting" if status == 202 else "done"
            answers.append(
                {
                    "state": state,
                    "key": "k",
                    "label": label,
                    "counted": label != "not judged",
                    "reward": float(len(text)),
                    "components": {"rule": 0.5, "total": 12},
                    "feedback": "faster",
                }
            )
        data = json.dumps({"answers": answers} if status in (200, 202) else {"error": {"message": "no"}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Adapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeService)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        FakeService.script, FakeService.seen = [], []
        rl._services.clear()
        os.environ["STITCHCUDA_SERVICE"] = f"http://127.0.0.1:{self.server.server_port}"
        os.environ["STITCHCUDA_TOKEN"] = "secret-token"
        self.addCleanup(os.environ.pop, "STITCHCUDA_SERVICE")
        self.addCleanup(os.environ.pop, "STITCHCUDA_TOKEN")

    def test_asks_again_while_the_service_is_away_busy_or_not_done(self):
        FakeService.script = [0, 503, 429, 202]
        self.assertEqual(rl.service().score("t", "abc")["reward"], 3.0)
        self.assertEqual(len(FakeService.seen), 5)
        self.assertEqual(FakeService.seen[0][2], "Bearer secret-token")

    def test_gives_up_after_its_patience_and_at_once_on_a_wrong_request(self):
        with self.assertRaisesRegex(rl.ServiceError, "is away"):
            rl.Service("http://127.0.0.1:1", patience=0.2).score("t", "abc")
        FakeService.script = [404]
        with self.assertRaisesRegex(rl.ServiceError, "404"):
            rl.service().score("t", "abc")

    def test_verl(self):
        score = asyncio.run(rl.compute_score("d", "abc", "task-1", {"before": "x", "feedback": "y", "index": 3}))
        self.assertEqual((score["score"], score["correct"], score["counted"]), (3.0, 1.0, 1.0))
        self.assertEqual(FakeService.seen[0][1]["items"], [{"task": "task-1", "before": "x", "feedback": "y", "response": "abc"}])
        scores = rl.compute_scores(["d", "d"], ["a", "hack"], ["t", '{"task": "u"}'])
        self.assertEqual([each["hack"] for each in scores], [0.0, 1.0])
        self.assertEqual({frozenset(each) for each in scores}, {frozenset(score)})
        self.assertEqual(FakeService.seen[1][1]["items"][1]["task"], "u")

    def test_trl(self):
        metrics = {}
        rewards = rl.stitchcuda_reward(
            prompts=["p"] * 3,
            task=["t"] * 3,
            before=[None, "b", None],
            feedback=[None, "f", None],
            completions=["ab", [{"role": "assistant", "content": "abc"}], "break"],
            log_metric=metrics.__setitem__,
            trainer_state=None,
            completion_ids=[[1]] * 3,
        )
        self.assertEqual(rewards, [2.0, 3.0, None])
        self.assertEqual(FakeService.seen[0][1]["items"][1], {"task": "t", "before": "b", "feedback": "f", "response": "abc"})
        self.assertAlmostEqual(metrics["stitchcuda/counted"], 2 / 3)
        with self.assertRaisesRegex(rl.ServiceError, '"task"'):
            rl.stitchcuda_reward(prompts=["p"], completions=["a"])

    def test_trl_environment(self):
        environment = rl.KernelEnvironment()
        self.assertIsNone(environment.reset(task="t"))
        self.assertEqual(environment.get_reward(), 0.0)
        self.assertIn("before", environment.reset(task="t", before="before", feedback="slow"))
        self.assertIn("faster", environment.submit("abc"))
        environment.submit("abcd")
        # Always from the row's own program: a bad try on purpose makes the next one worth no more.
        self.assertEqual([each[1]["items"][0]["before"] for each in FakeService.seen], ["before", "before"])
        self.assertEqual(environment.get_reward(), 4.0)
        for _ in range(5):
            said = environment.submit("a")
        self.assertIn("no tries", said)

    def test_rows_of_both_skills_are_scored_as_what_they_are(self):
        scratch = {
            "data_source": "stitchcuda/from_scratch",
            "prompt": [{"role": "user", "content": "Write it."}],
            "label": "t",
            "answer": "t",
            "reward_model": {"ground_truth": "t"},
            "reward_spec": {"ground_truth": "t"},
            "extra_info": {"task_id": "t", "skill": "from scratch", "before": "", "feedback": ""},
        }
        change = {"task": "t", "before": "old", "feedback": "slow"}
        feedback = dict(
            scratch,
            label=json.dumps(change),
            prompt=[{"role": "user", "content": "Improve: old"}],
            extra_info={"task_id": "t", "skill": "from feedback", "before": "old", "feedback": "slow"},
        )
        wanted = [{"task": "t", "skill": "from scratch", "response": "a"}, dict(change, skill="from feedback", response="a")]

        def sent():
            items = [item for _, body, _ in FakeService.seen for item in body["items"]]
            FakeService.seen.clear()
            return items

        rows = [scratch, feedback]
        rl.stitchcuda_reward(completions=["a", "a"], **{name: [row[name] for row in rows] for name in scratch})
        self.assertEqual(sent(), wanted)
        for row in rows:
            rl.compute_score_sync(row["data_source"], "a", row["reward_model"]["ground_truth"], row["extra_info"])
        self.assertEqual(sent(), wanted)
        for row in rows:
            environment = rl.KernelEnvironment()
            self.assertIsNone(environment.reset(**row))  # the prompt has the program
            environment.submit("a")
        self.assertEqual(sent(), wanted)
        for row in rows:
            asyncio.run(rl.slime_reward(None, types.SimpleNamespace(response="a", label=row["label"])))
        self.assertEqual([item.get("before") for item in sent()], [None, "old"])

    def test_an_empty_answer_is_sent(self):
        self.assertEqual(rl.stitchcuda_reward(prompts=["p"], completions=[""], task=["t"]), [0.0])
        self.assertEqual(FakeService.seen[0][1]["items"], [{"task": "t", "response": ""}])

    def test_slime(self):
        self.assertEqual(asyncio.run(rl.slime_reward(None, types.SimpleNamespace(response="abc", label="t"))), 3.0)
