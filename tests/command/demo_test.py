#!/usr/bin/env python3
"""`conclave demo` ends by itself, shows what it promises, leaves nothing behind; and README shows it as it is."""

import os
import pathlib
import re
import select
import signal
import unittest

from driver import HANG, Case, binary

Case.command = binary()
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
ROW = re.compile(r"^ *\d+\.\d{3} s ( [#.x]  ){3}(?P<what>.*), term (?P<term>\d+)$")


def shape(text):
    """The same for every run: without figures, names, and who of the three is what."""
    text = re.sub(r"( [#.x]  ){3}", lambda lanes: "".join(sorted(lanes[0].split())) + " ", text)
    text = re.sub(r"\b(ann|ben|cat)\b(?! ben| cat|$)", "NAME", text, flags=re.MULTILINE)
    text = re.sub(r"\d+(\.\d+)?(e[+-]\d+)?( (µs|ms|s)\b)?", "N", text)
    return [" ".join(line.split()) for line in text.splitlines()]


class Demo(Case):
    def setUp(self):
        super().setUp()
        self.environment = {"TMPDIR": self.folder}

    def run_demo(self, *more, **rest):
        return self.start("demo", *more, environment=self.environment, **rest)

    def nothing_is_left(self, *but):
        self.assertEqual([path for path in self.folder.iterdir() if path not in but], [])
        mark = f"CONCLAVE_STORE=file:{self.folder}".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                except OSError:
                    continue  # it has ended, or is none of ours
                self.assertNotIn(mark, environment, (entry / "cmdline").read_bytes())

    def candidates(self, process):
        """Its candidates, as processes."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [int(child) for child in children]

    def shows_all(self, text, crashes, resignations):
        rows = [row for row in map(ROW.match, text.splitlines()) if row]
        what = [row["what"] for row in rows]
        self.assertEqual(len(rows), 1 + crashes + resignations, text)
        self.assertRegex(what[0], r"^\w+ is elected$")
        self.assertEqual(sum(bool(re.match(r"kill -9 \w+: \w+ leads after \S+ \S+$", each)) for each in what), crashes)
        self.assertEqual(sum(bool(re.match(r"\w+ resigns: \w+ leads after \S+ \S+$", each)) for each in what), resignations)
        terms = [int(row["term"]) for row in rows]
        self.assertEqual(terms, sorted(set(terms)))
        for row in rows:
            self.assertEqual(row[0].count("#"), 1, text)
        self.assertRegex(text, r"\nhand-over +times +median +slowest\n")
        for name, times in (("after a resignation", resignations), ("after kill -9", crashes)):
            if times:
                self.assertRegex(text, rf"\n{name} +{times} +\S+ \S+ +\S+ \S+\n")
        self.assertIn(f"no two led at once, and each of the {len(rows)} terms was above the last.\n", text)

    def test_the_whole_of_it_looks_as_in_the_readme(self):
        demo = self.run_demo()
        self.assertEqual((demo.wait(), demo.err.text), (0, ""))
        self.shows_all(demo.out.text, 6, 3)
        self.nothing_is_left()
        blocks = re.findall(r"^```\w*\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
        shown = [block for block in blocks if "ann ben cat" in block]
        self.assertEqual(len(shown), 1, "README.md shows the demonstration once")
        self.assertEqual(shape(shown[0]), shape(demo.out.text))

    def test_on_a_terminal(self):
        demo = self.run_demo("--rounds", 3, terminal=(24, 80))
        self.assertEqual(demo.wait(), 0)
        text = demo.out.text.replace("\r\n", "\n")
        self.shows_all(text, 2, 1)
        self.nothing_is_left()

    def test_an_interruption_leaves_nothing_behind(self):
        demo = self.run_demo(terminal=(24, 80))
        demo.out.wait_text("leads after")
        self.assertTrue(self.candidates(demo))
        demo.type("\x03")  # Ctrl-C
        self.assertEqual(demo.wait(), 128 + signal.SIGINT)
        self.assertIn("conclave: interrupted: ended all candidates", demo.out.text)
        self.nothing_is_left()

    def test_a_reader_that_has_gone(self):
        demo = self.run_demo()
        demo.out.until("is elected")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, demo.popen.stdout.fileno())
        os.close(null)
        self.assertEqual(demo.wait(), 1)
        self.assertEqual(demo.err.text, "conclave: the output was closed by its reader: ended\n")
        self.nothing_is_left()

    def test_the_folder_may_be_kept(self):
        demo = self.run_demo("--rounds", 1, "--keep")
        self.assertEqual(demo.wait(), 0, demo.err.text)
        folder = pathlib.Path(re.search(r"^The folder is (.*)$", demo.out.text, re.MULTILINE)[1])
        self.assertTrue(list(folder.rglob("*.election")))
        self.nothing_is_left(folder)

    def test_its_end_ends_its_candidates(self):
        demo = self.run_demo()
        demo.out.until("is elected")
        children = self.candidates(demo)
        self.assertTrue(children)
        ends = [os.pidfd_open(child) for child in children]
        demo.send(signal.SIGKILL)
        demo.wait()
        for descriptor in ends:
            ready, _, _ = select.select([descriptor], [], [], HANG)
            os.close(descriptor)
            self.assertTrue(ready, "a candidate outlived the demonstration")


if __name__ == "__main__":
    unittest.main()
