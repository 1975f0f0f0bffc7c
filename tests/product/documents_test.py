#!/usr/bin/env python3
"""What the documents name is there, and what they show can be run."""

import pathlib
import re
import shlex
import subprocess
import sys
import unittest

SIM = sys.argv.pop(2)
SOURCE = pathlib.Path(sys.argv.pop(1))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
SIM_PATH = "build/release/tests/simulation/conclave-sim"


def documents():
    skipped = {"build", ".git"}
    for path in sorted(SOURCE.rglob("*.md")):
        if not skipped & set(path.relative_to(SOURCE).parts):
            yield path, path.read_text()


def anchors(text):
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands():
    for path, text in documents():
        for block in BLOCK.findall(text):
            for line in block.splitlines():
                for command in line.split("#")[0].split("&&"):
                    if command.strip():
                        yield path, shlex.split(command)


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path, text in documents():
            for link in LINK.findall(text):
                if "://" in link:
                    continue
                target, _, anchor = link.partition("#")
                file = (path.parent / target).resolve() if target else path
                self.assertTrue(file.exists(), f"{path}: {link}")
                if anchor:
                    self.assertIn(anchor, anchors(file.read_text()), f"{path}: {link}")

    def test_commands_are_there(self):
        found = 0
        presets = (SOURCE / "CMakePresets.json").read_text()
        table = " ".join((SOURCE / "apps/conclave/table.cpp").read_text().split())
        for path, command in commands():
            found += 1
            program = command[0]
            if program in ("cmake", "ctest"):
                if "--preset" in command:
                    preset = command[command.index("--preset") + 1]
                    self.assertIn(f'"name": "{preset}"', presets, f"{path}: {command}")
            elif program == "conclave":
                end = next((i for i, word in enumerate(command) if word in ("--", "|", ">")), len(command))
                for word in command[1:2] + [word for word in command[2:end] if word.startswith("--")]:
                    known = word == "--help" or f'{{"{word.lstrip("-")}", ' in table
                    self.assertTrue(known, f"{path}: {command}: {word}")
            elif program == SIM_PATH:
                done = subprocess.run([SIM, *command[1:]], capture_output=True, text=True, timeout=100)
                self.assertEqual(done.returncode, 0, f"{path}: {command}\n{done.stdout[-500:]}{done.stderr}")
            else:
                self.assertTrue((SOURCE / program).exists(), f"{path}: {command}")
        self.assertGreater(found, 5)

    def test_code_stands_in_a_file_that_is_compiled(self):
        """A block of C++ in a document is a piece of an example or of a header's prose."""
        sources = [path.read_text() for top in ("examples", "include") for path in (SOURCE / top).rglob("*.?pp")]
        found = 0
        for path, text in documents():
            for block in CODE.findall(text):
                found += 1
                self.assertTrue(any(block in source for source in sources), f"{path}:\n{block}")
        self.assertGreater(found, 0)

    def test_the_two_commands_are_shown_first(self):
        first_screen = "\n".join((SOURCE / "README.md").read_text().splitlines()[:25])
        for command in ("./scripts/try", "./scripts/test"):
            self.assertIn(command, first_screen)
            self.assertTrue((SOURCE / command).stat().st_mode & 0o111, f"{command} cannot be run")


if __name__ == "__main__":
    unittest.main()
