#!/usr/bin/env python3
"""conclave bench: what it measures has the promised shape, and nothing is left behind."""

import json
import os
import signal
import socket
import subprocess
import unittest

from driver import Case, Process, binary, clean_environment, eventually
from postgres import Pooler, Server

Case.command = binary()

FIELDS = ["bench", "store", "rounds", "p50_us", "p99_us", "max_us", "rtt_us"]
RAW = ["raw_p50_us", "raw_p99_us", "ratio_p50"]
BARE = ["bare_p50_us", "bare_ratio_p50"]
BEYOND = ["beyond_lease_p50_us", "beyond_lease_p99_us", "beyond_lease_max_us"]
RAW_BEYOND = ["raw_beyond_lease_p50_us", "raw_beyond_lease_p99_us"]
SCALE = ["candidates", "leaders", "bytes_each", "core_percent", "late_renewals", "terms_lost"]
IDLE = ["candidates", "leaders", "terms_lost", "lease_s", "sent_per_lease", "scripts_per_lease", "pings_per_lease",
        "executed_per_lease"]
IDLE_POSTGRES = IDLE[:4] + ["transactions_per_lease", "wal_bytes_per_lease"]
MODES = {"advisory": "", "strict": "?strict=true", "lease": "?mode=lease"}


class Bench(Case):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "a state"
        self.store = f"file:{self.folder}/a%20state"

    def bench(self, what, *more):
        code, out, complaint = self.ask("bench", what, "--store", self.store, "--json", *more)
        self.assertEqual((code, complaint), (0, ""), out)
        line = json.loads(out)
        self.assertEqual(out.count("\n"), 1)
        self.assertEqual((line["bench"], line["store"]), (what, self.store))
        self.assertLessEqual(line["p50_us"], line["p99_us"])
        self.assertLessEqual(line["p99_us"], line["max_us"])
        self.assertGreater(line["p50_us"], 0)
        self.assertGreater(line["rtt_us"], 0)
        self.assertEqual(os.listdir(self.state), [], "nothing is left behind")
        return line

    def test_processes(self):
        for what in ("first", "handoff", "crash"):
            line = self.bench(what, "--rounds", 3)
            self.assertEqual(list(line), FIELDS + RAW + BARE)
            self.assertEqual(line["rounds"], 3)
            self.assertAlmostEqual(line["ratio_p50"], line["p50_us"] / line["raw_p50_us"], delta=0.01)
            self.assertAlmostEqual(line["bare_ratio_p50"], line["p50_us"] / line["bare_p50_us"], delta=0.01)

    def test_check(self):
        line = self.bench("check", "--rounds", 2)
        self.assertEqual(list(line), FIELDS + RAW + ["follower_p50_us"])
        self.assertGreater(line["follower_p50_us"], 0)

    def test_scale(self):
        line = self.bench("scale", "--rounds", 1, "--candidates", 20)
        self.assertEqual(list(line), FIELDS + SCALE)
        self.assertEqual((line["rounds"], line["candidates"], line["leaders"]), (1, 20, 20))
        self.assertEqual(line["terms_lost"], 0)
        self.assertIsInstance(line["candidates"], int)

    def test_for_people(self):
        code, out, complaint = self.ask("bench", "first", "--store", self.store, "--rounds", 1)
        self.assertEqual((code, complaint), (0, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines()], FIELDS + RAW + BARE)

    def test_progress_on_a_terminal(self):
        bench = self.start("bench", "first", "--store", self.store, "--rounds", 2, terminal=(24, 80))
        self.assertEqual(bench.wait(), 0)
        self.assertIn("1 of 2", bench.out.text)
        self.assertIn("2 of 2", bench.out.text)

    def test_what_cannot_be_measured(self):
        self.assert_refused(self.ask("bench", "handoff", "--store", "memory:"), 2, "memory:", "file:")
        self.assert_refused(self.ask("bench", "idle", "--store", self.store), 2, "not available", "redis:")
        code, out, complaint = self.ask("bench", "first", "--store", "memory:", "--rounds", 1, "--json")
        self.assertEqual((code, complaint), (0, ""))
        self.assertEqual(list(json.loads(out)), FIELDS + ["raw"])
        self.assertIn("not available", json.loads(out)["raw"])
        with open("/dev/full", "w") as full:
            done = subprocess.run([self.command, "bench", "first", "--rounds", "1", "--store", self.store], stdout=full,
                                  stderr=subprocess.PIPE, text=True, env=clean_environment(), timeout=100)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^conclave: the output cannot be written: [^\n]*\n$")

    def test_its_candidates_end_with_it(self):
        bench = self.start("bench", "handoff", "--store", self.store, "--rounds", 100000, terminal=(24, 80))
        bench.out.wait_text("1 of 100000")
        bench.send(signal.SIGINT)
        self.assertEqual(bench.wait(), 128 + signal.SIGINT)
        self.assertEqual(os.listdir(self.state), [], "nothing is left behind")


class BenchRedis(Case):
    """With a server of its own, on a port and on a socket."""

    lease = "500ms"

    def setUp(self):
        super().setUp()
        self.socket = self.folder / "redis"
        while not self.start_server():
            pass
        self.store = f"redis://:secret@127.0.0.1:{self.port}/2"

    def start_server(self):
        """False when somebody else has got the port meanwhile."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        server = Process(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket",
                          str(self.socket), "--requirepass", "secret", "--save", "", "--appendonly", "no",
                          "--dir", str(self.folder)], clean_environment())
        self.addCleanup(server.close)
        while line := server.out.next():
            if "eady to accept connections" in line:
                return True
        return False

    def keys(self):
        """All of them, in the databases that are used here."""
        found = []
        for database in ("0", "2", "3"):
            done = subprocess.run(["redis-cli", "-s", str(self.socket), "-n", database, "keys", "*"], text=True,
                                  capture_output=True, env=clean_environment(REDISCLI_AUTH="secret"), timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found += done.stdout.split()
        return found

    def bench(self, what, *more):
        code, out, complaint = self.ask("bench", what, "--json", "--lease", self.lease, *more,
                                        environment={"CONCLAVE_STORE": self.store})
        self.assertEqual((code, complaint), (0, ""), out)
        self.assertNotIn("secret", out)
        self.assertEqual(self.keys(), [], "nothing is left behind")
        return json.loads(out)

    def test_processes(self):
        for what in ("first", "handoff"):
            line = self.bench(what, "--rounds", 3)
            self.assertEqual(list(line), FIELDS + RAW)
            self.assertGreater(line["raw_p50_us"], 0)

    def test_crash(self):
        line = self.bench("crash", "--rounds", 2)
        self.assertEqual(list(line), FIELDS + RAW[:2] + BEYOND + RAW_BEYOND)
        for ours, beyond in (("p50_us", "beyond_lease_p50_us"), ("raw_p50_us", "raw_beyond_lease_p50_us")):
            self.assertGreater(line[ours], line[beyond], "it was killed before its lease ended")

    def test_on_a_socket(self):
        self.store = f"redis+unix:{self.socket}?password=secret&database=3"
        self.assertEqual(list(self.bench("handoff", "--rounds", 2)), FIELDS + RAW)

    def test_scale(self):
        line = self.bench("scale", "--rounds", 1, "--candidates", 200)
        self.assertEqual(list(line), FIELDS + SCALE)

    def test_idle(self):
        line = self.bench("idle", "--rounds", 2, "--candidates", 3)
        self.assertEqual(list(line), ["bench", "store", "rounds", "rtt_us"] + IDLE)
        self.assertEqual((line["candidates"], line["lease_s"]), (3, 0.5))
        self.assertGreater(line["scripts_per_lease"], 0, "the leader renews")
        self.assertLessEqual(line["scripts_per_lease"] + line["pings_per_lease"], line["sent_per_lease"])
        self.assertLess(line["sent_per_lease"], line["executed_per_lease"])

    def test_a_killed_leader_leaves_nothing(self):
        bench = self.start("bench", "handoff", "--lease", self.lease, "--rounds", 100000, terminal=(24, 80),
                           environment={"CONCLAVE_STORE": self.store})
        bench.out.wait_text("1 of 100000")
        bench.send(signal.SIGINT)
        self.assertEqual(bench.wait(), 128 + signal.SIGINT)
        self.assertEqual(self.keys(), [])


class BenchPostgres(Case):
    """With a server of its own, on a socket."""

    lease = "2s"  # a busy machine shall answer within an eighth of it

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def url(self, user="conclave", more=""):
        folder = str(self.server.folder).replace("/", "%2F")
        return f"postgres://{user}:secret@{folder}/postgres{more}"

    def sql(self, statement):
        return self.server.sql(statement).split()

    def assert_nothing_is_left(self):
        self.assertEqual(self.sql("select name from conclave_election"), [])
        self.assertEqual(self.sql("select relname from pg_class where relname like 'conclave_bench%'"), [])

    def bench(self, what, *more, url=None):
        code, out, complaint = self.ask("bench", what, "--json", "--lease", self.lease, *more,
                                        environment={"CONCLAVE_STORE": url or self.url()})
        self.assertEqual((code, complaint), (0, ""), out)
        self.assertNotIn("secret", out)
        self.assert_nothing_is_left()
        return json.loads(out)

    def test_processes(self):
        for mode, more in MODES.items():
            for what in ("first", "handoff"):
                with self.subTest(mode=mode, what=what):
                    line = self.bench(what, "--rounds", 3, url=self.url(more=more))
                    self.assertEqual(list(line), FIELDS + RAW)
                    self.assertGreater(line["raw_p50_us"], 0)

    def test_crash(self):
        self.assertEqual(list(self.bench("crash", "--rounds", 3)), FIELDS + RAW)
        for mode in ("strict", "lease"):
            with self.subTest(mode=mode):
                line = self.bench("crash", "--rounds", 1, url=self.url(more=MODES[mode]))
                self.assertEqual(list(line), FIELDS + RAW[:2] + BEYOND + RAW_BEYOND)
                for ours, beyond in (("p50_us", "beyond_lease_p50_us"), ("raw_p50_us", "raw_beyond_lease_p50_us")):
                    self.assertGreater(line[ours], line[beyond], "it was killed before its lease ended")

    def test_crash_of_many(self):
        line = self.bench("crash", "--elections", 20, "--rounds", 2)
        self.assertEqual(list(line), FIELDS + ["raw", "elections"])
        self.assertEqual(line["elections"], 20)
        self.assertGreater(line["p50_us"], 0)
        line = self.bench("crash", "--elections", 20, "--rounds", 1, url=self.url(more=MODES["lease"]))
        self.assertEqual(list(line), FIELDS + BEYOND + ["raw", "elections"])
        self.assertGreater(line["p50_us"], line["beyond_lease_p50_us"])

    def test_scale(self):
        for mode, more in MODES.items():
            with self.subTest(mode=mode):
                line = self.bench("scale", "--rounds", 1, "--candidates", 50, url=self.url(more=more))
                self.assertEqual(list(line), FIELDS + SCALE)
                self.assertEqual((line["leaders"], line["terms_lost"]), (50, 0))

    def test_idle(self):
        for mode, more in MODES.items():
            with self.subTest(mode=mode):
                line = self.bench("idle", "--rounds", 2, "--candidates", 3, url=self.url(more=more))
                self.assertEqual(list(line), ["bench", "store", "rounds", "rtt_us"] + IDLE_POSTGRES)
                self.assertGreater(line["transactions_per_lease"], 0, "the leader renews")

    def test_locks_alone(self):
        """The leader is known by its session there, not by its name."""
        database = self.server.new_database()
        for what in ("first", "handoff", "crash"):
            code, out, complaint = self.ask("bench", what, "--json", "--lease", self.lease, "--rounds", 2, environment={
                "CONCLAVE_STORE": self.server.url(database) + "&tables=false"})
            self.assertEqual((code, complaint), (0, ""), out)
            self.assertEqual(list(json.loads(out)), FIELDS + RAW)
        self.assertEqual(self.server.sql("select count(*) from pg_class where relname like 'conclave%'", database), "0")

    def test_what_the_store_refuses(self):
        """It ends with the sentence that its candidates are told."""
        self.bench("first", "--rounds", 1)  # which makes the tables
        pooler = Pooler(self.server)
        self.addCleanup(pooler.close)
        for what in ("first", "handoff", "crash", "check", "scale", "idle"):
            for store, words in ((self.url(more="?tables=false"), "leave tables=false out"),
                                 (pooler.url("postgres"), "mode=lease")):
                with self.subTest(what=what, words=words):
                    done = self.ask("bench", what, "--lease", self.lease, environment={"CONCLAVE_STORE": store})
                    self.assert_refused(done, 1, words)

    def test_idle_ends_at_once_when_it_is_told_to(self):
        """In mode lease nobody waits until a new server has been up for a lease."""
        bench = self.start("bench", "idle", "--lease", "1000s", "--candidates", 2, terminal=(24, 80),
                           environment={"CONCLAVE_STORE": self.url(more=MODES["lease"])})
        bench.out.wait_text("0 of")
        bench.send(signal.SIGTERM)
        self.assertEqual(bench.wait(), 128 + signal.SIGTERM)
        self.assert_nothing_is_left()

    def test_idle_has_room_for_its_candidates(self):
        database = self.server.new_database()
        self.server.sql("create role crowded login connection limit 9")
        self.server.sql("grant all on schema public to crowded", database)
        store = self.server.url(database, "crowded") + "&mode=lease"
        idle = ("bench", "idle", "--json", "--lease", self.lease, "--rounds", 1)
        done = self.ask(*idle, "--candidates", 5, environment={"CONCLAVE_STORE": store})
        self.assert_refused(done, 1, "5 candidates need 10 connections", "the server has 8 left", "--candidates 4")
        connected = "select count(*) from pg_stat_activity where usename = 'crowded'"
        eventually(lambda: self.server.sql(connected) == "0", "the end of its sessions on the server")
        code, out, complaint = self.ask(*idle, environment={"CONCLAVE_STORE": store})
        self.assertEqual((code, complaint), (0, ""), out)
        self.assertEqual(json.loads(out)["candidates"], 4)

    def test_what_cannot_be_measured(self):
        self.bench("first", "--rounds", 1)  # which makes the tables
        self.assert_refused(self.ask("bench", "handoff", "--elections", 2, environment={"CONCLAVE_STORE": self.url()}), 2,
                            "bench crash")
        self.sql("create role plain login")
        self.sql("grant all on conclave_election, conclave_session, conclave_server to plain")
        line = self.bench("first", "--rounds", 1, url=self.url("plain"))
        self.assertEqual(list(line), FIELDS + ["raw"])
        self.assertRegex(line["raw"], "^not available: .*permission denied")
        self.assert_refused(self.ask("bench", "first", environment={"CONCLAVE_STORE": self.url("nobody")}), 1,
                            "does not let this user in")

    def test_a_killed_leader_leaves_nothing(self):
        bench = self.start("bench", "handoff", "--lease", self.lease, "--rounds", 100000, terminal=(24, 80),
                           environment={"CONCLAVE_STORE": self.url()})
        bench.out.wait_text("1 of 100000")
        bench.send(signal.SIGINT)
        self.assertEqual(bench.wait(), 128 + signal.SIGINT)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
