"""Is a policy still one? A look at what a trainer logs; no package is needed for the rule itself."""

import math


class Watch:
    """Says what is wrong after `patience` logs in a row that show it; one that is well ends the row."""

    def __init__(self, patience=3, least_entropy=0.02, least_length=0.25, most_clipped=0.9, least_reward=0.5):
        self.patience, self.least_entropy, self.least_length = patience, least_entropy, least_length
        self.most_clipped, self.least_reward = most_clipped, least_reward
        self.first_lengths, self.best_reward, self.row, self.good_step = [], 0.0, 0, 0

    def trouble(self, log):
        """Of one log alone; empty: nothing."""
        for name in ("loss", "grad_norm", "reward"):
            if name in log and not math.isfinite(float(log[name])):
                return f"{name} is {log[name]}"
        if log.get("entropy", 1.0) < self.least_entropy:
            return f"entropy {log['entropy']:.3f}: it always says the same"
        if log.get("completions/clipped_ratio", 0.0) > self.most_clipped:
            return f"{100 * log['completions/clipped_ratio']:.0f} % of the answers don't end"
        length = log.get("completions/mean_length")
        if length is not None and len(self.first_lengths) == self.patience:
            usual = sum(self.first_lengths) / self.patience
            if length < self.least_length * usual:
                return f"answers of {length:.0f} tokens, {usual:.0f} at the beginning"
        if log.get("reward", self.best_reward) < self.least_reward * self.best_reward:
            return f"a mean reward of {log['reward']:.3f}, after {self.best_reward:.3f}"
        return ""

    def look(self, step, log):
        """What the policy has come to; empty: go on."""
        if not log.keys() & {"loss", "reward", "entropy"}:
            return ""
        trouble = self.trouble(log)
        if not trouble:
            self.row, self.good_step = 0, step
            # Smoothed: one lucky batch is no measure.
            self.best_reward = max(self.best_reward, 0.8 * self.best_reward + 0.2 * float(log.get("reward", 0.0)))
            if "completions/mean_length" in log and len(self.first_lengths) < self.patience:
                self.first_lengths.append(float(log["completions/mean_length"]))
            return ""
        self.row += 1
        return trouble if self.row >= self.patience else ""
