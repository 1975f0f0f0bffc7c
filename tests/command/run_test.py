#!/usr/bin/env python3
"""`conclave run`: what the command is given, how it ends, and who runs next."""

import contextlib
import os
import signal
import sys
import unittest

from driver import NS, Case, binary, boot_ns, eventually
from runs import Openings, Run, RunCase, open_files, stat_of, wait_until_gone

Case.command = binary()


class WhatTheCommandIsGiven(RunCase):
    def test_its_term_and_no_secret(self):
        run = self.run_job("env", "for=0", options=["--id", "me"],
                           environment={"CONCLAVE_METADATA": "hidden", "CONCLAVE_PASSWORD": "hidden", "OTHER": "seen"})
        self.assertEqual(run.process.wait(), 0)
        given = dict(line.split(" ", 2)[1:] for line in run.process.out.lines if line.startswith("env "))
        ours = {name: text for name, text in given.items() if name.startswith("CONCLAVE_")}
        self.assertEqual(set(ours), {"CONCLAVE_ELECTION", "CONCLAVE_CANDIDATE", "CONCLAVE_TERM"})
        self.assertEqual((ours["CONCLAVE_ELECTION"], ours["CONCLAVE_CANDIDATE"]), ("jobs", "me"))
        self.assertGreater(int(ours["CONCLAVE_TERM"]), 0)
        self.assertEqual(given["OTHER"], "seen")

    def test_a_process_group_of_its_own(self):
        run = self.run_job().wait_start()
        groups = [stat_of(pid)[2] for pid in (run.job, run.front, run.keeper, run.guardian)]
        self.assertEqual(groups[0], str(run.job))
        self.assertEqual(len(set(groups)), 4, groups)

    def test_no_descriptor_of_ours(self):
        done = self.ask("run", "--store", self.store, "--", "ls", "/proc/self/fd")
        self.assertEqual(done, (0, "0\n1\n2\n3\n", ""))  # the third is the folder that it reads

    def test_the_election_is_the_name_of_the_command(self):
        code, out, _ = self.ask("run", "--store", self.store, "/bin/sh", "-c", "echo $CONCLAVE_ELECTION")
        self.assertEqual((code, out), (0, "sh\n"))

    def test_what_looks_like_an_option_after_the_command_is_its_own(self):
        for dashes in ([], ["--"]):
            code, out, _ = self.ask("run", "--store", self.store, *dashes, "echo", "--help", "--", "--once")
            self.assertEqual((code, out), (0, "--help -- --once\n"))


class ExitCodes(RunCase):
    def test_the_commands_own(self):
        for script, code in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)):
            self.assertEqual(self.ask("run", "--store", self.store, "sh", "-c", script), (code, "", ""), script)

    def test_not_elected_in_time(self):
        self.run_job().wait_start()
        second = self.run_job(options=["--timeout", "100ms"])
        self.assertEqual(second.process.wait(), 124)
        self.assertEqual(second.process.out.text, "")
        self.assertEqual(second.process.err.text, 'conclave: was not elected in "jobs" within the time-out\n')

    def test_told_to_end_while_it_waits(self):
        self.run_job().wait_start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            second = self.run_job().wait_ready()
            second.process.send(number)
            self.assertEqual(second.process.wait(), 128 + number)
            self.assertEqual(second.process.out.text, "")

    def test_election_ended_meanwhile(self):
        for options in ((), ("--on-lost", "exit"), ("--once",)):
            run = self.run_job("family", options=options).wait_start(relatives=2)
            self.assertEqual(self.ask("end", "--store", self.store, "--election", "jobs")[0], 0)
            self.assertEqual(run.process.wait(), 125)
            self.assertEqual(run.process.err.text, 'conclave: the election "jobs" was ended: remove it to begin anew\n')
            self.assert_gone(run.family())
            self.assertEqual(self.ask("remove", "--store", self.store, "--election", "jobs")[0], 0)


class Signals(RunCase):
    def test_passed_on(self):
        run = self.run_job().wait_start()
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            run.process.send(number)
            self.assertEqual(run.process.out.next(), f"got {number.name}")
        run.process.send(signal.SIGINT)
        self.assertEqual(run.process.out.next(), "got SIGINT")
        self.assertEqual(run.process.wait(), 130)

    def test_a_second_request_to_end_is_passed_on_too(self):
        run = self.run_job("ignore-term").wait_start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            run.process.send(number)
            self.assertEqual(run.process.out.next(), f"got {number.name}")

    def test_sigterm_while_the_term_ends_anyway(self):
        """The command is on its way out: whoever asks then for the end of all means that, too."""
        run = self.run_job("ignore-term", options=["--term-limit", "300ms", "--drain", "1h"]).wait_start()
        self.assertEqual(run.process.out.next(), "got SIGTERM")
        run.process.send(signal.SIGTERM)
        self.assertEqual(run.process.out.next(), "got SIGTERM")
        os.kill(run.job, signal.SIGKILL)  # ends at last
        self.assertEqual(run.process.wait(), 137)
        self.assertEqual(run.process.out.text.count("start"), 1)

    def test_nohup_is_respected(self):
        run = self.run_job(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)).wait_start()
        run.process.send(signal.SIGHUP)
        run.process.send(signal.SIGUSR1)
        self.assertEqual(run.process.out.next(), "got SIGUSR1")

    def test_sigterm_waits_for_the_work_and_then_releases(self):
        first = self.run_job("code=3").wait_start()
        second = self.run_job()
        first.process.send(signal.SIGTERM)
        self.assertEqual(first.process.wait(), 3)
        self.assertEqual(first.process.err.text, "")
        second.wait_start()
        self.assert_no_overlap(2)

    def test_interrupted_on_a_terminal(self):
        run = self.run_job(terminal=(24, 80)).wait_start()
        run.process.type("\x03")
        run.process.out.wait_text("got SIGINT")
        self.assertEqual(run.process.wait(), 130)
        self.assertEqual(run.process.out.text.count("got SIGINT"), 1)  # not once more from the terminal


class Endings(RunCase):
    def test_next_one_runs_when_the_command_has_ended(self):
        first = self.run_job("family", "for=0.2").wait_start(relatives=2)
        second = self.run_job("for=0")
        self.assertEqual(first.process.wait(), 0)
        self.assert_gone(first.relatives)
        self.assertEqual(second.process.wait(), 0)
        self.assertIn("start", second.process.out.text)
        self.assertNotIn("relative", second.process.out.text)

    def test_whoever_left_the_group_is_dead_before_the_next_runs(self):
        first = self.run_job("family").wait_start(relatives=2)
        self.assertNotEqual(stat_of(first.relatives[0])[3], stat_of(first.relatives[1])[3])
        second = self.run_job()
        first.process.send(signal.SIGTERM)
        second.wait_start()
        self.assertEqual(first.process.wait(), 143)
        self.assert_no_overlap(2)

    def test_many_runs_never_overlap(self):
        runs = [self.run_job("for=0.05", "family") for _ in range(5)]
        for run in runs:
            self.assertEqual(run.process.wait(), 0, run.process.err.text)
        self.assert_no_overlap(5)

    def test_once_is_not_run_again_by_restart(self):
        run = self.run_job("for=0", "code=9", options=["--once", "--restart", "always"])
        self.assertEqual(run.process.wait(), 9)
        self.assertEqual(run.process.out.text.count("start"), 1)

    def test_once_ends_with_the_term(self):
        run = self.run_job(options=["--once", "--term-limit", "3s"])
        self.assertEqual(run.process.wait(), 75)
        self.assertEqual(run.process.out.text.count("start"), 1)
        self.assertEqual(run.process.err.lines, ['conclave: leadership of "jobs" ends (term limit): stops the command',
                                                 "conclave: leadership was lost before the command ended"])

    def test_restart_on_failure_within_the_term(self):
        run = self.run_job(f"fail-first={self.folder}/first", "for=0", options=["--restart", "on-failure"])
        self.assertEqual(run.process.wait(), 0)
        starts = [line.split()[2] for line in run.process.out.lines]
        self.assertEqual(len(starts), 2)
        self.assertEqual(starts[0], starts[1])

    def test_restart_always_until_told_to_end(self):
        run = self.run_job(options=["--restart", "always"]).wait_start()
        first = run.job
        os.kill(first, signal.SIGKILL)
        self.assertNotEqual(run.wait_start().job, first)
        run.process.send(signal.SIGTERM)
        self.assertEqual(run.process.wait(), 143)

    def test_term_ends_between_two_runs(self):
        """Nothing runs that a hand-over would have to wait for."""
        first = self.run_job("for=0", options=["--restart", "always", "--term-limit", "500ms", "--drain", "1h"])
        first.process.out.until("start")
        self.run_job().wait_start()

    def test_lost_then_elected_again(self):
        run = self.run_job(options=["--term-limit", "3s"]).wait_start()
        first = run.term
        run.wait_start()
        self.assertGreater(run.term, first)
        self.assert_no_overlap(2)

    def test_lost_then_exit(self):
        run = self.run_job("family", options=["--on-lost", "exit"]).wait_start(relatives=2)
        for path in (self.folder / "store").glob("*.election"):
            path.unlink()
        self.assertEqual(run.process.wait(), 75)
        self.assertEqual(run.process.err.lines[-2:],
                         ['conclave: leadership of "jobs" ends (record gone): stops the command',
                          "conclave: leadership was lost before the command ended"])
        self.assert_gone(run.family())

    def test_a_store_that_does_not_answer(self):
        """SIGTERM at the grace before the deadline; whoever does not heed it is dead before the deadline."""
        (self.folder / "real").mkdir(0o700)
        self.lead_store_to("real")
        run = self.run_job("ignore-term", "family", options=["--on-lost", "exit"]).wait_start(relatives=2)
        self.lead_store_to("store")  # the lock is still held, but no renewal succeeds
        self.assertEqual(run.process.wait(), 75)
        self.assertIn("got SIGTERM", run.process.out.text)
        self.assertIn('leadership of "jobs" ends (lease expired): stops the command\n', run.process.err.text)
        self.assert_gone(run.family())
        self.lead_store_to("real")
        self.assertEqual(self.run_job("for=0").process.wait(), 0)
        self.assert_no_overlap(2)

    def test_drain_overrun_is_killed(self):
        """P02: work that does not end when told; the place is taken from it, not shared with it."""
        first = self.run_job("ignore-term", "family", options=["--drain", "300ms"]).wait_start(relatives=2)
        second = self.run_job()
        first.process.send(signal.SIGTERM)
        self.assertEqual(first.process.wait(), 137)
        self.assertIn("got SIGTERM", first.process.out.text)
        second.wait_start()
        self.assert_no_overlap(2)

    def test_drain_overrun_of_a_term_limit_is_killed(self):
        """P02: the same when it is the term that ends."""
        first = self.run_job("ignore-term", "family",
                             options=["--term-limit", "3s", "--drain", "300ms", "--on-lost", "exit"])
        first.wait_start(relatives=2)
        second = self.run_job()
        self.assertEqual(first.process.wait(), 75)
        self.assertIn("got SIGTERM", first.process.out.text)
        second.wait_start()
        self.assert_gone(first.family())
        self.assert_no_overlap(2)

    def test_a_stopped_command_hears_of_its_end(self):
        run = self.run_job().wait_start()
        os.kill(run.job, signal.SIGSTOP)
        run.process.send(signal.SIGTERM)
        self.assertEqual(run.process.wait(), 143)
        wait_until_gone(run.job)


class BetweenTwoRuns(RunCase):
    lease = "30s"

    @staticmethod
    def watched_by(pid):
        """How many processes it has descriptors of."""
        return sum("pidfd" in name for _, name in open_files(pid))

    def test_told_to_end(self):
        """The keeper hears of it when the next run is due: nothing is started only to be killed."""
        script = self.folder / "script"
        script.write_text("#!/bin/sh\necho start $$ $CONCLAVE_TERM\nexec sleep 600\n")
        script.chmod(0o755)
        run = Run(self.start("run", "--store", self.store, "--lease", self.lease, "--restart", "always", script))
        self.addCleanup(self.continue_all, run)
        run.wait_start()
        openings = Openings(script)
        self.addCleanup(openings.close)
        before = self.watched_by(run.keeper)
        os.kill(run.job, signal.SIGKILL)
        eventually(lambda: self.watched_by(run.keeper) < before, "the end of the first run")
        os.kill(run.keeper, signal.SIGSTOP)
        run.process.send(signal.SIGTERM)
        eventually(run.passed_on, "the signal on its way")
        self.assertFalse(openings.any_since())
        due = boot_ns() + NS  # a second after the end of the first, or earlier
        eventually(lambda: boot_ns() > due, "the time of the next run")
        os.kill(run.keeper, signal.SIGCONT)
        self.assertEqual(run.process.wait(), 143)
        self.assertFalse(openings.any_since())


class WhoIsNotOfTheFamily(RunCase):
    """`sh -c 'helper & exec conclave run ...'`: the helper is a child of the front, but not the command's."""

    lease = "10s"
    helper = """trap 'kill $child; echo helper lives; exit' TERM
                sleep 600 & child=$!
                echo helper $$
                wait $child; echo helper lost its child"""

    def setUp(self):
        super().setUp()
        self.first = self.run_job("family", through=["sh", "-c", 'sh -c "$0" & exec "$@"', self.helper])
        words = self.first.process.out.until("helper").split()
        self.helper_fd = os.pidfd_open(int(words[1]))
        self.addCleanup(os.close, self.helper_fd)
        self.addCleanup(self.end_helper)
        self.first.process.out.taken = 0  # the job may have spoken before
        self.first.wait_start(relatives=2)

    def end_helper(self):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.helper_fd, signal.SIGTERM)

    def assert_helper_lives(self):
        self.end_helper()
        self.assertEqual(self.first.process.out.until(lambda line: line.startswith("helper l")), "helper lives")

    def test_lives_on_when_the_command_ends(self):
        os.kill(self.first.front, signal.SIGSTOP)  # it would end the guardian, who has the time now to do harm
        os.kill(self.first.job, signal.SIGTERM)
        wait_until_gone(self.first.guardian)
        os.kill(self.first.front, signal.SIGCONT)
        self.assertEqual(self.first.process.wait(), 143)
        self.assert_gone(self.first.family())
        self.assert_helper_lives()

    def test_lives_on_when_the_keeper_is_killed(self):
        os.kill(self.first.keeper, signal.SIGKILL)
        self.assertEqual(self.first.process.wait(), 125)
        self.assert_gone(self.first.family())
        self.assert_helper_lives()


class NothingIsLeftBehind(RunCase):
    def test_command_that_cannot_be_executed(self):
        script = self.folder / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.assert_refused(self.ask("run", "--store", self.store, "--election", "jobs", script), 127, str(script))
        script.write_text("neither a script nor a program\n")
        self.assert_refused(self.ask("run", "--store", self.store, "--election", "jobs", script), 126, str(script))
        self.assertEqual(self.ask("status", "--store", self.store, "--election", "jobs")[0], 3)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main()
