#!/usr/bin/env python3
"""`conclave join`: what it prints, what signals do to it, and that a crowd under faults keeps the promise."""

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import time
import unittest

from driver import HANG, Case, binary, boot_ns, clean_environment, eventually
from history import History

Case.command = binary()

# Which fields each event has besides event, at_ns, election and candidate.
FIELDS = {
    "started": set(),
    "follower": set(),
    "elected": {"term", "valid_until_ns"},
    "extended": {"term", "valid_until_ns"},
    "stopping": {"term", "reason"},
    "lost": {"term", "reason"},
    "leader_changed": {"leader"},  # and the last term known
    "stopped": set(),
}


def kinds(process):
    """Its events in order, without extensions: how many there are is a matter of time."""
    return [line["event"] for line in process.out.all_json() if line["event"] != "extended"]


class Lines(Case):
    def test_one_object_for_each_event_with_its_fields(self):
        ann = self.join("reports", identity="ann")
        extended = ann.out.event("extended")
        ann.send(signal.SIGTERM)
        self.assertEqual(ann.wait(), 0)
        self.assertEqual(ann.err.text, "")
        self.assertEqual(
            kinds(ann), ["started", "elected", "leader_changed", "stopping", "lost", "leader_changed", "stopped"]
        )
        lines = ann.out.all_json()
        self.assertEqual([list(line)[:4] for line in lines], [["event", "at_ns", "election", "candidate"]] * len(lines))
        for line in lines:
            kind = line["event"]
            fields = set(line) - {"event", "at_ns", "election", "candidate"}
            self.assertEqual(fields - ({"term"} if kind == "leader_changed" else set()), FIELDS[kind], line)
            self.assertEqual((line["election"], line["candidate"]), ("reports", "ann"))
            self.assertIs(type(line["at_ns"]), int)
        by_kind = {line["event"]: line for line in lines if line["event"] != "extended"}
        self.assertEqual([line["leader"] for line in lines if line["event"] == "leader_changed"], ["ann", ""])
        for kind in ("stopping", "lost"):
            self.assertEqual(by_kind[kind]["reason"], "stopped")
        self.assertEqual({line["term"] for line in lines if "term" in line}, {by_kind["elected"]["term"]})
        self.assertGreater(extended["valid_until_ns"], by_kind["elected"]["valid_until_ns"])

    def test_errors_are_told_with_their_message(self):
        ann = self.join(identity="ann")
        ann.out.event("elected")
        ann.send(signal.SIGTERM)
        self.assertEqual(ann.wait(), 0)
        (self.folder / "store" / "e.election").write_bytes(b"nonsense")
        ben = self.join(identity="ben")
        error = ben.out.event("error")
        self.assertEqual(set(error) - {"event", "at_ns", "election", "candidate"}, {"message", "code", "retryable"})
        self.assertIn("e.election is damaged", error["message"])
        self.assertEqual((error["code"], error["retryable"]), ("corrupt", False))

    def test_jeopardy(self):
        (self.folder / "real").mkdir(0o700)
        self.lead_store_to("real")
        ann = self.join(identity="ann")
        term = ann.out.event("extended")["term"]
        self.lead_store_to("store")  # no renewal succeeds
        jeopardy = ann.out.event("jeopardy")
        self.assertEqual(set(jeopardy) - {"event", "at_ns", "election", "candidate"}, {"term", "valid_until_ns"})
        lost = ann.out.event("lost")
        self.assertEqual((jeopardy["term"], lost["term"], lost["reason"]), (term, term, "lease_expired"))

    def test_times_are_of_the_boot_clock_and_four_fifths_of_the_lease(self):
        before = boot_ns()
        ann = self.join(lease="30s")
        elected = ann.out.event("elected")
        self.assertLess(before, elected["at_ns"])
        self.assertLess(elected["at_ns"], boot_ns())
        self.assertLessEqual(elected["valid_until_ns"], elected["at_ns"] + 24_000_000_000)
        self.assertGreater(elected["valid_until_ns"], before + 20_000_000_000)

    def test_words_without_json(self):
        ann = self.start("join", "--store", self.store, "--election", "reports", "--id", "ann")
        ann.out.until("ann leads, term")
        ann.send(signal.SIGTERM)
        self.assertEqual(ann.wait(), 0)
        for line in ann.out.lines:
            self.assertRegex(line, r"^\d\d:\d\d:\d\d\.\d\d\d \w")
        words = [line.split(" ", 1)[1] for line in ann.out.lines]
        self.assertEqual(words[0], "started as a candidate")
        self.assertRegex(words[1], r"^became leader, term \d+$")
        self.assertRegex(words[-3], r"^lost leadership, term \d+: stopped$")
        self.assertEqual(words[-1], "stopped")

    def test_the_name_and_the_metadata_are_seen_by_others(self):
        ann = self.join(identity="ann", lease="7s")
        ann.out.event("elected")
        ben = self.join("billing", "--metadata", "10.0.0.7:80", identity="ben", lease="7s")
        ben.out.event("elected")
        self.assertIn('"leader":"ann"', self.status("e"))
        self.assertIn('"metadata":"10.0.0.7:80","lease":7.0', self.status("billing"))

    def test_a_name_is_made_when_none_is_given(self):
        first, second = self.join(), self.join()
        names = {process.out.event("started")["candidate"] for process in (first, second)}
        self.assertEqual(len(names), 2, names)
        self.assertNotIn("", names)

    def status(self, election):
        return self.ask("status", "--json", "--store", self.store, "--election", election)[1]


class SlowReaders(Case):
    """Nobody reads, or not yet: the pipe is full from the beginning."""

    def setUp(self):
        super().setUp()
        self.reads, self.writes = os.pipe()
        self.addCleanup(os.close, self.reads)
        fcntl.fcntl(self.writes, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(self.writes, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.writes, b"." * 4096)

    def start_into_pipe(self, blocking):
        os.set_blocking(self.writes, blocking)
        words = [self.command, "join", "--json", "--store", self.store, "--election", "e", "--lease", "1s", "--id", "ann"]
        process = subprocess.Popen(words, stdout=self.writes, stderr=subprocess.PIPE, text=True, env=clean_environment())
        os.close(self.writes)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        eventually(lambda: self.ask("status", "--store", self.store, "--election", "e")[0] == 0, "ann leads")
        return process

    def test_a_signal_is_heard_all_the_same(self):
        ann = self.start_into_pipe(blocking=True)
        ann.send_signal(signal.SIGTERM)
        self.assertEqual(ann.wait(HANG), 1)
        self.assertRegex(ann.stderr.read(), r"^conclave: the output was closed by its reader, or not read: [^\n]*\n$")
        self.assertEqual(self.ask("status", "--store", self.store, "--election", "e")[0], 3)

    def read_later(self, ann):
        text = b""
        while b'"event":"elected"' not in text:
            text += os.read(self.reads, 65536)
        self.assertIsNone(ann.poll(), "it stays")
        ann.send_signal(signal.SIGTERM)
        while b'"event":"stopped"' not in text:
            text += os.read(self.reads, 65536)
        self.assertEqual(ann.wait(HANG), 0)

    def test_what_waits_is_read_later(self):
        self.read_later(self.start_into_pipe(blocking=True))

    def test_an_output_that_does_not_block_is_not_closed(self):
        self.read_later(self.start_into_pipe(blocking=False))


class Signals(Case):
    def test_a_resignation_hands_over_and_the_candidate_stays(self):
        ann = self.join(identity="ann")
        first = ann.out.event("elected")
        ben = self.join(identity="ben")
        ben.out.event("follower")
        ann.send(signal.SIGUSR1)
        self.assertEqual(ann.out.event("lost")["reason"], "resigned")
        second = ben.out.event("elected")
        self.assertGreater(second["term"], first["term"])
        ann.out.event("leader_changed", leader="ben")
        ben.send(signal.SIGTERM)
        self.assertEqual(ben.wait(), 0)
        self.assertGreater(ann.out.event("elected")["term"], second["term"])

    def test_all_signals_that_stop_it_give_the_place_back(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            ann = self.join(identity="ann", lease="60s")
            ann.out.event("elected")
            ann.send(number)
            self.assertEqual(ann.wait(), 0)
            self.assertEqual(kinds(ann)[-4:], ["stopping", "lost", "leader_changed", "stopped"])
        self.elected_at_once()

    def test_a_reader_that_has_gone_ends_a_leader(self):
        for flags in (["--json"], []):
            ann = self.start("join", *flags, "--store", self.store, "--election", "e", "--lease", "60s")
            ann.out.until("lea")  # elected, and so quiet for long
            self.close_output(ann)
            self.assertEqual(ann.wait(), 1)
            self.assertEqual(ann.err.text, "conclave: the output was closed by its reader, or not read: left the election\n")
            self.elected_at_once()

    def test_a_reader_that_has_gone_ends_a_follower(self):
        ann = self.join(identity="ann", lease="60s")
        ann.out.event("elected")
        ben = self.join(identity="ben", lease="60s")
        ben.out.event("follower")
        self.close_output(ben)
        self.assertEqual(ben.wait(), 1)
        self.assertEqual(ben.err.text.count("\n"), 1)

    def close_output(self, process):
        """As a reader does that ends. The reader's descriptor stays one, of something else."""
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, process.popen.stdout.fileno())
        os.close(null)

    def elected_at_once(self):
        """Within a lease of a minute, nobody would be whose place has to be waited for."""
        ben = self.join(identity="ben", lease="60s")
        ben.out.event("elected", limit=50)
        ben.send(signal.SIGTERM)
        self.assertEqual(ben.wait(), 0)


class Crowd(Case):
    """Four processes, ten seconds of kills, pauses and resignations, and a proof."""

    names = ("ann", "ben", "cat", "dan")
    seconds = 10

    def start_one(self, name):
        self.crowd[name] = self.join(identity=name, lease="1s")
        self.all.append(self.crowd[name])
        self.crowd[name].out.wait_text('"started"')  # before that, a signal would simply end it

    def kill(self, name):
        self.killed.append('{"event":"killed","at_ns":%d,"candidate":"%s"}\n' % (boot_ns(), name))
        self.crowd[name].send(signal.SIGKILL)
        self.crowd[name].wait()
        self.start_one(name)

    def pause(self, name):
        """For longer than a lease: it is not leader any more when it goes on."""
        self.crowd[name].send(signal.SIGSTOP)
        until = boot_ns() + random.choice((200, 1300)) * 1_000_000
        while boot_ns() < until:
            self.pump(min(0.1, (until - boot_ns()) / 1e9))
        self.crowd[name].send(signal.SIGCONT)

    def resign(self, name):
        self.crowd[name].send(signal.SIGUSR1)

    def pump(self, limit):
        """Reads what they say, until somebody is elected or the time is over."""
        until = time.monotonic() + limit
        while (left := until - time.monotonic()) > 0:
            before = self.elections()
            for each in self.crowd.values():
                each.out.wait_more(time.monotonic() + min(left, 0.02))
            if self.elections() != before:
                return

    def elections(self):
        return sum('"elected"' in line for each in self.all for line in each.out.lines)

    def leader(self):
        """Who was elected last; a fault of the leader is worth more than one of a follower."""
        elected = [
            line for each in self.all for line in each.out.all_json() if line["event"] == "elected"
        ]
        return max(elected, key=lambda line: line["at_ns"])["candidate"] if elected else self.names[0]

    def test_no_two_lead_at_once(self):
        seed = int(os.environ.get("CONCLAVE_TEST_SEED", boot_ns()))
        random.seed(seed)
        self.crowd, self.all, self.killed = {}, [], []
        for name in self.names:
            self.start_one(name)
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < self.seconds or self.elections() < 6:
            self.assertLess(passed, HANG, "hardly anybody is elected")
            for fault in random.sample((self.kill, self.pause, self.resign), 3):
                self.pump(1.0)
                fault(self.leader() if random.random() < 0.8 else random.choice(self.names))
        for each in self.crowd.values():
            each.send(signal.SIGTERM)
        for each in self.crowd.values():
            self.assertEqual(each.wait(), 0, each.err.text)
        history = History()
        for index, each in enumerate(self.all):
            history.add(f"process {index}", each.out.text)
        history.add("killed", "".join(self.killed))
        told = f"CONCLAVE_TEST_SEED={seed}\n" + "".join(each.out.text for each in self.all) + "".join(self.killed)
        self.assertEqual(list(map(str, history.judge())), [], told)
        election = history.elections["e"]
        self.assertEqual(election.candidates(), set(self.names))
        self.assertGreater(election.hand_overs(), 0, told)


if __name__ == "__main__":
    unittest.main()
