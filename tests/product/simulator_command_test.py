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
        for arguments in (["--seed"], ["--seed", "x"], ["--seeds", "-3"], ["--lease-ms", "0"], ["--nonsense", "1"]):
            done = sim(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr.startswith("conclave-sim: "), arguments)

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
