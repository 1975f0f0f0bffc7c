#!/usr/bin/env python3
"""The command on a real Redis server: an election, what doctor says, and bad input."""

import json
import shutil
import subprocess
import unittest

from driver import Case, binary, eventually

Case.command = binary()
SECRET = "geheim"


class OnRedis(Case):
    """The server listens on a socket of its own, so nobody else has its address."""

    def serve(self, *settings):
        socket = self.folder / "redis.sock"
        process = subprocess.Popen(
            [shutil.which("redis-server"), "--port", "0", "--unixsocket", socket, "--dir", self.folder, "--save", "",
             *settings], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(socket.exists, "the socket of Redis")
        self.store = f"redis+unix://{socket}"

    def test_an_election(self):
        self.serve()
        ann = self.join(identity="ann")
        ann.out.event("elected")
        code, out, err = self.ask("status", "--store", self.store, "--election", "e")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("ann leads", out)

    def test_doctor_finds_nothing(self):
        self.serve("--appendonly", "yes")
        code, out, err = self.ask("doctor", "--store", self.store, "--lease", "30s")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("round trip", out)
        self.assertTrue(out.endswith("nothing here weakens the promise\n"), out)

    def test_doctor_finds_danger(self):
        self.serve("--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
        code, out, _ = self.ask("doctor", "--store", self.store, "--lease", "30s")
        self.assertEqual(code, 5)
        self.assertRegex(out, r"^danger: maxmemory-policy allkeys-lru: ")
        self.assertIn("noeviction", out)
        code, out, _ = self.ask("doctor", "--json", "--store", self.store, "--lease", "30s")
        first = json.loads(out.splitlines()[0])
        self.assertEqual((code, first["severity"], first["setting"]), (5, "danger", "maxmemory-policy allkeys-lru"))

    def test_a_wrong_password_is_one_sentence(self):
        self.serve("--requirepass", "right")
        wrong = f"{self.store}?password={SECRET}"
        for verb in (["doctor"], ["status", "--election", "e"]):
            done = self.ask(*verb, environment={"CONCLAVE_STORE": wrong, "CONCLAVE_LEASE": "30s"})
            self.assert_refused(done, 1, "user and password")
            self.assertNotIn(SECRET, done[2])

    def test_a_server_that_is_away_is_one_sentence(self):
        self.assert_refused(self.ask("doctor", "--store", f"redis+unix://{self.folder}/none"), 1, "none")


if __name__ == "__main__":
    unittest.main()
