#!/usr/bin/env python3
"""docs/command.md: its commands work, its tables are complete."""

import os
import pathlib
import re
import subprocess
import unittest

from driver import Case, binary, clean_environment

Case.command = binary()
TEXT = (pathlib.Path(__file__).parents[2] / "docs" / "command.md").read_text()


class Documents(Case):
    def commands(self):
        for block in re.findall(r"(?ms)^```console\n(.*?)^```", TEXT):
            yield from re.findall(r"(?m)^\$ (.*)$", block)

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
        self.assertEqual(len(found), 5)
        for command in found:
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True,
                                  text=True, timeout=100)
            expected = 3 if " status " in command else 0
            self.assertEqual((done.returncode, done.stderr), (expected, ""), command)
            self.assertTrue(done.stdout.startswith("reports"), (command, done.stdout))

    def test_exit_codes_are_those_of_the_manual(self):
        manual = self.ask("man")[1].partition(".SH EXIT STATUS")[2].replace("\\-", "-")
        table = dict(re.findall(r"(?m)^\| ([\d+N]+|other) \| (.*) \|$", TEXT))
        self.assertEqual({code: text.replace("`", "") for code, text in table.items()},
                         dict(re.findall(r"\.TP\n\.B (.*)\n(.*)", manual)))

    def test_verbs_are_all_there(self):
        listed = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", self.ask("--help")[1])
        named = [verb for row in re.findall(r"(?m)^\| (`[^|]*`) \|", TEXT.partition("## Options")[0])
                 for verb in re.findall(r"`([a-z]+)`", row)]
        self.assertEqual(sorted(named), sorted(listed))


if __name__ == "__main__":
    unittest.main()
