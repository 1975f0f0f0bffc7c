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

    def test_locks_alone_need_none(self):
        self.assert_refused(self.ask("sql", "--store", "postgres://h/d?tables=false"), 2, "tables=false", "leave it out")


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
            self.assertNotIn("CREATE", done[2])
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

    def test_who_owns_the_schema_may_make_them(self):
        owner = self.role("owner")
        self.psql(f"create schema own authorization {owner}")
        text = self.ask("sql", "--store", self.url(schema="own"))[1]
        self.psql(text, user=owner)
        self.store = self.url(owner, create="false", schema="own")
        self.join(identity="ann").out.event("elected")

    def test_tables_that_nobody_made(self):
        store = self.url(create="false")
        for verb in ("end", "remove", "status"):
            self.assert_refused(self.ask(verb, "--store", store, "--election", "e"), 1, "conclave sql", "create=false")

    def test_the_first_election_on_them_need_not_wait(self):
        """With a lease that is longer than anybody would wait for this test."""
        text = self.ask("sql", "--store", self.url())[1]
        self.psql(text)
        self.assertEqual(self.server.sql("select since from conclave_server", self.database), "0")
        self.store = self.url(create="false", mode="lease")
        ann = self.join(identity="ann", lease="30m")
        ann.out.event("elected")
        ann.send(signal.SIGTERM)
        self.assertEqual(ann.wait(), 0)

        rows = "select count(*), min(timeline), min(since) from conclave_server"
        before = self.server.sql(rows, self.database)
        self.psql(text)
        self.assertEqual(self.server.sql(rows, self.database), before)
        self.psql("delete from conclave_server")
        self.psql(text)  # somebody has been elected: nobody knows since when this timeline decides
        self.assertEqual(self.server.sql("select count(*) from conclave_server", self.database), "0")

    def test_doctor_finds_nothing(self):
        self.psql(self.ask("sql", "--store", self.url())[1])
        code, out, err = self.ask("doctor", "--store", self.url(), "--lease", "30s")
        self.assertEqual((code, err), (0, ""), out)
        self.assertTrue(out.endswith("nothing here weakens the promise\n"), out)
        self.assertNotIn("round trip", out)

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
        self.assertNotIn("TLS", self.ask("doctor", "--store", f"postgres:///d?host={self.folder}")[2])

    def test_words_that_libpq_does_not_know(self):
        for name, word in (("sslmode", "verify-full"), ("target_session_attrs", "read-write")):
            for value in ("bogus", "require verify-ca", "any read-write"):
                store = self.url(**{name: value})
                self.assert_refused(self.ask("status", "--election", "e", "--store", store), 2, name, word)
        done = self.ask("status", "--election", "e", "--store", self.url(), environment={"PGSSLMODE": "bogus"})
        self.assert_refused(done, 2, "sslmode", "verify-full")


class InTheWay(WithServer):
    """What keeps candidates from an election is told to who only asks, too, and nothing is made."""

    def status(self, **options):
        return self.ask("status", "--store", self.url(**options), "--election", "e")

    def tables(self):
        return self.server.sql("select string_agg(relname, ' ' order by relname) from pg_class "
                               "where relname like 'conclave%'", self.database)

    def test_nothing_is(self):
        for options in ({}, {"mode": "lease"}, {"tables": "false"}):
            code, out, err = self.status(**options)
            self.assertEqual((code, out, err), (3, "e: nobody leads\n", ""))
        self.assertEqual(self.tables(), "")

    def test_something_else_under_the_name(self):
        for name in ("conclave_election", "conclave_session"):
            for what in ("view {} as select 7 as x", "table {} (x int)"):
                self.psql("create " + what.format(name))
                self.assert_refused(self.status(), 1, f'something else under the name of "{name}"', "another schema")
                code, out, _ = self.ask("doctor", "--store", self.url(), "--lease", "30s")
                self.assertEqual(code, 5)
                self.assertRegex(out, "^danger: tables: there is something else")
                self.assertNotIn("not there yet", out)
                self.assertEqual(self.tables(), name)
                self.psql(f"drop {what.split()[0]} {name}")

    def test_the_printed_tables_leave_it_alone(self):
        self.psql("create table conclave_election (life bigint)")
        self.psql(self.ask("sql", "--store", self.url())[1], code=3)
        self.assertEqual(self.tables(), "conclave_election")

    def test_no_schema(self):
        for options in ({}, {"create": "false"}):
            self.assert_refused(self.status(schema="nosuch", **options), 1, "does not have the schema", "check schema")

    def test_candidates_that_go_by_locks_alone(self):
        self.store = self.url(tables="false", lease="1s")
        self.join(identity="ann").out.event("elected")
        self.assertIn("session ", self.status(tables="false")[1])
        for options in ({}, {"create": "false"}, {"mode": "lease"}):
            self.assert_refused(self.status(**options), 1, "go by locks alone", "tables=false")
        code, out, _ = self.ask("doctor", "--store", self.url(), "--lease", "30s")
        self.assertEqual(code, 5)
        self.assertRegex(out, "^danger: tables: some candidates go by locks alone")
        self.assertEqual(self.ask("doctor", "--store", self.url(tables="false"), "--lease", "30s")[0], 0)
        self.psql(self.ask("sql", "--store", self.url())[1], code=3)
        self.assertEqual(self.tables(), "")

    def test_tables_for_who_goes_by_locks_alone(self):
        self.psql(self.ask("sql", "--store", self.url())[1])
        self.assert_refused(self.status(tables="false"), 1, "has tables for elections", "leave tables=false out")
        code, out, _ = self.ask("doctor", "--store", self.url(tables="false"), "--lease", "30s")
        self.assertEqual(code, 5)
        self.assertRegex(out, "^danger: tables=false: ")


if __name__ == "__main__":
    unittest.main()
