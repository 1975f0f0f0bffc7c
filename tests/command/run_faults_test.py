#!/usr/bin/env python3
"""`conclave run` when its own processes are killed or stopped (P11).

Always: the whole family of the command is dead before another candidate's command starts. On the file store the
place is free once the holder's descriptors are closed, so that is the sharpest there is: no lease hides a mistake.
Where a process was stopped, nobody renews any more, and the family has to be dead within a lease of that. The lease
counts from the last request before it, up to a third of a lease earlier, which the outside cannot see; the sharp
case is the one where the keeper is stopped at the fork, hardly after the request by which it was elected.
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

from driver import NS, Case, binary, boot_ns
from runs import RunCase, stat_of, stop_after_fork, wait_until_gone

Case.command = binary()


class Faults(RunCase):
    lease = "2s"
    lease_ns = 2 * NS

    def setUp(self):
        super().setUp()
        self.first = self.run_job("family", "ignore-term").wait_start(relatives=2)
        self.second = self.run_job().wait_ready()

    def strike(self, number, *pids):
        """When it had been done to all of them."""
        for pid in pids:
            os.kill(pid, number)
        return boot_ns()

    def assert_dead_within_the_lease(self, since):
        self.assert_gone(self.first.family())
        _, last = self.stamps()[self.first.term]
        self.assertLess(last, since + self.lease_ns)

    def assert_next_runs(self):
        self.second.wait_start()
        self.assertGreater(self.second.term, self.first.term)
        self.assert_gone(self.first.family())
        self.assert_no_overlap(2)

    def assert_asked_first(self):
        """SIGTERM before SIGKILL."""
        self.first.process.out.until("got SIGTERM")

    def assert_failed(self, sentence):
        self.assertEqual(self.first.process.wait(), 125)
        self.assertIn(sentence, self.first.process.err.text)

    def test_front_killed(self):
        self.strike(signal.SIGKILL, self.first.front)
        self.assert_asked_first()
        self.assert_next_runs()
        wait_until_gone(self.first.keeper)
        wait_until_gone(self.first.guardian)

    def test_front_stopped(self):
        self.strike(signal.SIGSTOP, self.first.front)
        self.assert_asked_first()
        self.assert_next_runs()
        self.strike(signal.SIGCONT, self.first.front)
        self.assert_failed("does not run any more")

    def test_keeper_killed(self):
        self.strike(signal.SIGKILL, self.first.keeper)
        self.assert_next_runs()
        self.assert_failed("ended by signal 9")

    def test_keeper_stopped(self):
        """Its front ends it at last: where a lease never expires it would keep its place for ever."""
        since = self.strike(signal.SIGSTOP, self.first.keeper)
        self.assert_dead_within_the_lease(since)
        self.assert_next_runs()
        self.assert_failed("ended by signal 9")

    def test_keeper_stopped_and_continued(self):
        self.second.process.close()
        since = self.strike(signal.SIGSTOP, self.first.keeper)
        self.assert_dead_within_the_lease(since)
        self.strike(signal.SIGCONT, self.first.keeper)
        before = self.first.term
        self.first.wait_start(relatives=2)  # elected again, as --on-lost wait says
        self.assertGreater(self.first.term, before)
        self.assert_no_overlap(2)

    def test_keeper_stopped_before_it_can_tell_of_the_command(self):
        """At the fork: the others know by then when to kill it."""
        self.second.wait_companions()
        since = stop_after_fork(self.second.keeper, self.first.process.close)
        if since is None:
            self.skipTest("processes may not be traced here")
        self.second.wait_start()
        wait_until_gone(self.second.job)
        _, last = self.stamps()[self.second.term]
        self.assertLess(last, since + self.lease_ns)
        self.assert_no_overlap(2)

    def test_killed_in_time_and_yet_renewed(self):
        """The keeper goes on after its command was killed, and before its term is over: it gives the place up."""
        self.first.process.close()
        first = self.second.wait_start()
        first.process.close()
        run = self.run_job(options=["--grace", "1ms"]).wait_start()
        self.strike(signal.SIGSTOP, run.keeper)
        wait_until_gone(run.job)
        self.strike(signal.SIGCONT, run.keeper)
        before = run.term
        self.assertGreater(run.wait_start().term, before)
        self.assert_no_overlap(4)

    def test_front_and_keeper_stopped(self):
        since = self.strike(signal.SIGSTOP, self.first.front, self.first.keeper)
        self.assert_dead_within_the_lease(since)
        self.strike(signal.SIGKILL, self.first.keeper)  # what the file store asks for
        self.assert_next_runs()

    def test_front_and_keeper_killed(self):
        """Whoever has left the command's group is out of reach then, without a control group."""
        away = next(pid for pid in self.first.relatives if stat_of(pid)[2] != str(self.first.job))
        os.kill(away, signal.SIGKILL)
        wait_until_gone(away)
        self.strike(signal.SIGKILL, self.first.front, self.first.keeper)
        self.assert_next_runs()
        wait_until_gone(self.first.guardian)

    def test_guardian_killed(self):
        self.strike(signal.SIGKILL, self.first.guardian)
        self.assert_asked_first()
        self.assert_next_runs()
        self.assert_failed("the process that guards the command is gone")

    def test_guardian_stopped_then_keeper_killed(self):
        self.strike(signal.SIGSTOP, self.first.guardian)
        self.strike(signal.SIGKILL, self.first.keeper)
        self.assert_next_runs()
        self.assert_failed("ended by signal 9")

    def test_place_is_kept_while_anybody_of_the_family_lives(self):
        """Nobody is there to end the family, and still nobody else is elected."""
        self.second.process.close()
        self.strike(signal.SIGSTOP, self.first.front, self.first.guardian)
        self.strike(signal.SIGKILL, self.first.keeper)
        wait_until_gone(self.first.job)  # the kernel ends that one with its parent
        other = self.join("jobs")
        role = other.out.until(lambda line: '"follower"' in line or '"elected"' in line)
        self.assertIn('"follower"', role)
        self.assertNotIn("Z", [stat_of(pid)[0] for pid in self.first.relatives])
        self.strike(signal.SIGCONT, self.first.guardian)
        elected = other.out.event("elected")
        self.assertLess(self.stamps()[self.first.term][1], elected["at_ns"])
        self.assert_gone(self.first.relatives)

    def test_guardian_heeds_no_other_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM):
            self.strike(number, self.first.guardian)
        self.first.process.send(signal.SIGUSR1)
        self.first.process.out.until("got SIGUSR1")
        self.assertEqual(os.readlink(f"/proc/{self.first.guardian}/exe"), self.command)


class ControlGroups(RunCase):
    """Where one can be made: here in a mount namespace that has cgroup v2 where conclave looks for it."""

    mounted = ["unshare", "-m", "sh", "-c", 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', "sh"]

    def setUp(self):
        super().setUp()
        own = pathlib.Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
        self.parent = f"/sys/fs/cgroup{own}"
        trial = f"{self.parent}/conclave-trial-{os.getpid()}"
        script = f"mkdir '{trial}' && test -w '{trial}/cgroup.kill'; code=$?; rmdir '{trial}'; exit $code"
        if subprocess.run([*self.mounted, "sh", "-c", script], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no control group can be made here")

    @staticmethod
    def group_of(pid):
        return pathlib.Path(f"/proc/{pid}/cgroup").read_text().rstrip().rpartition("/")[2]

    def test_nobody_escapes_when_front_and_keeper_are_killed(self):
        run = self.run_job("family", through=self.mounted).wait_start(relatives=2)
        self.assertEqual({self.group_of(pid) for pid in run.family()}, {f"conclave-{run.keeper}"})
        for pid in (run.front, run.keeper):
            os.kill(pid, signal.SIGKILL)
        self.assert_gone(run.family())

    def test_one_that_was_left_behind_is_used(self):
        first = self.run_job().wait_start()
        second = self.run_job(through=self.mounted).wait_companions()
        left = pathlib.Path(f"/proc/{second.keeper}/root{self.parent}/conclave-{second.keeper}")
        left.mkdir()
        first.process.send(signal.SIGTERM)
        second.wait_start()
        self.assertEqual(self.group_of(second.job), left.name)
        second.process.send(signal.SIGTERM)
        self.assertEqual(second.process.wait(), 143)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main()
