#!/usr/bin/env python3
"""Candidates in processes of their own on a real Redis server: one is killed, stopped or started anew."""

import shutil
import subprocess
import unittest

from driver import Case, binary, eventually
from faults import CommonFaults, FaultCase

Case.command = binary()


class Faults(CommonFaults, FaultCase):
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

    def test_T07_a_leader_that_is_killed_is_replaced_by_the_next_in_line(self):
        ann, term = self.leader("ann")
        ben, cat = self.candidate("ben", "follower"), self.candidate("cat", "follower")
        self.kill(ann)
        second = ben.out.event("elected")["term"]
        self.assertGreater(second, term)
        cat.out.event("leader_changed", leader="ben")
        ben.out.event("extended", term=second)
        self.kill(ben)
        self.assertGreater(cat.out.event("elected")["term"], second)
        self.assert_kept_promise(3)


if __name__ == "__main__":
    unittest.main()
