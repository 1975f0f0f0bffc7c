#!/usr/bin/env python3
"""Every example ends by itself and says what it should, alone on a store of its own."""

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(2))
SOURCE = pathlib.Path(sys.argv.pop(1)) / "examples"

EXPECTED = {
    "lead": ["report 1, written in a term that is valid", "the next one waits until others had their turn",
             "report 2, written in a term that is valid", "report 3, written in a term that is valid"],
    "run": ["run 1", "run 2", "run 3", "released, ended"],
    "callbacks": ["elected: the scheduler is resumed",
                  "stopping (resigned): the scheduler is paused, running jobs end",
                  "lost: another one leads within milliseconds"],
    "checks": ["clean-up 1", "clean-up 2", "clean-up 3"],
    "migration": ["migrating the schema, once", "serving"],
    "future": ["reading the input, leader or not", "writing the output"],
    "coroutine": ["report 1", "report 2", "stopped"],
    "observer": ["the leader is at 10.0.0.7:8080"],
    "events": ["started", "elected", "leader_changed", "stopping", "lost", "leader_changed", "stopped"],
    "redis_client": ["elected over the program's own client, in a term that is valid"],
    "postgres_client": ["written by the leader", "refused: that term is over"],
}  # fmt: skip
ON_ANY_STORE = set(EXPECTED) - {"redis_client", "postgres_client"}


@contextlib.contextmanager
def redis_server():
    """The Unix socket of a server that ends with its user."""
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/socket"
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", ""],
                                  stdout=subprocess.PIPE, text=True)
        try:
            while "The server is now ready to accept connections at" not in server.stdout.readline():
                assert server.poll() is None, "redis-server ended"
            yield socket
        finally:
            server.kill()
            server.communicate()


@contextlib.contextmanager
def postgres_server():
    """The URL of a server that ends with its user, and does not run as root."""
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    command = ["setpriv", "--pdeathsig=KILL"]
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            command += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            shutil.chown(folder, user.pw_uid, user.pw_gid)
        data = f"{folder}/data"
        subprocess.run([*command, programs / "initdb", "--no-sync", "--auth=trust", "--username=conclave", "--locale=C",
                        "--encoding=UTF8", data], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        server = subprocess.Popen([*command, programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=",
                                   "-c", "fsync=off"], stderr=subprocess.PIPE, text=True, cwd=folder)
        try:
            while "database system is ready to accept connections" not in server.stderr.readline():
                assert server.poll() is None, "postgres ended"
            yield f"postgresql://conclave@/postgres?host={folder}"
        finally:
            server.terminate()  # waits until all have gone
            server.communicate()


class Examples(unittest.TestCase):
    def run_example(self, name, url):
        with tempfile.TemporaryDirectory() as folder:
            command = [FOLDER / f"conclave-example-{name}", url, f"{folder}/done"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{name} {url}: {done.stderr}")
        self.assertEqual(done.stdout.splitlines(), EXPECTED[name], f"{name} {url}")

    def test_all_of_them_on_every_store_without_a_server(self):
        for name in sorted(ON_ANY_STORE):
            with self.subTest(name):
                self.run_example(name, "memory:?lease=500ms")
                with tempfile.TemporaryDirectory() as folder:
                    self.run_example(name, f"file:{folder}/elections?lease=500ms")

    def test_all_of_them_on_redis(self):
        with redis_server() as socket:
            self.run_example("redis_client", socket)
            for name in sorted(ON_ANY_STORE):
                with self.subTest(name):
                    self.run_example(name, f"redis+unix://{socket}?lease=1s")

    def test_all_of_them_on_postgres(self):
        with postgres_server() as url:
            self.run_example("postgres_client", url)
            for name in sorted(ON_ANY_STORE):
                with self.subTest(name):
                    self.run_example(name, f"{url}&lease=1s")

    def test_a_postgres_that_refuses_is_told_once(self):
        with postgres_server() as url:
            psql = ["psql", "--quiet", "--no-psqlrc", url, "--command", "create role modest login"]
            subprocess.run(psql, check=True, timeout=60)
            done = subprocess.run([FOLDER / "conclave-example-postgres_client", url.replace("conclave@", "modest@")],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertEqual(done.stderr.count("permission denied"), 1, done.stderr)

    def test_of_three_instances_one_migrates(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [FOLDER / "conclave-example-migration", f"file:{folder}/elections?lease=500ms", f"{folder}/done"]
            instances = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
            stories = sorted(each.communicate(timeout=60)[0].splitlines() for each in instances)
        self.assertEqual([each.returncode for each in instances], [0, 0, 0])
        self.assertEqual(stories, [["migrated already", "serving"]] * 2 + [["migrating the schema, once", "serving"]])

    def test_none_is_left_out(self):
        self.assertEqual({path.stem for path in SOURCE.glob("*.cpp")}, set(EXPECTED))
        readme = (SOURCE / "README.md").read_text()
        for name in EXPECTED:
            self.assertIn(f"[{name}.cpp]", readme)

    def test_bad_urls_are_refused_with_a_sentence(self):
        for url, part in (("nonsense", "scheme"), ("reddis://x", "knows"), ("memory:?leese=3s", "leese")):
            done = subprocess.run([FOLDER / "conclave-example-lead", url], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0, url)
            self.assertRegex(done.stderr, re.escape(part), url)


if __name__ == "__main__":
    unittest.main()
