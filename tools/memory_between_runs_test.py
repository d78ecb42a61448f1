"""What is counted as an attempt, and that the two aims can be missed."""
import sys
import unittest

import memory_between_runs as tool


def run(*steps, own=0.1):
    """steps: (tries, seconds of the program, or 0 where none was kept)."""
    return {"ledger": {"steps": [{"tries": tries, "kept": seconds > 0, "after_seconds": seconds} for tries, seconds in steps]}, "seconds": 20, "own_seconds": own}


class Memory(unittest.TestCase):
    FIRST = run((1, 9e-6), (2, 0), (1, 5e-6), (1, 0))

    def test_attempts_are_counted_until_the_first_runs_best(self):
        row = tool.compare(self.FIRST, run((1, 5e-6), (1, 4e-6)), 1e-6)
        self.assertEqual((row["first"]["reached"], row["first"]["attempts"], row["best"]), (4, 5, 5e-6))
        self.assertEqual((row["second"]["reached"], row["second"]["best"]), (1, 4e-6))
        lines, good = tool.told({"a": row})
        self.assertTrue(good)
        self.assertIn("first 4, second 1", lines[-1])

    def test_more_than_half_is_missed(self):
        self.assertFalse(tool.told({"a": tool.compare(self.FIRST, run((1, 9e-6), (2, 5e-6)), 1e-6)})[1])

    def test_a_second_run_that_never_gets_there_is_missed(self):
        lines, good = tool.told({"a": tool.compare(self.FIRST, run((1, 9e-6)), 1e-6)})
        self.assertFalse(good)
        self.assertIn("never", lines[0])

    def test_the_clocks_spread_is_allowed_where_there_is_a_clock(self):
        self.assertEqual(tool.compare(self.FIRST, run((1, 5.2e-6)), 0.05)["second"]["reached"], 1)

    def test_a_loop_that_takes_more_than_2_percent_is_missed(self):
        self.assertFalse(tool.told({"a": tool.compare(self.FIRST, run((1, 5e-6), own=1.0), 1e-6)})[1])

    def test_a_run_that_failed_is_shown_with_its_message(self):
        lines, good = tool.told({"a": tool.compare({"error": {"message": "no such file"}}, self.FIRST, 0)})
        self.assertFalse(good)
        self.assertIn("no such file", lines[0])
        self.assertFalse(tool.told({})[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
