#!/usr/bin/env python3
"""The command on a real PostgreSQL server: the tables for administrators, what doctor says, and bad input."""

import json
import re
import signal
import unittest
import urllib.parse

from driver import Case, binary
from postgres import Server

Case.command = binary()
SECRET = "geheim"


class WithServer(Case):
    """One server for all, on a socket of its own; a database for each test."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(settings=(), access="local all sealed scram-sha-256\n")
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.database = self.server.new_database()

    def psql(self, text, user="conclave", code=0):
        done = self.server.psql(text, self.database, user)
        self.assertEqual(done.returncode, code, done.stderr)

    def url(self, user="conclave", **options):
        words = urllib.parse.urlencode({"host": self.server.folder, "user": user, **options}, quote_via=urllib.parse.quote)
        return f"postgres:///{self.database}?{words}"

    def role(self, name, attributes=""):
        """Roles are the server's, not the database's."""
        self.psql(f"create role {name} login {attributes}")
        self.addCleanup(self.psql, f"drop owned by {name} cascade; drop role {name}")
        return name


class Sql(Case):
    def test_nothing_is_connected_or_told(self):
        code, out, err = self.ask("sql", environment={"CONCLAVE_STORE": f"postgres://u:{SECRET}@no.such.invalid/d"})
        self.assertEqual((code, err), (0, ""))
        self.assertIn("create table", out)
        self.assertNotIn(SECRET, out)

    def test_stores_without_tables(self):
        for scheme, rest in (("redis", "//localhost"), ("file", "/tmp/x"), ("file", ""), ("memory", "")):
            self.assert_refused(self.ask("sql", "--store", f"{scheme}:{rest}"), 2, f"the store {scheme}: has no tables")
        self.assert_refused(self.ask("sql"), 2, "the store file: has no tables")

    def test_bad_input(self):
        self.assert_refused(self.ask("sql", "--store", "nonsense"), 2, "scheme")
        self.assert_refused(self.ask("sql", "--store", "nowhere:x"), 2, "nowhere")
        self.assert_refused(self.ask("sql", "--store", "postgres://h/d?mode=none"), 2, "mode", "advisory", "lease")


class OnPostgres(WithServer):
    def test_an_election(self):
        self.store = self.url()
        self.join(identity="ann").out.event("elected")
        code, out, err = self.ask("status", "--store", self.store, "--election", "e")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("ann leads", out)

    def test_tables_of_an_administrator(self):
        """Made by what is printed, for a role that has the rights that are printed, and no more."""
        worker = self.role("worker")
        self.psql("create table public.foreign_one (x int)")
        for schema in ({}, {"schema": "elections"}, {"schema": 'my "own" $1'}):
            code, text, err = self.ask("sql", "--store", self.url(**schema))
            self.assertEqual((code, err), (0, ""))
            self.psql(text)
            self.psql(text)  # once more does no harm
            grants = re.findall(r"(?m)^-- (grant .*) your_role;$", text)
            self.assertEqual(len(grants), 1 + len(schema), text)
            done = self.ask("end", "--store", self.url(worker, create="false", **schema), "--election", "e")
            self.assert_refused(done, 1, "permission denied", "GRANT ")
            self.psql("".join(f"{grant} {worker};" for grant in grants))
            for mode in ("advisory", "lease"):
                self.store = self.url(worker, create="false", mode=mode, **schema)
                ann = self.join(mode, identity="ann")
                ann.out.event("elected")
                ben = self.join(mode, identity="ben")
                ben.out.event("follower")
                ann.send(signal.SIGTERM)
                self.assertEqual(ann.wait(), 0)
                ben.out.event("elected")
        self.psql("create table mine (x int)", user=worker, code=3)
        self.psql("select * from foreign_one", user=worker, code=3)

    def test_tables_that_nobody_made(self):
        store = self.url(create="false")
        for verb in ("end", "remove", "status"):
            self.assert_refused(self.ask(verb, "--store", store, "--election", "e"), 1, "conclave sql", "create=false")

    def test_doctor_finds_nothing(self):
        self.psql(self.ask("sql", "--store", self.url())[1])
        code, out, err = self.ask("doctor", "--store", self.url(), "--lease", "30s")
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("round trip", out)
        self.assertTrue(out.endswith("nothing here weakens the promise\n"), out)

    def test_doctor_warns(self):
        self.psql(f"grant create on schema public to {self.role('few', 'connection limit 3')}")
        code, out, _ = self.ask("doctor", "--store", self.url("few"), "--lease", "30s")
        self.assertEqual(code, 4, out)
        self.assertRegex(out, r"^warning: connection limit of the role, 2 left: .*\n  alter role few connection limit")

    def test_doctor_finds_danger(self):
        store = self.url(create="false")
        code, out, _ = self.ask("doctor", "--store", store, "--lease", "30s")
        self.assertEqual(code, 5)
        self.assertRegex(out, r"^danger: create=false: ")
        self.assertIn("conclave sql", out)
        code, out, _ = self.ask("doctor", "--json", "--store", store, "--lease", "30s")
        first = json.loads(out.splitlines()[0])
        self.assertEqual((code, first["severity"], first["setting"]), (5, "danger", "create=false"))

    def test_a_wrong_password_is_one_sentence(self):
        self.role("sealed", "password 'right'")
        for verb in (["doctor"], ["status", "--election", "e"], ["end", "--election", "e"]):
            done = self.ask(*verb, environment={"CONCLAVE_STORE": self.url("sealed", password=SECRET)})
            self.assert_refused(done, 1, "does not accept this user and password: check both")
            self.assertNotIn(SECRET, done[2])

    def test_a_server_that_is_away_is_one_sentence(self):
        self.assert_refused(self.ask("doctor", "--store", f"postgres:///d?host={self.folder}"), 1,
                            "there is no such socket", "is the server running")


if __name__ == "__main__":
    unittest.main()
