#!/usr/bin/env python3
"""Candidates in processes of their own on a real PostgreSQL server: one is killed or stopped, or the server is."""

import signal
import unittest

from driver import Case, binary
from faults import CommonFaults, FaultCase
from postgres import OnPostgres, servers

Case.command = binary()
setUpModule, tearDownModule = servers()


class Advisory(CommonFaults, OnPostgres, FaultCase):
    death_frees = True

    def test_T07_leaders_that_are_killed_are_replaced(self):
        first, term = self.leader("ann")
        others = [self.candidate(name, "follower") for name in ("ben", "cat", "dan")]
        for _ in range(3):
            self.kill(first)
            first, second = self.first_elected(*others)
            self.assertGreater(second, term)
            first.out.event("extended", term=second)
            others.remove(first)
            term = second
        self.assert_kept_promise(4)

    def test_a_follower_that_is_stopped_keeps_nobody_waiting(self):
        ann, term = self.leader("ann")
        ben, cat = self.candidate("ben", "follower"), self.candidate("cat", "follower")
        self.stop(ben)
        self.assert_hands_over(ann, cat, term)
        second = cat.out.event("extended")["term"]
        ben.send(signal.SIGCONT)
        ben.out.event("leader_changed", leader="cat", term=second)
        self.assert_hands_over(cat, ben, second)
        self.assert_kept_promise(3)

    def test_a_follower_that_is_stopped_while_the_leader_is_killed_keeps_nobody_waiting(self):
        ann, term = self.leader("ann")
        ben, cat = self.candidate("ben", "follower"), self.candidate("cat", "follower")
        self.stop(ben)
        self.kill(ann)
        second = cat.out.event("elected")["term"]
        self.assertGreater(second, term)
        ben.send(signal.SIGCONT)
        ben.out.event("leader_changed", leader="cat", term=second)
        self.assert_kept_promise(2)

    def test_a_flood_of_letters_to_a_leader_that_is_stopped_keeps_nobody_waiting(self):
        """What it does not read fills its buffers; a session that waits to be read never ends, with its locks."""
        ann, term = self.leader("ann")
        ben = self.candidate("ben", "follower")
        channel = 14695981039346656037  # see channel_of() in src/stores/postgres/texts.cpp
        for byte in b'"conclave_election"\ne':
            channel = (channel ^ byte) * 1099511628211 % 2**64
        self.stop(ann)
        self.server.sql(f"select pg_notify('conclave_{channel:016x}', i || repeat('x', 7900)) "
                        "from generate_series(1, 4000) i", self.database)
        second = ben.out.event("elected")["term"]
        self.assertGreater(second, term)
        unread = float(self.server.sql("select pg_notification_queue_usage()", self.database))
        self.assertGreater(unread, 0, "it was not flooded")
        ann.send(signal.SIGCONT)
        ann.out.event("leader_changed", leader="ben", term=second)
        self.assert_kept_promise(2)

    def test_P01_a_server_that_stands_still_ends_the_term_by_the_own_clock(self):
        ann, term = self.leader("ann")
        ben = self.candidate("ben", "follower")
        self.server.pause()
        self.addCleanup(self.server.resume)
        lost = ann.out.event("lost")
        self.assertEqual((lost["term"], lost["reason"]), (term, "lease_expired"))
        self.server.resume()
        leader, second = self.first_elected(ann, ben)
        self.assertGreater(second, term)
        self.assert_hands_over(leader, ben if leader is ann else ann, second)
        self.assert_kept_promise(3)

    def test_a_server_that_stands_still_for_a_moment_costs_nothing(self):
        ann, term = self.leader("ann")
        self.server.pause()
        self.addCleanup(self.server.resume)
        ann.out.event("jeopardy")
        self.server.resume()
        ann.out.event("extended", term=term)
        self.assert_kept_promise(1)


class Lease(Advisory):
    mode = "lease"
    death_frees = False


class Strict(Lease):
    mode = "advisory&strict=true"


if __name__ == "__main__":
    unittest.main()
