"""Candidates in processes of their own that are killed, stopped and started anew; on any store whose lease expires.

No line of its own says that a process was killed. Where its death frees nothing, check-history takes it for leading
until the end that it named itself: nobody may be elected before.
"""

import json
import signal

from driver import Case, boot_ns, eventually
from history import History
from runs import stat_of


class FaultCase(Case):
    lease = "2s"
    death_frees = False  # the server learns at once that a process is dead

    def setUp(self):
        super().setUp()
        self.all, self.killed = [], []

    def candidate(self, name, event):
        """It has come that far."""
        process = self.join(identity=name)
        process.name = name
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
