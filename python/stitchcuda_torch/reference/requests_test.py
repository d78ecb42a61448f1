import os
import re
import unittest

from .. import FOLDER
from ..base import requests
from .answers import Answers


class RequestsTest(unittest.TestCase):
    table = Answers(lambda text: None).table

    def test_the_readme_has_all_requests_with_their_fields(self):
        rows = {}
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            for line in file:
                if line.startswith("| `"):
                    rows.update(dict.fromkeys(re.findall(r"`(\w+)`", line.split("|")[1]), line))
        for name, method in self.table.items():
            self.assertIn(name, rows)
            for field in requests.parameters_of(method):
                self.assertTrue(f"`{field}`" in rows[name] or "…" in rows[name], f"{field} of {name}")

    def test_fields_are_the_methods_parameters(self):
        method, fields = requests.parse('{"do": "load", "task": "a.py", "class": "Net", "mode": null}', self.table)
        self.assertEqual(method.__name__, "load")
        self.assertEqual(fields, {"task": "a.py", "class_": "Net", "seed": 42, "device": "cpu", "mode": None, "turns": None})
        for line, part in [
            ('{"do": "load"}', "'task' is missing"),
            ('{"do": "load", "task": 1}', "'task' is of the wrong type"),
            ('{"do": "load", "task": "a", "device": "tpu"}', "one of: cpu, cuda"),
            ('{"do": "load", "task": "a", "seeds": 1}', "unknown field 'seeds' of 'load'"),
            ('{"do": "unload"}', "there are: load, init_inputs"),
            ("[]", 'not a JSON object with "do"'),
        ]:
            with self.assertRaisesRegex(ValueError, re.escape(part)):
                requests.parse(line, self.table)
