#!/usr/bin/env python3
"""The checker of histories accepts good ones, and each rule refuses what no other rule does."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from history import PATH, check

del sys.argv[1:2]  # the command, which all tests here are given


def line(event, at, candidate="ann", election="reports", **more):
    return json.dumps({"event": event, "at_ns": at, "election": election, "candidate": candidate, **more}) + "\n"


def elected(at, term, until, candidate="ann", **more):
    return line("elected", at, candidate, term=term, valid_until_ns=until, **more)


def extended(at, term, until, candidate="ann"):
    return line("extended", at, candidate, term=term, valid_until_ns=until)


def lost(at, term, candidate="ann"):
    return line("lost", at, candidate, term=term, reason="resigned")


def killed(at, candidate="ann"):
    return json.dumps({"event": "killed", "at_ns": at, "candidate": candidate}) + "\n"


ANN = line("started", 1) + elected(10, 1, 110) + extended(60, 1, 160) + lost(150, 1) + line("stopped", 151)
BEN = line("started", 2, "ben") + line("follower", 11, "ben") + elected(150, 2, 250, "ben")


class Rules(unittest.TestCase):
    def refused(self, rule, *texts):
        """By this rule, and by no other."""
        history = check({f"file {index}": text for index, text in enumerate(texts)})
        self.assertEqual([breach.rule for breach in history.breaches], [rule] if rule else [])
        return history

    def accepted(self, *texts):
        return self.refused(None, *texts)

    def test_a_good_history_is_counted(self):
        history = self.accepted(ANN, BEN + lost(240, 2, "ben") + elected(300, 3, 400, "ben"))
        self.assertEqual(list(history.summary()), ["reports: 3 terms, 1 hand-overs, 2 candidates"])

    def test_all_may_stand_in_one_file(self):
        lines = (ANN + BEN).splitlines(keepends=True)
        self.accepted("".join(sorted(lines, key=lambda each: json.loads(each)["at_ns"])))

    def test_overlap_within_what_the_grant_gave(self):
        self.refused("overlap", elected(10, 1, 110), elected(109, 2, 200, "ben"))
        self.accepted(elected(10, 1, 110), elected(110, 2, 200, "ben"))

    def test_overlap_within_an_extension(self):
        self.refused("overlap", elected(10, 1, 110) + extended(60, 1, 160), elected(159, 2, 200, "ben"))
        self.accepted(elected(10, 1, 110) + extended(60, 1, 160), elected(160, 2, 200, "ben"))

    def test_overlap_until_the_loss(self):
        self.refused("overlap", elected(10, 1, 110) + lost(50, 1), elected(49, 2, 200, "ben"))
        self.accepted(elected(10, 1, 110) + lost(50, 1), elected(50, 2, 200, "ben"))

    def test_a_loss_that_comes_late_lengthens_nothing(self):
        self.accepted(elected(10, 1, 110) + lost(500, 1), elected(110, 2, 200, "ben"))

    def test_overlap_with_one_that_is_not_the_last(self):
        self.refused("overlap", elected(10, 1, 900), elected(20, 2, 20, "ben"), elected(500, 3, 600, "cat"))

    def test_overlap_of_two_processes_of_one_name(self):
        self.refused("overlap", elected(10, 1, 110), elected(50, 2, 200))

    def test_elections_do_not_disturb_each_other(self):
        history = self.accepted(elected(10, 5, 110), elected(20, 4, 110, "ben", election="billing"))
        self.assertEqual(len(list(history.summary())), 2)

    def test_a_kill_ends_what_was_valid(self):
        self.accepted(elected(10, 1, 110) + killed(30), elected(30, 2, 200, "ben"))
        self.accepted(elected(10, 1, 110), elected(30, 2, 200, "ben"), killed(30))
        self.refused("overlap", elected(10, 1, 110) + killed(30), elected(29, 2, 200, "ben"))
        self.refused("overlap", elected(10, 1, 110), elected(30, 2, 200, "ben"))
        self.refused("overlap", elected(10, 1, 110), elected(30, 2, 200, "ben"), killed(30, "cat"))

    def test_a_kill_is_one_process_own(self):
        # Two of one name: the line says which by where it stands, or nothing is proved.
        first, second = line("started", 5) + elected(10, 1, 20), line("started", 12) + elected(15, 2, 100)
        third = elected(50, 3, 100, "cat")
        self.refused("overlap", first + killed(15), second, third)
        self.refused("malformed", first, line("started", 12) + elected(25, 2, 100), killed(22))
        again = elected(10, 1, 110) + killed(30) + line("started", 40) + elected(50, 2, 150)
        self.accepted(again, elected(150, 3, 200, "ben"))
        self.refused("overlap", again, elected(149, 3, 200, "ben"))

    def test_terms_grow(self):
        self.refused("terms", elected(10, 2, 110), elected(110, 1, 200, "ben"))
        self.refused("terms", elected(10, 2, 110), elected(110, 2, 200, "ben"))
        self.refused("terms", elected(10, 2, 20) + lost(20, 2) + elected(30, 1, 40))
        self.refused("terms", elected(10, 3, 20), elected(20, 4, 30, "ben"), elected(30, 4, 40, "cat"))

    def test_nobody_is_elected_twice_in_a_row(self):
        self.refused("alternation", elected(10, 1, 110) + elected(120, 2, 200))
        self.accepted(elected(10, 1, 110) + line("started", 115) + elected(120, 2, 200))

    def test_nobody_loses_what_he_has_not(self):
        self.refused("alternation", lost(10, 1))
        self.refused("alternation", elected(10, 1, 110) + lost(50, 1) + lost(60, 1))
        self.refused("alternation", elected(10, 1, 110) + lost(50, 2))
        self.refused("alternation", elected(10, 1, 110) + lost(9, 1))

    def test_nobody_stops_as_leader(self):
        self.refused("alternation", elected(10, 1, 110) + line("stopped", 50))

    def test_only_a_leader_extends(self):
        self.refused("extension", extended(10, 1, 110))
        self.refused("extension", elected(10, 1, 110) + lost(50, 1) + extended(60, 1, 160))
        self.refused("extension", elected(10, 2, 110) + extended(60, 1, 160))

    def test_an_extension_takes_nothing_away(self):
        self.refused("extension", elected(10, 1, 110) + extended(60, 1, 109))
        self.accepted(elected(10, 1, 110) + extended(60, 1, 110))

    def test_malformed_lines(self):
        for wrong in ("hello\n", "\n", "[1]\n", '{"event":"elec\n', line("crowned", 5), line("elected", 5),
                      line("started", "5"), line("started", True), '{"event":"started","at_ns":5}\n',
                      line("lost", 5)):  # fmt: skip
            self.refused("malformed", ANN + wrong + BEN)

    def test_a_last_line_may_be_cut_off(self):
        cut = '{"event":"extended","at_ns":7'
        self.assertEqual(self.accepted(elected(10, 1, 110) + cut).cut, 1)
        self.assertEqual(self.accepted(elected(10, 1, 110) + cut + "\n" + killed(60)).cut, 1)
        self.refused("malformed", elected(10, 1, 110) + cut + "\n" + extended(60, 1, 160))
        self.refused("malformed", elected(10, 1, 110) + "hello")


class Command(unittest.TestCase):
    def run_it(self, *arguments, text=""):
        done = subprocess.run([PATH, *arguments], input=text, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_a_verdict_from_standard_input(self):
        code, said, _ = self.run_it(text=ANN + BEN)
        self.assertEqual(code, 0)
        self.assertEqual(said[0], "reports: 2 terms, 1 hand-overs, 2 candidates")
        self.assertTrue(said[-1].startswith("HOLDS: "), said)

    def test_a_verdict_from_files(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("ann", "ben")]
            paths[0].write_text(ANN)
            paths[1].write_text(BEN)
            self.assertEqual(self.run_it(*paths)[0], 0)
            paths[1].write_text(elected(149, 2, 250, "ben"))
            code, said, _ = self.run_it(*paths)
        self.assertEqual((code, said[-1]), (1, "REFUTED"))
        self.assertIn(f"reports: the lines of ben in {paths[1]} break off while it leads", said[-2])
        self.assertEqual(said[0], "overlap: reports: ann with term 1 and ben with term 2 led together for 1 ns from 149")

    def test_what_cannot_be_judged(self):
        for arguments, text in (((), ""), ((), "hello\n"), (("/nowhere",), ""), (("--wrong",), "")):
            code, said, complaint = self.run_it(*arguments, text=text)
            self.assertEqual(code, 2, arguments)
            self.assertTrue(complaint or said[-1].startswith("NOT PROVED"), arguments)

    def test_help(self):
        code, said, _ = self.run_it("--help")
        self.assertEqual(code, 0)
        self.assertIn("usage: check-history [FILE...]", said)


if __name__ == "__main__":
    unittest.main()
