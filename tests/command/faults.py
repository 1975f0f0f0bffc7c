"""Candidates in processes of their own that are killed, stopped and started anew; on any store whose lease expires.

No line of its own says that a process was killed. Where its death frees nothing, check-history takes it for leading
until the end that it named itself: nobody may be elected before.
"""

import json
import os
import pathlib
import signal
import struct

from driver import NS, Case, boot_ns, eventually
from history import History
from runs import stat_of


class Clock:
    """The wall clock of a process, to be stepped while it runs: see tests/servers/clock_shim.cpp."""

    def __init__(self, file):
        self.file = file
        self.shim = os.environ["CONCLAVE_CLOCK_SHIM"]  # ctest says where it is
        self.step(0)
        # A sanitizer wants to be preloaded first; it need not know who reads the clock.
        self.environment = {"LD_PRELOAD": self.shim, "CONCLAVE_CLOCK_OFFSET": file,
                            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def step(self, hours):
        """So much later, or earlier, than the machine's."""
        with open(self.file, "r+b" if self.file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", hours * 3600 * NS))

    def rules(self, process):
        return self.shim in pathlib.Path(f"/proc/{process.pid}/maps").read_text()


class FaultCase(Case):
    lease = "2s"
    death_frees = False  # the server learns at once that a process is dead

    def setUp(self):
        super().setUp()
        self.all, self.killed = [], []

    def candidate(self, name, event, **more):
        """It has come that far."""
        process = self.join(identity=name, **more)
        process.name = name
        self.all.append(process)
        process.out.event(event)
        return process

    def leader(self, name, **more):
        """It leads and has renewed its term: (process, term)."""
        process = self.candidate(name, "elected", **more)
        return process, process.out.event("extended")["term"]

    def stop(self, process):
        """It stands still, and all that it said has been read."""
        process.send(signal.SIGSTOP)
        eventually(lambda: stat_of(process.pid)[0] == "T", "a process that stands still")
        process.out.pump()
        process.out.taken = len(process.out.lines)

    def kill(self, process):
        if self.death_frees:
            self.killed.append('{"event":"killed","at_ns":%d,"candidate":"%s"}\n' % (boot_ns(), process.name))
        process.send(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)

    def first_elected(self, *processes):
        """Whoever of them it is: (process, term)."""
        found = []

        def elected():
            for process in processes:
                process.out.pump()
                for line in map(json.loads, process.out.lines[process.out.taken:]):
                    if line["event"] == "elected":
                        found[:] = process, line["term"]
            return found

        eventually(elected, "one that is elected")
        return found

    def assert_woke_without_its_place(self, process, term):
        """The first that it has to say is that it has lost, at the end that it had named before."""
        valid_until = max(line.get("valid_until_ns", 0) for line in process.out.all_json())
        process.send(signal.SIGCONT)
        line = process.out.json()
        while line["event"] in ("jeopardy", "stopping"):
            line = process.out.json()
        self.assertEqual((line["event"], line["term"], line["reason"]), ("lost", term, "lease_expired"))
        self.assertLessEqual(line["at_ns"], valid_until)

    def assert_hands_over(self, leader, follower, term):
        leader.send(signal.SIGTERM)
        self.assertEqual(leader.wait(), 0, leader.err.text)
        self.assertGreater(follower.out.event("elected")["term"], term)

    def assert_kept_promise(self, terms):
        history = History()
        for index, process in enumerate(self.all):
            process.out.pump()
            history.add(f"process {index}", process.out.text)
        history.add("killed", "".join(self.killed))
        told = "".join(process.out.text for process in self.all) + "".join(self.killed)
        self.assertEqual(list(map(str, history.judge())), [], told)
        self.assertEqual(len(history.elections["e"].terms()), terms, told)


class CommonFaults:
    """What holds on all of them."""

    def test_R01_a_leader_that_was_stopped_wakes_without_its_place(self):
        ann, term = self.leader("ann")
        ben = self.candidate("ben", "follower")
        self.stop(ann)
        second = ben.out.event("elected")["term"]
        self.assertGreater(second, term)
        self.assert_woke_without_its_place(ann, term)
        ann.out.event("leader_changed", leader="ben", term=second)
        ben.out.event("extended", term=second)
        self.assert_hands_over(ben, ann, second)
        self.assert_kept_promise(3)

    def test_P03_the_same_name_started_anew_has_a_higher_term(self):
        ann, term = self.leader("ann")
        self.kill(ann)
        again, second = self.leader("ann")
        self.assertGreater(second, term)
        again.send(signal.SIGTERM)
        self.assertEqual(again.wait(), 0, again.err.text)
        third = self.candidate("ann", "elected")
        self.assertGreater(third.out.event("extended")["term"], second)
        self.assert_kept_promise(3)

    def test_P03_what_an_older_process_of_the_same_name_asks_changes_nothing(self):
        old, term = self.leader("ann")
        self.stop(old)
        new, second = self.leader("ann")
        self.assertGreater(second, term)
        self.assert_woke_without_its_place(old, term)
        old.out.event("follower")
        old.send(signal.SIGTERM)
        self.assertEqual(old.wait(), 0, old.err.text)
        for _ in range(3):
            new.out.event("extended", term=second)
        self.assert_kept_promise(2)

    def test_P07_a_step_of_a_candidates_wall_clock_changes_nothing(self):
        clocks = [Clock(self.folder / f"clock {name}") for name in ("ann", "ben")]
        ann, term = self.leader("ann", environment=clocks[0].environment)
        ben = self.candidate("ben", "follower", environment=clocks[1].environment)
        self.assertTrue(clocks[0].rules(ann) and clocks[1].rules(ben))
        for hours in (1, -1):
            clocks[0].step(hours)
            clocks[1].step(-hours)
            until = ann.out.event("extended", term=term)["valid_until_ns"] + 2 * NS  # a whole lease in that state
            while ann.out.event("extended", term=term)["valid_until_ns"] < until:
                pass
        self.kill(ann)  # nor does it make anybody take over early
        self.assertGreater(ben.out.event("elected")["term"], term)
        self.assert_kept_promise(2)
