#!/usr/bin/env python3
"""What a user gets: Conclave as a subdirectory, installed, found by CMake and by pkg-config.

usage: package_test.py SOURCE_DIR WORK_DIR COMPILER [unittest's arguments]

Builds the libraries twice, static and shared, and installs each into a tree that is then moved, so that
nothing can rely on where it was made. The consumer project is built and run against all of them.
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
HERE = SOURCE / "tests/product"
ANYWHERE = {"CCACHE_BASEDIR": str(SOURCE), "CCACHE_NOHASHDIR": "true"}  # what another clone has compiled, too
INNER = ("core", "schedule")  # rooms that are no component

# Our own symbols, by their mangled names; see cmake/conclave.map.
OWN_SYMBOL = re.compile(r"_Z(T[VTIS]|T[hv].*_)?N[KVRO]*8conclave")


def run(*command, env=None, succeeds=True):
    """The output of a command, which has to succeed; or to fail."""
    command = [str(part) for part in command]
    answer = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=800,
        env={**os.environ, **ANYWHERE, **(env or {})},
    )  # fmt: skip
    if (answer.returncode == 0) != succeeds:
        raise AssertionError(f"{' '.join(command)}\nexit code {answer.returncode}\n{answer.stdout[-6000:]}")
    return answer.stdout


def configure(source, build, *options, succeeds=True):
    ccache = shutil.which("ccache")
    launcher = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={ccache}"] if ccache else []
    return run(
        "cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", *launcher, *options,
        succeeds=succeeds,
    )  # fmt: skip


def installed(kind):
    """A tree into which Conclave was installed, and which was moved afterwards."""
    build, made, moved = WORK / f"build-{kind}", WORK / f"made-{kind}", WORK / f"prefix-{kind}"
    shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(moved, ignore_errors=True)
    shared = "ON" if kind == "shared" else "OFF"  # and the command, which has to find its libraries
    configure(SOURCE, build, f"-DBUILD_SHARED_LIBS={shared}", "-DCONCLAVE_BUILD_TESTS=OFF",
              f"-DCONCLAVE_BUILD_COMMAND={shared}")
    run("cmake", "--build", build)
    run("cmake", "--install", build, "--prefix", made)
    made.rename(moved)
    return moved


def libraries(prefix):
    return sorted(path for path in (prefix / "lib").iterdir() if path.is_file() and not path.is_symlink())


def build_consumer(name, *options):
    """The program that comes of it. From scratch: a stale cache must not hide what is missing."""
    build = WORK / name
    shutil.rmtree(build, ignore_errors=True)
    configure(HERE / "consumer", build, *options)
    run("cmake", "--build", build, "--target", "consumer")
    return build / "consumer"


def find(prefix, arguments, succeeds=True):
    """What find_package() with these arguments says."""
    output = configure(
        HERE / "consumer_components", WORK / "components", "-Uconclave_DIR",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPROBE_ARGUMENTS={arguments}", succeeds=succeeds,
    )  # fmt: skip
    return " ".join(output.split())  # CMake wraps long lines


def targets(output):
    return set(re.search(r"targets: (\S*)", output).group(1).split(";"))


def components(prefix):
    """Those that a user may ask for."""
    names = {path.name.split("-")[1] for path in prefix.glob("lib/cmake/conclave/*-targets.cmake")}
    return names - {*INNER, "include"}


def setUpModule():
    global STATIC, SHARED
    WORK.mkdir(parents=True, exist_ok=True)
    STATIC, SHARED = installed("static"), installed("shared")


class Consumer(unittest.TestCase):
    def works(self, program, env=None):
        self.assertIn("works", run(program, env=env))

    def test_adds_a_subdirectory(self):
        program = build_consumer("subdirectory", f"-DCONSUMER_CONCLAVE_SOURCE={SOURCE}")
        self.works(program)
        rules = (program.parent / "build.ninja").read_text()
        self.assertNotIn("gtest", rules, "a consumer gets no tests")
        self.assertNotIn("conclaveConfig.cmake", (program.parent / "cmake_install.cmake").read_text())

    def test_finds_static_libraries(self):
        self.works(build_consumer("find-static", f"-DCMAKE_PREFIX_PATH={STATIC}"))

    def test_finds_shared_libraries(self):
        self.works(
            build_consumer(
                "find-shared", f"-DCMAKE_PREFIX_PATH={SHARED}", "-DCMAKE_CXX_VISIBILITY_PRESET=hidden"
            )
        )

    def by_pkg_config(self, prefix, searched, env=None):
        modules = ("conclave", "conclave-testing")
        here = {searched: str(prefix / "lib/pkgconfig")}
        words = run("pkg-config", "--cflags", "--libs", *modules, env=here).split()
        program = WORK / f"{prefix.name}-by-pkg-config"
        run(COMPILER, "-std=c++20", "-Werror", HERE / "consumer/main.cpp", "-o", program, *words)
        self.works(program, env)

    def test_uses_pkg_config_for_static_libraries(self):
        self.by_pkg_config(STATIC, "PKG_CONFIG_PATH")  # and where the system has what it needs

    def test_uses_pkg_config_for_shared_libraries(self):
        self.by_pkg_config(SHARED, "PKG_CONFIG_LIBDIR", env={"LD_LIBRARY_PATH": str(SHARED / "lib")})


class Components(unittest.TestCase):
    def test_the_document_names_them_all_and_the_options(self):
        document = (SOURCE / "docs/install.md").read_text()
        for name in components(STATIC):
            self.assertIn(f"`{name}`", document)
        options = re.findall(r"^\s*option\((\w+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)
        for name in set(options) - {"CONCLAVE_DEVELOPER"}:
            self.assertIn(f"`{name}`", document)

    def test_an_unknown_one_is_told_with_those_there_are(self):
        output = find(STATIC, "REQUIRED;COMPONENTS;memory;carrier-pigeon", succeeds=False)
        offered = ", ".join(sorted(components(STATIC)))
        self.assertIn(f"has no component carrier-pigeon here; it has {offered}.", output)

    def test_an_unknown_one_may_be_optional(self):
        output = find(STATIC, "REQUIRED;COMPONENTS;base;OPTIONAL_COMPONENTS;carrier-pigeon")
        self.assertIn("conclave::base", targets(output))

    def test_one_brings_what_it_needs_and_nothing_else(self):
        self.assertEqual(
            targets(find(STATIC, "REQUIRED;COMPONENTS;base")), {"conclave::base", "conclave::include"}
        )
        self.assertLessEqual(
            {"conclave::net", "conclave::base", "conclave::include", "Threads::Threads"},
            targets(find(STATIC, "REQUIRED;COMPONENTS;net")),
        )

    def test_none_means_all(self):
        for prefix in (STATIC, SHARED):
            expected = {f"conclave::{name}" for name in components(prefix)}
            self.assertLessEqual(expected, targets(find(prefix, "REQUIRED")))

    def test_another_minor_version_does_not_do_while_the_major_one_is_zero(self):
        self.assertIn("found: 0", find(STATIC, "0.2;QUIET"))
        self.assertIn("found: 1", find(STATIC, "0.1;QUIET"))


class Installed(unittest.TestCase):
    def test_all_public_headers_and_no_others(self):
        public = {str(path.relative_to(SOURCE / "include")) for path in (SOURCE / "include").rglob("*.hpp")}
        for prefix in (STATIC, SHARED):
            there = {
                str(path.relative_to(prefix / "include"))
                for path in (prefix / "include").rglob("*")
                if path.is_file()
            }
            self.assertEqual(there, public | {"conclave/version.hpp"})

    def test_neither_tests_nor_examples(self):
        for prefix in (STATIC, SHARED):
            command = {"bin"} if prefix == SHARED else set()
            self.assertEqual({path.name for path in prefix.iterdir()}, {"include", "lib", "share"} | command)
            for path in libraries(prefix):
                self.assertRegex(path.name, r"^libconclave(_[a-z]+)?\.(a|so\.\d+\.\d+\.\d+)$")

    def test_nothing_of_ours_reaches_a_users_build(self):
        for prefix in (STATIC, SHARED):
            texts = [*prefix.glob("lib/cmake/conclave/*"), *prefix.glob("lib/pkgconfig/*")]
            self.assertTrue(texts)
            for path in texts:
                text = path.read_text()
                for word in ("-W", "-fsanitize", "Boost", "boost", str(SOURCE), str(WORK)):
                    self.assertNotIn(word, text, path)

    def test_inner_rooms_are_no_shared_libraries(self):
        names = [path.name for path in libraries(SHARED)]
        self.assertTrue(any("conclave_base" in name for name in names))
        for room in INNER:
            self.assertFalse([name for name in names if f"_{room}." in name], names)
        self.assertTrue((STATIC / "lib/libconclave_core.a").exists())


class Command(unittest.TestCase):
    """Installed with shared libraries; without the command nothing of it is there."""

    def made(self, *arguments):
        return run(SHARED / "bin/conclave", *arguments)

    def test_runs_where_it_was_moved_to(self):
        self.assertEqual([path.name for path in (SHARED / "bin").iterdir()], ["conclave"])
        self.assertRegex(self.made("version"), r"^conclave \d+\.\d+\.\d+, stores.* file:")
        store = f"file:{WORK}/elections"
        shutil.rmtree(WORK / "elections", ignore_errors=True)
        said = self.made("run", "--store", store, "--", "sh", "-c", "echo $CONCLAVE_ELECTION leads")
        self.assertEqual(said, "sh leads\n")

    def test_brings_its_manual_and_completions(self):
        share = SHARED / "share"
        files = {
            "man/man1/conclave.1": ["man"],
            "bash-completion/completions/conclave": ["completion", "bash"],
            "zsh/site-functions/_conclave": ["completion", "zsh"],
            "fish/vendor_completions.d/conclave.fish": ["completion", "fish"],
        }
        for file, arguments in files.items():
            self.assertEqual((share / file).read_text(), self.made(*arguments), file)
            self.assertIn("status", (share / file).read_text(), file)
        self.assertTrue((share / "man/man1/conclave.1").read_text().startswith(".TH CONCLAVE 1"))
        self.assertEqual([path.name for path in (STATIC / "share").iterdir()], ["doc"])


class SharedLibraries(unittest.TestCase):
    def test_show_only_what_is_ours(self):
        for library in libraries(SHARED):
            symbols = run("nm", "-D", "--defined-only", "--format=posix", library).splitlines()
            names = [line.split()[0] for line in symbols]
            self.assertTrue(names, f"{library.name} shows nothing: is CONCLAVE_API missing?")
            self.assertEqual([name for name in names if not OWN_SYMBOL.match(name)], [], library.name)
            inner = [name for name in names for room in INNER if f"8conclave{len(room)}{room}" in name]
            self.assertEqual(inner, [], library.name)

    def test_have_a_name_that_changes_with_the_abi(self):
        text = (SOURCE / "CMakeLists.txt").read_text()
        version = re.search(r"project\(conclave VERSION (\d+\.\d+)", text).group(1)
        for library in libraries(SHARED):
            entries = run("readelf", "--dynamic", "--wide", library)
            name = library.name.split(".so.")[0]
            self.assertIn(f"soname: [{name}.so.{version}]", entries)
            self.assertIn("runpath: [$ORIGIN]", entries)
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", entries):
                self.assertNotIn("boost", needed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
