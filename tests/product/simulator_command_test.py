#!/usr/bin/env python3
"""conclave-sim as a person uses it: help, bad input, replay."""

import subprocess
import sys
import unittest

SIM = sys.argv.pop(1)


def sim(*arguments):
    return subprocess.run([SIM, *arguments], capture_output=True, text=True, timeout=100)


class SimulatorCommand(unittest.TestCase):
    def test_help_teaches(self):
        done = sim("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("example: conclave-sim", done.stdout)

    def test_bad_input_is_one_clear_refusal(self):
        for arguments, sentence in (
            (["--seed"], "--seed needs a number"),
            (["--seed", "x"], '--seed needs a whole number, not "x"'),
            (["--seed", "9" * 30], "--seed is out of range"),
            (["--seeds", "-3"], "--seeds needs a whole number"),
            (["--seeds", "0"], "--seeds is out of range: it goes from 1"),
            (["--lease-ms", "1"], "--lease-ms is out of range: it goes from 100 to 60000"),
            (["--nonsense"], "unknown option --nonsense"),
            (["--seed=7"], "unknown option --seed=7"),
            (["--trace"], "--trace needs --seed"),
        ):
            done = sim(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr.startswith("conclave-sim: " + sentence), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, arguments)

    def test_a_seed_replays_to_the_letter(self):
        first, second = sim("--seed", "424", "--trace"), sim("--seed", "424", "--trace")
        self.assertEqual(first.returncode, 0)
        self.assertIn("ELECTED", first.stdout)
        self.assertEqual(first.stdout, second.stdout)

    def test_fresh_seeds_are_printed(self):
        done = sim("--seeds", "3", "--fresh", "2", "--seconds", "20")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"fresh seeds: 2 from \d+")
        self.assertIn("5 seeds, 100 simulated seconds", done.stdout)


if __name__ == "__main__":
    unittest.main()
