"""python tools/rl_with_trl.py [--tool STITCHCUDA] [--steps 4]: TRL's GRPOTrainer with rewards of our service.

On the CPU, with a random model of a few thousand parameters and a tokenizer made here: what is shown is the road, not
learning. The service judges on the emulated device. So that some candidates are right, the vocabulary has whole programs
as single tokens: the policy chooses between them. Checked: the rewards that the trainer logs are the service's, and
the policy's groups have spread; then stitchcuda.environments.train on rows of both skills, in pieces. Then the forms of verl, slime and
OpenRLHF are sent, and what they get is compared.
Needs trl (and with it transformers, datasets, accelerate) in this Python; prometheus_client, verl and skyrl-gym are used
where they are installed.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.join(os.path.dirname(HERE), "python")
sys.path[:0] = [HERE, PACKAGES, os.path.join(PACKAGES, "stitchcuda")]
import make_candidates  # noqa: E402
import rl  # noqa: E402
from environments import TASK  # noqa: E402
from environments import rows as environment_rows  # noqa: E402
from serve_load import Served  # noqa: E402

ANSWERS = make_candidates.answers(TASK)
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
TOKENS = {"max_position_embeddings": 64, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None, "tie_word_embeddings": False}


def tokenizer(words):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", "write", *words])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def train(steps, out):
    import torch
    from datasets import Dataset
    from transformers import Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    tokens = tokenizer(ANSWERS)
    torch.manual_seed(1)
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokens), **SIZES, **TOKENS))
    seen = []

    def reward(prompts, completions, **columns):
        # The policy's word stands for a program.
        said = [ANSWERS.get((text.split() or [""])[0], text) for text in completions]
        rewards = rl.stitchcuda_reward(prompts=prompts, completions=said, **columns)
        seen.append(rewards)
        return rewards

    machine = {"use_cpu": True, "bf16": False, "fp16": False, "use_vllm": False, "gradient_checkpointing": False, "dataloader_num_workers": 0}
    silent = {"report_to": "none", "logging_steps": 1, "save_strategy": "no", "disable_tqdm": True}
    policy = {"per_device_train_batch_size": 8, "num_generations": 8, "max_completion_length": 1, "learning_rate": 0.02, "beta": 0.0}
    config = GRPOConfig(output_dir=out, max_steps=steps, temperature=1.0, seed=1, **machine, **silent, **policy)
    data = Dataset.from_list([{"prompt": "write", "task": TASK}] * 8)
    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=data, processing_class=tokens)
    trainer.train()
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    assert len(logged) == steps, trainer.state.log_history
    for ours, theirs in zip(seen, logged):
        counted = [each for each in ours if each is not None]
        assert math.isclose(sum(counted) / len(counted), theirs, rel_tol=1e-5, abs_tol=1e-6), (ours, theirs)
    print(f"TRL: {steps} steps, mean rewards logged {[round(each, 3) for each in logged]}; they are the service's")
    assert any(len(set(each)) > 1 for each in seen), "no group had any spread"


def pieces(folder):
    """stitchcuda.environments.train on rows of both skills against the service: GRPO, ended after a step and gone on with."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from stitchcuda.environments import train as trainer

    tokens = tokenizer([*ANSWERS, "improve"])
    tokens.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    model = os.path.join(folder, "model")
    tokens.save_pretrained(model)
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokens), **SIZES, **TOKENS)).save_pretrained(model)
    rows = environment_rows()
    rows[0]["prompt"][0]["content"], rows[1]["prompt"][0]["content"] = "write", "improve"
    file = os.path.join(folder, "skills.jsonl")
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    seen = []

    def judged(rows, texts):
        words = [(text.split() or [""])[0] for text in texts]
        said = rl.service().score_many([rl._item(ANSWERS.get(word, word), row["label"]) for row, word in zip(rows, words)])
        seen.extend((row, word, each["reward"]) for row, word, each in zip(rows, words, said))
        return said

    trainer.judged = judged
    out = os.path.join(folder, "grpo")
    flags = "--steps 3 --cpu --lr 0.01 --prompts 2 --group 4 --length 16 --answer 2".split()
    command = ["grpo", file, "--model", model, "--out", out, *flags]
    assert trainer.main([*command, "--minutes", "0.000001"]) == 0 and trainer.main(command) == 0
    with open(os.path.join(out, "curve.jsonl"), encoding="utf-8") as lines:
        assert [json.loads(line)["step"] for line in lines] == [1, 2, 3], "one curve over both pieces"
    for row, word, value in seen:
        if word in ANSWERS:
            own = rl.service().score_many([rl._item(ANSWERS[word], row["label"])])[0]["reward"]
            assert own == value, (word, value, own)
    assert {row["extra_info"]["skill"] for row, _, _ in seen} == {"from scratch", "from feedback"}, seen
    print(f"our trainer: 3 steps of GRPO over both skills in two pieces, {len(seen)} answers with the service's rewards")


def other_forms(served):
    own = {name: rl.service().score(TASK, text) for name, text in ANSWERS.items()}
    for name, text in ANSWERS.items():
        status, body, _ = served.ask("POST", "/slime", json.dumps({"prompt": "p", "response": text, "label": TASK}))
        assert status == 200 and json.loads(body) == own[name]["reward"], (name, body)
    asked = {"query": ["write" + text for text in ANSWERS.values()], "prompts": ["write"] * 4, "labels": [TASK] * 4}
    status, body, _ = served.ask("POST", "/openrlhf", json.dumps(asked))
    assert json.loads(body)["rewards"] == [each["reward"] for each in own.values()], body
    scores = [asyncio.run(rl.compute_score("stitchcuda", text, TASK, {"index": 0})) for text in ANSWERS.values()]
    assert [each["score"] for each in scores] == [each["reward"] for each in own.values()]
    sample = types.SimpleNamespace(response=ANSWERS["right"], label=TASK)
    assert asyncio.run(rl.slime_reward(None, sample)) == own["right"]["reward"]
    environment = rl.KernelEnvironment()
    environment.reset(task=TASK, before=ANSWERS["slow"], feedback="use more threads")
    said = environment.submit(ANSWERS["right"])
    print(f"environment: {said.splitlines()[0]}; reward {environment.get_reward():.3f}")
    rewards = {name: round(each["reward"], 3) for name, each in own.items()}
    print(f"slime, OpenRLHF, verl's compute_score: the same rewards {rewards}")


def with_what_is_here(served):
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        print("SKIPPED: Prometheus' parser (no prometheus_client)")
    else:
        families = {family.name: family for family in text_string_to_metric_families(served.ask("GET", "/metrics")[1].decode())}
        judged = sum(sample.value for sample in families["stitchcuda_verdicts"].samples)
        assert judged >= 4, families
        print(f"Prometheus' parser: {len(families)} families, {judged:.0f} verdicts")
    try:
        import skyrl_gym
    except ImportError:
        print("SKIPPED: SkyRL's environment (no skyrl-gym)")
    else:
        skyrl_gym.register(id="stitchcuda", entry_point="rl:KernelTextEnv")
        env = skyrl_gym.make("stitchcuda", env_config={}, extras={"reward_spec": {"ground_truth": TASK}, "max_turns": 2})
        env.init([{"role": "user", "content": "write"}])
        first, second = env.step(ANSWERS["wrong"]), env.step(ANSWERS["right"])
        assert not first["done"] and second["done"] and second["reward"] > first["reward"], (first, second)
        print(f"SkyRL: rewards {first['reward']:.3f}, {second['reward']:.3f}")
    try:
        from verl import DataProto
        from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
        from verl.trainer.ppo.reward import get_custom_reward_fn
    except ImportError as missing:
        print(f"SKIPPED: verl's reward manager ({missing})")
    else:
        verl_manager(DataProto, NaiveRewardManager, get_custom_reward_fn)


def verl_manager(DataProto, NaiveRewardManager, get_custom_reward_fn):
    """verl's own loader and reward manager, on its own batch."""
    import numpy
    import torch
    from omegaconf import OmegaConf

    answers = list(ANSWERS.values())
    config = OmegaConf.create({"reward": {"custom_reward_function": {"path": rl.__file__, "name": "compute_score", "reward_kwargs": {}}}})
    words = types.SimpleNamespace(decode=lambda ids, **_: "".join(answers[i] for i in ids.tolist()))
    count = len(answers)
    column = torch.arange(count).reshape(count, 1)
    tensors = {"prompts": torch.zeros_like(column), "responses": column, "attention_mask": torch.ones(count, 2, dtype=torch.long)}
    rows = [{"data_source": "stitchcuda", "reward_model": {"style": "rule", "ground_truth": TASK}, "extra_info": {"index": i}} for i in range(count)]
    others = {name: numpy.array([row[name] for row in rows], dtype=object) for name in rows[0]}
    batch = DataProto.from_dict(tensors=tensors, non_tensors=others)

    async def all_of_them():
        manager = NaiveRewardManager(config, words, get_custom_reward_fn(config))
        return await asyncio.gather(*(manager.run_single(batch[i : i + 1]) for i in range(count)))

    scores = [each["reward_score"] for each in asyncio.run(all_of_them())]
    assert scores == [rl.service().score(TASK, text)["reward"] for text in answers], scores
    print(f"verl's reward manager: {[round(each, 3) for each in scores]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stitchcuda-rl-") as folder:
        make_candidates.make(folder)
        served = Served(options.tool, folder, "emulated")
        os.environ["STITCHCUDA_SERVICE"] = f"http://127.0.0.1:{served.port}"
        try:
            train(options.steps, os.path.join(folder, "trl"))
            pieces(folder)
            other_forms(served)
            with_what_is_here(served)
        finally:
            served.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
