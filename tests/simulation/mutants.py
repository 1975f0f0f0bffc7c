#!/usr/bin/env python3
"""Puts protocol mistakes into copies of the core and the simulator; the simulator must notice each.

usage: mutants.py SOURCE_DIR [--jobs N] [--seeds N] [--only TEXT]
"""

import argparse
import concurrent.futures
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib

PARTS = ("include", "src/base", "src/core", "tests/simulation")


class Workshop:
    """A copy of the sources with a build of its own, so that only what a mutant touches is rebuilt."""

    def __init__(self, folder):
        self.folder = folder

    def fill(self, source):
        for part in PARTS:
            shutil.copytree(source / part, self.folder / part)
        self.write_build_file()

    def copy_to(self, folder):
        shutil.copytree(self.folder, folder)  # with all that is built, and its times
        return Workshop(folder)

    def write_build_file(self):
        compiler = os.environ.get("CXX", "g++")
        if shutil.which("ccache"):
            compiler = "ccache " + compiler
        sources = sorted(
            path.relative_to(self.folder)
            for part in PARTS[1:]
            for path in (self.folder / part).glob("*.cpp")
        )
        lines = [
            "rule compile",
            f"  command = {compiler} -std=c++20 -O1 -DNDEBUG -Iinclude -Isrc -Itests -MD -MF $out.d -c $in -o $out",
            "  depfile = $out.d",
            "  deps = gcc",
            "rule link",
            f"  command = {compiler} $in -o $out",
        ]
        lines += [f"build {path}.o: compile {path}" for path in sources]
        lines.append("build sim: link " + " ".join(f"{path}.o" for path in sources))
        (self.folder / "build.ninja").write_text("\n".join(lines) + "\n")

    def build(self, jobs=1):
        done = subprocess.run(["ninja", f"-j{jobs}"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("does not build:\n" + done.stdout[-3000:])

    def simulate(self, seeds):
        """The rule that was broken and the seed that showed it, or nothing."""
        done = subprocess.run(
            ["./sim", "--seeds", str(seeds)], cwd=self.folder, capture_output=True, text=True, timeout=600
        )
        if done.returncode == 0:
            return None
        rule = [line for line in done.stdout.splitlines() if line.startswith("BROKEN: ")]
        replay = [line for line in done.stdout.splitlines() if line.startswith("replay: ")]
        if done.returncode != 1 or not rule:
            raise RuntimeError(f"the simulator ended with code {done.returncode}")
        return rule[-1].removeprefix("BROKEN: "), replay[-1].split("--seed ")[1].split()[0]

    def try_mutant(self, mutant, seeds):
        path = self.folder / mutant["file"]
        original = path.read_text()
        lines = original.splitlines()
        places = [i for i, line in enumerate(lines) if line.strip() == mutant["line"]]
        if len(places) != 1:
            raise RuntimeError(f"its line stands {len(places)} times in {mutant['file']}, not once")
        lines[places[0]] = mutant["replacement"]
        try:
            path.write_text("\n".join(lines) + "\n")
            self.build()
            return self.simulate(seeds)
        finally:
            path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=20000, help="the default of conclave-sim")
    parser.add_argument("--only", default="", help="those whose name has this text")
    arguments = parser.parse_args()
    if not (arguments.source / "tests/simulation/mutants.toml").exists():
        parser.error(f"{arguments.source} is not the folder of the sources: it has no tests/simulation/mutants.toml")

    table = tomllib.loads((arguments.source / "tests/simulation/mutants.toml").read_text())["mutant"]
    mutants = [mutant for mutant in table if arguments.only in mutant["name"]]
    if not mutants:
        sys.exit(f"no mutant's name has the text \"{arguments.only}\"")
    print(f"building core and simulator, then {len(mutants)} mutants", flush=True)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="conclave-mutants-") as folder:
        first = Workshop(pathlib.Path(folder) / "0")
        first.fill(arguments.source)
        first.build(arguments.jobs)
        if first.simulate(500) is not None:
            sys.exit("the sources break a rule without any mutant in them")
        workshops = queue.SimpleQueue()
        workshops.put(first)
        for number in range(1, arguments.jobs):
            workshops.put(first.copy_to(pathlib.Path(folder) / str(number)))

        def examine(mutant):
            workshop = workshops.get()
            try:
                return workshop.try_mutant(mutant, arguments.seeds)
            finally:
                workshops.put(workshop)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            results = [(mutant, pool.submit(examine, mutant)) for mutant in mutants]
            for number, (mutant, result) in enumerate(results, 1):
                head = f"[{number}/{len(results)}] {mutant['name']}: "
                try:
                    caught = result.result()
                    verdict = f"caught at seed {caught[1]}: {caught[0]}" if caught else "NOT CAUGHT"
                    rule = mutant["rule"]
                    expected = caught is not None and caught[0].startswith(rule)
                    if caught and not expected:
                        verdict = f"FAILED: caught, but not by the rule '{rule}': {caught[0]}"
                    failures += not expected
                except RuntimeError as error:
                    verdict = f"FAILED: {error}"
                    failures += 1
                print(head + verdict, flush=True)
    print(f"{len(mutants) - failures} of {len(mutants)} mutants caught")
    sys.exit(1 if failures or not mutants else 0)


if __name__ == "__main__":
    main()
