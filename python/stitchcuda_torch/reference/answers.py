"""The requests of the reference server, subject by subject."""

from ..base.requests import parse
from .baselines import BaselineRequests
from .evaluate import EvaluateRequests
from .inputs import InputRequests
from .model import ModelRequests
from .roundings import RoundingRequests
from .series import SeriesRequests
from .shared import MemoryRequests
from .trials import TrialRequests
from .weights import WeightRequests


class Answers:
    def __init__(self, progress):
        self.model = model = ModelRequests(progress)
        inputs, memory = InputRequests(model), MemoryRequests(model)
        trials = TrialRequests(model, inputs, memory)
        self.roundings = RoundingRequests(model, inputs)
        subjects = [
            model,
            inputs,
            WeightRequests(model, inputs),
            EvaluateRequests(model),
            self.roundings,
            memory,
            trials,
            SeriesRequests(model, inputs, memory, trials),
            BaselineRequests(model),
        ]
        model.on_load = [subject.forget for subject in subjects]
        self.table = {name: method for subject in subjects for name, method in subject.table().items()}

    def parse(self, line):
        """(method, its arguments); ValueError says what is wrong with the request."""
        return parse(line, self.table)
