#!/usr/bin/env python3
"""The command on a real PostgreSQL server: its verbs in each mode, bad input, and `run` under faults."""

import json
import os
import signal
import unittest

from driver import NS, Case, binary, boot_ns, eventually
from postgres import OnPostgres, servers
from runs import RunCase

Case.command = binary()
setUpModule, tearDownModule = servers()
SECRET = "geheim"


class Verbs(OnPostgres):
    def of(self, verb, *more):
        return verb, "--store", self.store, "--election", "e", *more

    def test_an_election(self):
        watch = self.start(*self.of("watch", "--json"))
        run = self.start(*self.of("run", "--id", "ann", "--lease", "1s", "--", "sh", "-c", "echo led; exec sleep 600"))
        run.out.until("led")
        first = watch.out.event("leader_changed", leader="ann")["term"]
        code, out, err = self.ask(*self.of("status"))
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"ann leads, term {first}", out)
        ben = self.join(identity="ben")
        ben.out.event("follower")
        run.send(signal.SIGTERM)
        self.assertEqual(run.wait(), 128 + signal.SIGTERM)
        second = ben.out.event("elected")["term"]
        self.assertGreater(second, first)
        watch.out.event("leader_changed", leader="ben", term=second)
        found = json.loads(self.ask(*self.of("status", "--json"))[1])
        self.assertEqual((found["leader"], found["term"]), ("ben", second))

    def test_the_end_of_an_election(self):
        ann = self.join(identity="ann")
        term = ann.out.event("elected")["term"]
        ben = self.join(identity="ben")
        ben.out.event("follower")
        self.assertEqual(self.ask(*self.of("end"))[0], 0)
        self.assertEqual(ann.out.event("lost")["reason"], "election_ended")
        for process in (ann, ben):
            process.wait()
            self.assertIn("was ended", process.err.text)
        self.assertEqual(self.ask(*self.of("remove"))[0], 0)
        self.assertGreater(self.join(identity="cat").out.event("elected")["term"], term)

    def test_tables_that_somebody_else_has_made(self):
        self.server.sql(f"create role {self.database} login; revoke create on schema public from public", self.database)
        store = f"{self.server.url(self.database, self.database)}&mode={self.mode}"
        code, out, err = self.ask("sql", "--store", store)
        self.assertEqual((code, err), (0, ""))
        self.server.sql(out.replace("-- grant", "grant").replace("your_role", self.database), self.database)
        self.store = f"{store}&create=false"
        self.join(identity="ann").out.event("elected")

    def test_missing_tables_are_one_sentence(self):
        self.store += "&create=false"
        ann = self.join(identity="ann")
        while "conclave sql" not in ann.out.event("error")["message"]:  # a busy machine may be late first
            pass

    def test_its_command_gets_no_password(self):
        done = self.ask("run", "--store", self.store, "--election", "e", "--once", "--", "env",
                        environment={"PGPASSWORD": "hidden", "PGAPPNAME": "seen"})
        self.assertEqual(done[0], 0, done)
        self.assertIn("PGAPPNAME=seen", done[1])
        self.assertNotIn("PGPASSWORD", done[1])


class DeadLeaders(OnPostgres):
    def test_nobody_is_shown_instead_of_one_whose_session_has_ended(self):
        where = ("--store", f"{self.store}&lease=200ms", "--election", "e")  # an observer looks twice in a lease
        watch = self.start("watch", "--json", *where)
        ann = self.join(identity="ann")
        term = watch.out.event("leader_changed", leader="ann")["term"]
        ann.send(signal.SIGKILL)
        watch.out.event("leader_changed", leader="", term=term)
        code, out, _ = self.ask("status", "--json", *where)
        found = json.loads(out)
        self.assertEqual((code, found["leader"], found["vacancy"], found["last_term"]), (3, None, "ended", term))
        ben = self.join(identity="ben")  # the next that is seen, however often it was looked meanwhile
        second = ben.out.event("elected")["term"]
        self.assertEqual(watch.out.event("leader_changed")["term"], second)


class VerbsByLease(Verbs):
    mode = "lease"


class BadInput(OnPostgres):
    def test_a_server_that_is_away_is_one_sentence(self):
        self.store = f"postgres://conclave@/postgres?host={self.folder}"
        done = self.ask("status", "--store", self.store, "--election", "e")
        self.assert_refused(done, 1, str(self.folder))

    def test_no_secret_is_told(self):
        store = f"postgres://conclave:{SECRET}@/nowhere?host={self.server.folder}"
        done = self.ask("status", "--election", "e", environment={"CONCLAVE_STORE": store})
        self.assert_refused(done, 1, "nowhere")
        self.assertNotIn(SECRET, done[2])

    def test_no_secret_is_told_while_it_runs_or_is_examined(self):
        store = f"postgres://conclave:{SECRET}@/nowhere?host={self.server.folder}"
        examined = self.ask("doctor", environment={"CONCLAVE_STORE": store})
        self.assertIn("nowhere", "".join(map(str, examined)))
        self.assertNotIn(SECRET, "".join(map(str, examined)))
        candidate = self.start("join", "--json", "--election", "e", environment={"CONCLAVE_STORE": store})
        candidate.out.wait_text("nowhere")
        candidate.send(signal.SIGTERM)
        candidate.wait()
        self.assertNotIn(SECRET, candidate.out.text + candidate.err.text)


class RunAdvisory(OnPostgres, RunCase):
    """`conclave run`: no command starts before the whole family of the last one is dead."""

    lease = "2s"
    lease_ns = 2 * NS

    def setUp(self):
        super().setUp()
        self.first = self.run_job("family", "ignore-term").wait_start(relatives=2)
        self.second = self.run_job().wait_ready()

    def assert_next_runs(self):
        self.second.wait_start()
        self.assertGreater(self.second.term, self.first.term)
        self.assert_gone(self.first.family())
        self.assert_no_overlap(2)

    def test_front_and_keeper_stopped(self):
        for pid in (self.first.front, self.first.keeper):
            os.kill(pid, signal.SIGSTOP)
        since = boot_ns()
        self.assert_gone(self.first.family())
        self.assertLess(self.stamps()[self.first.term][1], since + self.lease_ns)
        self.assert_next_runs()
        for pid in (self.first.keeper, self.first.front):
            os.kill(pid, signal.SIGCONT)
        self.second.process.send(signal.SIGTERM)
        self.second.process.wait()
        self.assert_no_overlap(len(self.stamps()))  # it may have been elected again

    def test_keeper_killed(self):
        os.kill(self.first.keeper, signal.SIGKILL)
        self.assert_next_runs()

    def test_server_stopped(self):
        self.server.pause()
        self.addCleanup(self.server.resume)
        self.assert_gone(self.first.family())
        self.server.resume()
        self.first.process.close()
        self.assert_next_runs()


    def test_sessions_ended(self):
        """Nobody knows how soon another one has the lock: the command is ended at once."""
        self.end_sessions()
        self.assert_gone(self.first.family())
        self.first.process.send(signal.SIGTERM)
        self.first.process.wait()
        self.second.wait_start()
        self.assertGreater(self.second.term, self.first.term)
        self.assert_no_overlap(len(self.stamps()))  # the first may have been elected again

    def end_sessions(self):
        self.server.sql("select pg_terminate_backend(pid) from pg_stat_activity "
                        "where application_name = 'conclave' and datname = current_database()", self.database)


class RunLease(RunAdvisory):
    mode = "lease"

    def test_sessions_ended(self):
        """The lease is a row: it is renewed on the next session, and the command goes on."""
        def renewed():
            return int(self.server.sql("select renewed from conclave_session join conclave_election using (life)",
                                       self.database))

        since = renewed()
        self.end_sessions()
        eventually(lambda: renewed() > since + self.lease_ns // 1000, "a lease of renewals after that")
        for pid in self.first.family():
            os.kill(pid, 0)
        self.assertEqual(list(self.stamps()), [self.first.term])
        os.kill(self.first.keeper, signal.SIGKILL)
        self.assert_next_runs()


if __name__ == "__main__":
    unittest.main()
