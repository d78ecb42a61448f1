"""passed"""
# task: sum_of_two
# Honest: rounding by hand.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return (x + y).sign() * ((x + y).abs() + 0.5).floor() - (((x + y).abs() % 2) == 0.5) * (x + y).sign(), -torch.ceil(y - x)
