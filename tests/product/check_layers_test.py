#!/usr/bin/env python3
"""The layer checker finds what it is there to find, in trees made for it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(sys.argv.pop(1)).resolve()

GOOD = {
    "src/core/README.md": "core",
    "src/core/CMakeLists.txt": "FILES a.cpp",
    "src/core/a.hpp": "#pragma once\n#include <conclave/term.hpp>\n",
    "src/core/a.cpp": '#include "core/a.hpp"\n#include <vector>\n',
}


def breaches(changes):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in (GOOD | changes).items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([CHECKER, folder], capture_output=True, text=True)
        assert (done.returncode == 0) == (done.stdout == ""), done
        return done.stdout


class CheckLayers(unittest.TestCase):
    def test_a_good_tree_has_no_breach(self):
        self.assertEqual(breaches({}), "")

    def finds(self, changes, words):
        self.assertIn(words, breaches(changes))

    def test_core_may_not_use_the_runtime(self):
        self.finds({"src/core/a.cpp": '#include "core/a.hpp"\n#include "runtime/loop.hpp"\n'}, "may not use runtime/")

    def test_core_may_not_use_threads_or_clocks(self):
        self.finds({"src/core/a.cpp": '#include "core/a.hpp"\n#include <thread>\n'}, "is pure")
        self.finds({"src/core/a.cpp": '#include "core/a.hpp"\nauto t = Clock::now();\n'}, "is pure")

    def test_a_store_may_not_use_core_or_another_store(self):
        store = {"src/stores/x/README.md": "x", "src/stores/x/CMakeLists.txt": "x.cpp"}
        self.finds(store | {"src/stores/x/x.cpp": '#include "core/a.hpp"\n'}, "may not use core/a.hpp")
        self.finds(store | {"src/stores/x/x.cpp": '#include "stores/y/y.hpp"\n'}, "may not use stores/y")

    def test_the_client_library_of_a_store_is_its_own(self):
        store = {"src/stores/x/README.md": "x", "src/stores/x/CMakeLists.txt": "x.cpp"}
        self.finds(store | {"src/stores/x/x.cpp": "#include <libpq-fe.h>\n"}, "may not use <libpq-fe.h>")
        own = {"src/stores/postgres/README.md": "p", "src/stores/postgres/CMakeLists.txt": "p.cpp"}
        self.assertEqual(breaches(own | {"src/stores/postgres/p.cpp": "#include <libpq-fe.h>\n"}), "")

    def test_public_headers_use_std_only(self):
        self.finds({"include/README.md": "", "include/conclave/x.hpp": "#pragma once\n#include <boost/asio.hpp>\n"},
                   "standard library only")

    def test_a_source_that_is_not_built_is_found(self):
        self.finds({"src/core/b.cpp": "\n"}, "is not built")

    def test_a_header_that_nobody_includes_is_found(self):
        self.finds({"src/core/b.hpp": "#pragma once\n"}, "included by nobody")

    def test_an_example_with_a_folder_of_its_own_may_include_by_name(self):
        example = {"examples/x/README.md": "x", "examples/x/CMakeLists.txt": "x.cpp",
                   "examples/x/x.hpp": "#pragma once\n"}  # fmt: skip
        self.assertEqual(breaches(example | {"examples/x/x.cpp": '#include "x.hpp"\n'}), "")
        self.finds(example | {"examples/x/x.cpp": "\n"}, "included by nobody")

    def test_a_room_without_a_readme_is_found(self):
        self.finds({"src/net/CMakeLists.txt": "n.cpp", "src/net/n.cpp": "\n"}, "has no README.md")

    def test_a_long_file_is_found(self):
        self.finds({"src/core/a.cpp": '#include "core/a.hpp"\n' + "\n" * 401}, "wants a wall")


if __name__ == "__main__":
    unittest.main()
