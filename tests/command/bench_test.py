#!/usr/bin/env python3
"""conclave bench: what it measures has the promised shape, and nothing is left behind."""

import json
import os
import signal
import subprocess
import unittest

from driver import Case, binary, clean_environment

Case.command = binary()

FIELDS = ["bench", "store", "rounds", "p50_us", "p99_us", "max_us", "rtt_us"]
RAW = ["raw_p50_us", "raw_p99_us", "ratio_p50"]
BARE = ["bare_p50_us", "bare_ratio_p50"]
SCALE = ["candidates", "leaders", "bytes_each", "core_percent", "late_renewals"]


class Bench(Case):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "a state"
        self.store = f"file:{self.folder}/a%20state"

    def bench(self, what, *more):
        code, out, complaint = self.ask("bench", what, "--store", self.store, "--json", *more)
        self.assertEqual((code, complaint), (0, ""), out)
        line = json.loads(out)
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual((line["bench"], line["store"]), (what, self.store))
        self.assertLessEqual(line["p50_us"], line["p99_us"])
        self.assertLessEqual(line["p99_us"], line["max_us"])
        self.assertGreater(line["p50_us"], 0)
        self.assertGreater(line["rtt_us"], 0)
        self.assertEqual(os.listdir(self.state), [], "nothing is left behind")
        return line

    def test_processes(self):
        for what in ("first", "handoff", "crash"):
            line = self.bench(what, "--rounds", 3)
            self.assertEqual(list(line), FIELDS + RAW + BARE)
            self.assertEqual(line["rounds"], 3)
            self.assertAlmostEqual(line["ratio_p50"], line["p50_us"] / line["raw_p50_us"], delta=0.01)
            self.assertAlmostEqual(line["bare_ratio_p50"], line["p50_us"] / line["bare_p50_us"], delta=0.01)

    def test_check(self):
        line = self.bench("check", "--rounds", 2)
        self.assertEqual(list(line), FIELDS + RAW + ["follower_p50_us"])
        self.assertGreater(line["follower_p50_us"], 0)

    def test_scale(self):
        line = self.bench("scale", "--rounds", 1, "--candidates", 20)
        self.assertEqual(list(line), FIELDS + SCALE)
        self.assertEqual((line["rounds"], line["candidates"], line["leaders"]), (1, 20, 20))
        self.assertIsInstance(line["candidates"], int)

    def test_for_people(self):
        code, out, complaint = self.ask("bench", "first", "--store", self.store, "--rounds", 1)
        self.assertEqual((code, complaint), (0, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines()], FIELDS + RAW + BARE)

    def test_progress_on_a_terminal(self):
        bench = self.start("bench", "first", "--store", self.store, "--rounds", 2, terminal=(24, 80))
        self.assertEqual(bench.wait(), 0)
        self.assertIn("1 of 2", bench.out.text)
        self.assertIn("2 of 2", bench.out.text)

    def test_what_cannot_be_measured(self):
        self.assert_refused(self.ask("bench", "handoff", "--store", "memory:"), 2, "memory:", "file:")
        with open("/dev/full", "w") as full:
            done = subprocess.run([self.command, "bench", "first", "--rounds", "1", "--store", self.store], stdout=full,
                                  stderr=subprocess.PIPE, text=True, env=clean_environment(), timeout=100)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^conclave: the output cannot be written: [^\n]*\n$")

    def test_its_candidates_end_with_it(self):
        bench = self.start("bench", "handoff", "--store", self.store, "--rounds", 100000, terminal=(24, 80))
        bench.out.wait_text("1 of 100000")
        bench.send(signal.SIGINT)
        self.assertEqual(bench.wait(), 128 + signal.SIGINT)
        self.assertEqual(os.listdir(self.state), [], "nothing is left behind")


if __name__ == "__main__":
    unittest.main()
