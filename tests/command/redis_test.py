#!/usr/bin/env python3
"""The command on a real Redis server: an election, what doctor says, and bad input."""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import unittest

from driver import HANG, NS, Case, binary, eventually

Case.command = binary()
SECRET = "geheim"


class WithServer(Case):
    """The server listens on a socket of its own, so nobody else has its address."""

    def serve(self, *settings):
        path = self.folder / "redis.sock"
        process = subprocess.Popen(
            [shutil.which("redis-server"), "--port", "0", "--unixsocket", path, "--dir", self.folder, "--save", "",
             *settings], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(path.exists, "the socket of Redis")
        self.store = f"redis+unix://{path}"


class OnRedis(WithServer):
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
            self.assert_refused(done, 1, "does not know the user default (none is given) with this password")
            self.assertNotIn(SECRET, done[2])

    def test_a_server_that_is_away_is_one_sentence(self):
        self.assert_refused(self.ask("doctor", "--store", f"redis+unix://{self.folder}/none"), 1, "none")


class Errors(WithServer):
    """A store that is down or refuses is told of once, however often it is tried."""

    def refusing_server(self):
        """Accepts, and closes at once."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.folder / "none.sock"))
        listener.listen()
        listener.settimeout(HANG)
        self.store = f"redis+unix://{self.folder}/none.sock"
        return listener

    def tried(self, listener, times):
        for _ in range(times):
            listener.accept()[0].close()

    def test_each_once_for_people(self):
        listener = self.refusing_server()
        for verb in ("join", "watch"):
            process = self.start(verb, "--store", f"{self.store}?lease=1s", "--election", "e")
            self.tried(listener, 12)
            process.send(signal.SIGTERM)
            self.tried_until_end(listener, process)
            told = [line.split(" ", 1)[1] for line in process.out.lines if "none.sock" in line]
            self.assertGreater(len(told), 0, process.out.text)
            self.assertEqual(len(told), len(set(told)), process.out.text)

    def tried_until_end(self, listener, process):
        listener.settimeout(0.01)
        while process.popen.poll() is None:
            try:
                listener.accept()[0].close()
            except TimeoutError:
                pass
        listener.settimeout(HANG)
        process.wait()

    def test_once_a_lease_for_programs(self):
        self.store = f"redis+unix://{self.folder}/none"
        ann = self.join(identity="ann", lease="1s")
        first, second = ann.out.event("error"), ann.out.event("error")
        self.assertEqual(first["message"], second["message"])
        self.assertGreaterEqual(second["at_ns"] - first["at_ns"], NS)
        self.assertNotIn("times", first)
        self.assertGreater(second["times"], 1)

    def test_what_does_not_heal_by_itself_is_called_so(self):
        self.serve("--requirepass", "right")
        environment = {"CONCLAVE_STORE": f"{self.store}?password={SECRET}&lease=1s"}
        code, out, err = self.ask("run", "--timeout", "2s", "--", "true", environment=environment)
        self.assertEqual((code, out, err.count("\n")), (124, "", 2), err)
        self.assertIn("with this password", err)
        self.assertIn("does not heal by itself", err)
        join = self.start("join", "--election", "e", environment=environment)
        self.assertIn("does not heal by itself", join.out.until("with this password"))


class Secrets(WithServer):
    def test_no_process_of_run_shows_the_store(self):
        self.serve("--requirepass", SECRET)
        run = self.start("run", "--", "sh", "-c", "echo led; exec sleep 600",
                         environment={"CONCLAVE_STORE": f"{self.store}?password={SECRET}", "OTHER": "seen"})
        run.out.until("led")
        family = {run.pid, *below(run.pid)}
        self.assertEqual(len(family), 4)  # front, keeper, guardian, command
        for pid in family:
            shown = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            self.assertTrue(b"OTHER=seen" in shown, pid)
            self.assertFalse(SECRET.encode() in shown, "told without the rest of the environment")


def below(root):
    """Everybody who comes from that process."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended meanwhile
    found, more = set(), {root}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more}
        found |= more
    return found


if __name__ == "__main__":
    unittest.main()
