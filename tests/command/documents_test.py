#!/usr/bin/env python3
"""docs/command.md and the README: their commands work, their tables are complete."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from driver import Case, binary, clean_environment, eventually
from postgres import Server

Case.command = binary()
SOURCE = pathlib.Path(__file__).parents[2]
TEXT = (SOURCE / "docs" / "command.md").read_text()
README = (SOURCE / "README.md").read_text()
SERVER = "redis://localhost:6379"
DATABASE = "postgres://localhost/jobs"


class Documents(Case):
    def commands(self):
        for block in re.findall(r"(?ms)^```console\n(.*?)^```", TEXT):
            yield from re.findall(r"(?m)^\$ (.*)$", block)
        yield from re.findall(r"(?m)^(conclave run .*)$", README)

    def serve(self):
        """A Redis server for the documents' own, whose address may be somebody else's here."""
        path = self.folder / "redis.sock"
        process = subprocess.Popen([shutil.which("redis-server"), "--port", "0", "--unixsocket", path, "--dir",
                                    self.folder, "--save", ""], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(path.exists, "the socket of Redis")
        return f"redis+unix://{path}"

    def test_commands_work(self):
        """As they stand, in a folder with the programs that they name."""
        for name in ("report", "nightly-report"):
            script = self.folder / name
            script.write_text('#!/bin/sh\necho "$CONCLAVE_ELECTION"\n')
            script.chmod(0o755)
        (self.folder / "report.conf").write_text(re.search(r"(?ms)^```\n(# who.*?)^```", TEXT).group(1))
        (self.folder / "conclave").symlink_to(self.command)
        environment = clean_environment(PATH=f"{self.folder}:{os.environ['PATH']}", XDG_STATE_HOME=self.folder / "state")
        found = list(self.commands())
        self.assertEqual(len(found), 11)
        self.assertEqual(sum(SERVER in command for command in found), 3)
        self.assertEqual(sum(DATABASE in command for command in found), 2)
        server = self.serve()
        postgres = Server()
        self.addCleanup(postgres.close)
        database = postgres.url(postgres.new_database())
        for command in found:
            command = command.replace(SERVER, server).replace(DATABASE, database)
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True,
                                  timeout=100)
            expected = 3 if " status " in command else 0
            self.assertEqual((done.returncode, done.stderr), (expected, ""), command)
            named = "reports" in command or "--config" in command
            election = "reports" if named else "nightly-report"
            self.assertTrue(done.stdout.startswith(election), (command, done.stdout))

    def test_verbs_name_a_url_of_each_server(self):
        for verb in ("run", "doctor"):
            for url in (SERVER, DATABASE):
                self.assertIn(url, self.ask(verb, "--help")[1])
        self.assertIn(DATABASE, self.ask("join", "--help")[1])

    def test_exit_codes_are_those_of_the_manual(self):
        manual = self.ask("man")[1].partition(".SH EXIT STATUS")[2].replace("\\-", "-")
        table = dict(re.findall(r"(?m)^\| ([\d+N]+|other) \| (.*) \|$", TEXT))
        self.assertEqual({code: text.replace("`", "") for code, text in table.items()},
                         dict(re.findall(r"\.TP\n\.B (.*)\n(.*)", manual)))

    def test_fields_are_all_there(self):
        """Every name of a field in the sources of the command, with what is put together there."""
        sources = "".join(path.read_text() for path in (SOURCE / "apps" / "conclave").glob("*.cpp"))
        names = set(re.findall(r'line\["(\w+)"\]', sources))
        for start in ("extras = {", "ordered_json line{", "ordered_json line = {", "candidates.push_back({"):
            for part in sources.split(start)[1:]:
                names |= set(re.findall(r'\{"(\w+)", ', "{" + part[: part.index(";")]))
        names |= set(re.findall(r'extras\.emplace_back\("(\w+)"', sources))
        kinds = {"": "p50 p99 max", "raw_": "p50 p99", "bare_": "p50", "beyond_lease_": "p50 p99 max",
                 "raw_beyond_lease_": "p50 p99"}
        names |= {f"{kind}{part}_us" for kind, parts in kinds.items() for part in parts.split()}
        names |= {"ratio_p50", "bare_ratio_p50"}
        self.assertLess({"last_heard", "candidates", "follower_p50_us", "lease_s", "was_there", "severity", "place"}, names)
        self.assertEqual({name for name in names if f"`{name}`" not in TEXT}, set())

    def test_verbs_are_all_there(self):
        listed = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", self.ask("--help")[1])
        named = [verb for row in re.findall(r"(?m)^\| (`[^|]*`) \|", TEXT.partition("## Options")[0])
                 for verb in re.findall(r"`([a-z]+)`", row)]
        self.assertEqual(sorted(named), sorted(listed))


if __name__ == "__main__":
    unittest.main()
