#!/usr/bin/env python3
"""Candidates in processes of their own on a real Redis server: one is killed, stopped or started anew.

No line says that a process was killed, so check-history takes it for leading until the end that it named itself:
nobody may be elected before.
"""

import shutil
import signal
import subprocess
import unittest

from driver import Case, binary, eventually
from history import History
from runs import stat_of

Case.command = binary()


class Faults(Case):
    lease = "2s"

    def setUp(self):
        super().setUp()
        socket = self.folder / "redis.sock"
        server = subprocess.Popen(
            [shutil.which("redis-server"), "--port", "0", "--unixsocket", socket, "--dir", self.folder, "--save", ""],
            stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        eventually(socket.exists, "the socket of Redis")
        self.store = f"redis+unix://{socket}"
        self.all = []

    def candidate(self, name, event):
        """It has come that far."""
        process = self.join(identity=name)
        self.all.append(process)
        process.out.event(event)
        return process

    def leader(self, name):
        """It leads and has renewed its term: (process, term)."""
        process = self.candidate(name, "elected")
        return process, process.out.event("extended")["term"]

    def stop(self, process):
        """It stands still, and all that it said has been read."""
        process.send(signal.SIGSTOP)
        eventually(lambda: stat_of(process.pid)[0] == "T", "a process that stands still")
        process.out.pump()
        process.out.taken = len(process.out.lines)

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
        told = "".join(process.out.text for process in self.all)
        self.assertEqual(list(map(str, history.judge())), [], told)
        self.assertEqual(len(history.elections["e"].terms()), terms, told)

    def test_T07_a_leader_that_is_killed_is_replaced(self):
        ann, term = self.leader("ann")
        ben, cat = self.candidate("ben", "follower"), self.candidate("cat", "follower")
        ann.send(signal.SIGKILL)
        self.assertEqual(ann.wait(), -signal.SIGKILL)
        second = ben.out.event("elected")["term"]
        self.assertGreater(second, term)
        cat.out.event("leader_changed", leader="ben")
        ben.out.event("extended", term=second)
        ben.send(signal.SIGKILL)
        self.assertGreater(cat.out.event("elected")["term"], second)
        self.assert_kept_promise(3)

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
        ann.send(signal.SIGKILL)
        ann.wait()
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


if __name__ == "__main__":
    unittest.main()
