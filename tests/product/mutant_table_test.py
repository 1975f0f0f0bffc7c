#!/usr/bin/env python3
"""Every line of the table of mutants stands exactly once in its file; scripts/test runs them all."""

import pathlib
import sys
import tomllib
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))


class MutantTable(unittest.TestCase):
    def test_every_line_is_found_once(self):
        table = tomllib.loads((SOURCE / "tests/simulation/mutants.toml").read_text())["mutant"]
        self.assertGreaterEqual(len(table), 20)
        self.assertEqual(len({mutant["name"] for mutant in table}), len(table))
        for mutant in table:
            lines = [line.strip() for line in (SOURCE / mutant["file"]).read_text().splitlines()]
            self.assertEqual(lines.count(mutant["line"]), 1, mutant["name"])
            self.assertNotEqual(mutant["line"], mutant["replacement"], mutant["name"])


if __name__ == "__main__":
    unittest.main()
