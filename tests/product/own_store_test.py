#!/usr/bin/env python3
"""examples/own_store as a user would build it: a project of its own that adds Conclave and its suite.

usage: own_store_test.py SOURCE_DIR WORK_DIR COMPILER [unittest's arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

COMPILER = sys.argv.pop(3)
WORK = pathlib.Path(sys.argv.pop(2))
SOURCE = pathlib.Path(sys.argv.pop(1))
ANYWHERE = {"CCACHE_BASEDIR": str(SOURCE), "CCACHE_NOHASHDIR": "true"}  # what another clone has compiled, too
PROGRAM = ["first leads in term 1", "second waits", "second leads in term 2"]


def run(*command):
    """The output of a command, which has to succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=550,
                          env={**os.environ, **ANYWHERE})  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def setUpModule():
    """From a copy somewhere else: it needs Conclave's folder by its option only."""
    copy = WORK / "my_store"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE / "examples/own_store", copy)
    ccache = shutil.which("ccache")
    launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if ccache else []
    run(
        "cmake", "--fresh", "-S", copy, "-B", WORK / "build", "-G", "Ninja", f"-DCONCLAVE_DIR={SOURCE}",
        f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Debug", *launcher,
    )  # fmt: skip
    run("cmake", "--build", WORK / "build")


class OwnStore(unittest.TestCase):
    def test_the_suite_passes_on_it(self):
        output = run("ctest", "--test-dir", WORK / "build", "--no-tests=error", "-j", "2")
        total = int(re.search(r"0 tests failed out of (\d+)", output).group(1))
        skipped = output.count("(Skipped)")
        self.assertGreater(total - skipped, 50, output[-2000:])
        self.assertLess(skipped, 12, output[-2000:])
        # Only the suite of this store and its own tests: none of ours.
        names = re.findall(r"Start +\d+: (\w+)\.", output)
        self.assertEqual(set(names), {"conclave_cas_conformance", "cas_store_test"})

    def test_the_program_says_who_leads(self):
        self.assertEqual(run(WORK / "build/own_store_program").splitlines(), PROGRAM)

    def test_the_readme_shows_what_the_program_says(self):
        self.assertIn("\n".join(PROGRAM), (SOURCE / "examples/own_store/README.md").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
