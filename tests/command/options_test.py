#!/usr/bin/env python3
"""Options from the command line, the environment and a file; help, manual and completions; bad input."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from driver import Case, binary, clean_environment

Case.command = binary()

TABLE = {
    "run": "store election lease id metadata grace drain term-limit once restart on-lost timeout config",
    "join": "store election lease id metadata grace drain term-limit json config",
    "status": "store election json config",
    "watch": "store election json config",
    "end": "store election json config",
    "remove": "store election purge json config",
    "doctor": "store lease json config",
    "sql": "store config",
    "bench": "store lease rounds candidates elections json config",
    "demo": "rounds keep config",
    "completion": "",
    "man": "",
    "version": "json config",
}
OPERANDS = {"run": ["--", "true"], "bench": ["first"], "completion": ["bash"]}
FLAGS = {"json", "once", "purge", "keep"}
GOOD = {"election": "e", "lease": "1s", "id": "me", "metadata": "here", "grace": "100ms", "drain": "1s",
        "term-limit": "1m", "restart": "never", "on-lost": "wait", "timeout": "1m", "rounds": "1", "candidates": "1",
        "elections": "1"}
LONG = "x" * 5000
BAD = {"store": "nonsense:", "election": LONG, "id": LONG, "metadata": LONG, "config": "/no/such/file"}
NAMED = {"store": "nonsense", "election": "election name", "id": "candidate id", "metadata": "metadata"}


def variable(option):
    return "CONCLAVE_" + option.upper().replace("-", "_")


class Sources(Case):
    """Where each option may stand. A bad value that is refused was read; one that is not was overruled."""

    def with_option(self, verb, source, option, text, below=None):
        """The verb with that option from that source and, from the source below, another text."""
        arguments, environment, lines = [], {}, []
        places = ["line", "variable", "file"]
        for place, value in zip(places[places.index(source):], [text, below]):
            if value is None:
                continue
            if place == "file":
                lines.append(f"{option} = {value}")
            elif place == "variable":
                environment[variable(option)] = value
            else:
                arguments += [f"--{option}"] if option in FLAGS else [f"--{option}", value]
        if lines:
            path = self.folder / "settings"
            path.write_text("# settings\n\n" + "\n".join(lines) + "\n")
            arguments += ["--config", path]
        known = TABLE[verb].split()
        if option != "store" and "store" in known:
            arguments += ["--store", self.store]
        if option != "election" and "election" in known:
            arguments += ["--election", "e"]
        return self.ask(verb, *arguments, *OPERANDS.get(verb, []), environment=environment)

    def test_every_option_is_read_from_everywhere(self):
        for verb, options in TABLE.items():
            for option in options.split():
                sources = ["variable"] + ["line"] * (option not in FLAGS)
                sources += ["file"] * ("config" in options and option != "config")
                for source in sources:
                    with self.subTest(verb=verb, option=option, source=source):
                        done = self.with_option(verb, source, option, BAD.get(option, "maybe"))
                        self.assert_refused(done, 2, NAMED.get(option, "--" + option))

    def test_line_before_variable_before_file(self):
        good = {**GOOD, "store": self.store, "config": os.devnull}
        for option in TABLE["run"].split():
            bad = BAD.get(option, "maybe")
            with self.subTest(option=option, over="variable"):
                self.assertEqual(self.with_option("run", "line", option, good.get(option, "true"), bad), (0, "", ""))
            if option != "config":
                with self.subTest(option=option, over="file"):
                    done = self.with_option("run", "variable", option, good.get(option, "true"), bad)
                    self.assertEqual(done, (0, "", ""))

    def test_values_arrive(self):
        settings = self.folder / "settings"
        settings.write_text(f"  election =  from file \r\nid = x\nstore = {self.store}\nmetadata = a = b # c\n")
        show = 'echo "$CONCLAVE_ELECTION|$CONCLAVE_CANDIDATE"; exec "$0" status --json --store "$1"'
        code, out, err = self.ask("run", "--id", "from line", "--", "sh", "-c", show, self.command, self.store,
                                  environment={"CONCLAVE_ID": "y", "CONCLAVE_CONFIG": settings})
        self.assertEqual((code, err), (0, ""))
        names, status = out.splitlines()
        self.assertEqual(names, "from file|from line")
        self.assertEqual(json.loads(status)["metadata"], "a = b # c")

    def test_flags_are_words_elsewhere(self):
        for text, once in (("true", True), ("1", True), ("yes", True), ("false", False), ("0", False), ("", False)):
            code, out, _ = self.ask("version", environment={"CONCLAVE_JSON": text})
            self.assertEqual((code, out.startswith("{")), (0, once), text)

    def test_an_empty_variable_is_none(self):
        done = self.ask("run", "true", environment={"CONCLAVE_LEASE": "", "CONCLAVE_STORE": self.store})
        self.assertEqual(done, (0, "", ""))

    def test_what_run_tells_its_command_is_no_option_for_another(self):
        words = [self.command, "run", "--store", self.store, "--timeout", "100s", "--", "echo", "inner"]
        done = self.ask("run", "--store", self.store, "--election", "outer", "--", *words)
        self.assertEqual(done, (0, "inner\n", ""))

    def test_the_last_of_the_line_counts(self):
        done = self.ask("run", "--store", "nonsense:", f"--store={self.store}", "--lease", "x", "--lease=1s", "true")
        self.assertEqual(done, (0, "", ""))


class BadInput(Case):
    """One sentence that names what is wrong and what to do, a documented code, and nothing left locked."""

    def refused(self, code, arguments, *words, **more):
        with self.subTest(arguments=arguments):
            self.assert_refused(self.ask(*arguments, **more), code, *words)

    def tearDown(self):
        """Whatever was refused: the next one is elected."""
        done = self.ask("run", "--store", self.store, "--election", "e", "--timeout", "1m", "--", "true")
        self.assertEqual(done, (0, "", ""))

    def run_with(self, *options, command=("true",)):
        return ["run", "--store", self.store, "--election", "e", *options, "--", *command]

    def test_words(self):
        self.refused(2, [], "a verb is missing", "conclave --help")
        self.refused(2, ["nonsense"], "nonsense is not a verb", "conclave --help")
        self.refused(2, ["--nonsense"], "--nonsense", "conclave --help")
        for verb in TABLE:
            self.refused(2, [verb, "--nonsense"], "--nonsense is not an option here", f"conclave {verb} --help")
        self.refused(2, self.run_with("--nonsense", "5"), "--nonsense is not an option here")
        for verb in ("join", "run"):
            self.refused(2, [verb, "--candidate", "a"], "--candidate is not an option here, --id is")
        self.refused(2, ["status", "--candidate", "a"], "--candidate is not an option here: conclave status --help")
        self.refused(2, ["status", "more"], "more is too much", "conclave status --help")
        self.refused(2, ["status"], "--election is missing")
        self.refused(2, ["run", "--store"], "--store", "URL", "missing")
        self.refused(2, ["bench"], "first|handoff|crash|check|scale|idle")
        self.refused(2, ["bench", "rst|hand"], "first|handoff|crash|check|scale|idle")
        self.refused(2, ["completion", "bash", "zsh"], "bash|zsh|fish")

    def test_values(self):
        for text in ("5", "x", "-1s", "1s2", "99999999999999h", "", "1,5s", "nan s"):
            self.refused(2, self.run_with("--lease", text), "--lease")
        self.refused(2, self.run_with("--lease", "0s"), "lease")
        self.refused(2, self.run_with("--grace", "10s", "--lease", "1s"), "grace")
        self.refused(2, self.run_with("--restart", "often"), "--restart", "never, on-failure, always")
        self.refused(2, ["run", "--store", "memory:", "--", "true"], "memory:", "file:")
        self.refused(2, self.run_with("--on-lost", "cry"), "--on-lost", "wait, exit")
        self.refused(2, self.run_with("--id", ""), "candidate id")
        self.refused(2, ["bench", "first", "--rounds", "0"], "--rounds", "from 1 to 1000000")
        for name in ("", "a" * 256):
            self.refused(2, ["status", "--store", self.store, "--election", name], "election name")
            self.refused(2, ["run", "--store", self.store, "--election", name, "true"], "election name")

    def test_commands(self):
        plain = self.folder / "plain"
        plain.write_text("#!/bin/sh\n")
        self.refused(2, ["run", "--store", self.store], "command to run is missing")
        self.refused(2, ["run", "--store", self.store, "--"], "command to run is missing")
        self.refused(127, self.run_with(command=["no-such-command"]), "no-such-command", "PATH")
        self.refused(127, self.run_with(command=["/no/such"]), "/no/such", "no such file")
        self.refused(126, self.run_with(command=[plain]), "chmod +x")
        self.refused(126, self.run_with(command=[self.folder]), "not a file")
        self.refused(126, self.run_with(command=["plain"]), "chmod +x", environment={"PATH": str(self.folder)})

    def test_stores(self):
        self.refused(2, ["run", "--store", "nonsense", "true"], "scheme")
        for verb in ("run", "join", "status", "watch", "end", "remove"):
            operands = OPERANDS.get(verb, [])
            self.refused(2, [verb, "--store", "file:/etc/passwd", "--election", "e", *operands], "/etc/passwd")
        self.refused(2, ["run", "--store", self.store + "?colour=red", "true"], "no option colour")
        self.refused(2, ["run", "--store", self.store + "?lease=5", "true"], "lease")

    def test_files(self):
        settings = self.folder / "settings"
        self.refused(2, self.run_with("--config", settings), "--config", str(settings), "cannot be read")
        self.refused(2, self.run_with("--config", self.folder), "--config", "cannot be read")
        for text, words in (("\n# x\ncolour = red\n", ("line 3", "no option colour")),
                            ("lease\n", ("line 1", "name = value")),
                            ("= 5\n", ("line 1", "no option")),
                            ("lease = 5\n", ("--lease",)),
                            ("config = other\n", ("line 1", "no option config"))):
            settings.write_text(text)
            self.refused(2, self.run_with("--config", settings), *words)

    def test_output_that_cannot_be_written(self):
        for arguments in (["man"], ["version"], ["--help"], ["run", "--help"], ["completion", "zsh"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([self.command, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=clean_environment(), timeout=100)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, r"^conclave: the output cannot be written: [^\n]*\n$")

    def test_no_output_at_all(self):
        """Its number must not become that of a store's file."""
        for arguments in (["version"], ["status", "--election", "e", "--store", f"file:{self.folder}/none"]):
            done = subprocess.run([self.command, *map(str, arguments)], stderr=subprocess.PIPE, text=True,
                                  env=clean_environment(), timeout=100, preexec_fn=lambda: os.close(1))
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, r"^conclave: the output cannot be written: [^\n]*\n$")


class Passwords(Case):
    SECRET = "geheim"
    WARNING = "a password on the command line"

    def test_used_hidden_and_warned_about(self):
        """In any URL of ours; what is shown of the leader is one that this build can carry."""
        url = f"redis://user:{self.SECRET}@host/0"
        wait = "echo started; cat /proc/$$/environ | tr '\\0' '\\n'; echo; echo shown; exec sleep 600"
        run = self.start("run", "--store", self.store, "--election", "e", f"--metadata={url}", "--", "sh", "-c", wait)
        run.out.until("shown")
        self.assertNotIn(self.SECRET, run.out.text)
        run.err.wait_text(self.WARNING)
        self.assertIn("CONCLAVE_STORE", run.err.text)
        self.assertIn("--config", run.err.text)
        self.assertEqual(run.err.text.count("\n"), 1)
        seen = pathlib.Path(f"/proc/{run.pid}/cmdline").read_bytes().split(b"\0")
        self.assertIn(b"--metadata=redis://user:" + b"*" * len(self.SECRET) + b"@host/0", seen)
        everybody = subprocess.run(["ps", "-e", "-o", "args"], capture_output=True, text=True, timeout=100).stdout
        self.assertNotIn(self.SECRET, everybody)
        status = self.ask("status", "--json", "--store", self.store, "--election", "e")[1]
        self.assertEqual(json.loads(status)["metadata"], url)

    def test_never_repeated(self):
        secret = self.SECRET
        for arguments in (["run", "--store", f"nowhere://u:{secret}@h", "true"],
                          ["run", f"--store=nowhere://:{secret}@h", "true"],
                          ["run", "--store", f"nowhere://u:a/{secret}@b@h", "true"],
                          ["run", "--store", f"{self.store}?password={secret}", "true"],
                          ["status", "--store", f"redis://{secret}@h", "--election", "e"],
                          ["run", f"--stor=nowhere://u:{secret}@h", "true"],
                          ["status", "--store", f"file://u:{secret}@h/x", "--election", "e"],
                          ["status", f"nowhere://u:{secret}@h"]):
            with self.subTest(arguments=arguments):
                code, out, err = self.ask(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertNotIn(secret, err)
                self.assertEqual(err.count("\n"), 2)
                self.assertIn(self.WARNING, err.splitlines()[0])

    def test_elsewhere_it_is_not_warned_about(self):
        url = f"nowhere://u:{self.SECRET}@h"
        settings = self.folder / "settings"
        settings.write_text(f"store = {url}\n")
        settings.chmod(0o600)
        for environment in ({"CONCLAVE_STORE": url}, {"CONCLAVE_CONFIG": settings}):
            self.assert_refused(self.ask("run", "true", environment=environment), 2, "nowhere")

    def test_a_file_that_others_may_read_is_warned_about(self):
        settings, password = self.folder / "settings", self.folder / "pass word"
        password.write_text(self.SECRET)
        settings.write_text(f"store = nowhere://u:{self.SECRET}@h\n")
        by_option = {"CONCLAVE_STORE": f"nowhere://h?password_file={str(password).replace(' ', '%20')}"}
        for path, environment in ((settings, {"CONCLAVE_CONFIG": settings}), (password, by_option)):
            for mode in (0o640, 0o604, 0o620):
                path.chmod(mode)
                code, out, err = self.ask("run", "true", environment=environment)
                self.assertEqual((code, out, err.count("\n")), (2, "", 2), err)
                self.assertIn(f"chmod 600 {path}\n", err)
                self.assertNotIn(self.SECRET, err)
            path.chmod(0o600)
            self.assert_refused(self.ask("run", "true", environment=environment), 2, "nowhere")

    def test_a_file_without_a_password_is_not_warned_about(self):
        settings = self.folder / "settings"
        settings.write_text(f"store = {self.store}\n")
        settings.chmod(0o644)
        self.assertEqual(self.ask("run", "--config", settings, "true"), (0, "", ""))

    def test_the_commands_own_arguments_are_its_own(self):
        url = f"redis://u:{self.SECRET}@h"
        for dashes in ([], ["--"]):
            done = self.ask("run", "--store", self.store, "--once", *dashes, "echo", "--store", url)
            self.assertEqual(done, (0, f"--store {url}\n", ""))


class Texts(Case):
    def test_version(self):
        self.assertEqual(self.ask("--version"), self.ask("version"))

    def text(self, *arguments):
        code, out, err = self.ask(*arguments)
        self.assertEqual((code, err), (0, ""), arguments)
        return out

    def test_help_teaches(self):
        top = self.text("--help")
        for verb, options in TABLE.items():
            self.assertRegex(top, rf"(?m)^  {verb} +\w")
            for flag in ("--help", "-h"):
                text = self.text(verb, flag)
                self.assertIn(f"Usage: conclave {verb}", text)
                self.assertRegex(text, rf"(?s)Examples?:\n  .*conclave {verb}")
            self.assertEqual(set(re.findall(r"(?m)^  --([a-z-]+)", text)), set(options.split()), verb)

    def test_examples_of_the_help_are_good_usage(self):
        for verb in TABLE:
            for example in re.findall(rf"(?m)^  .*\bconclave ({verb}\b[^|)\n]*)", self.text(verb, "--help")):
                words = example.split("--  ")[0].split()
                cut = words.index("--") if "--" in words else len(words)
                done = self.ask(*words[:cut], "--help")
                self.assertEqual(done[0], 0, (example, done))

    def test_manual(self):
        page = self.text("man")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True,
                              timeout=100)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for verb, options in TABLE.items():
            section = page.partition(f".SS {verb}\n")[2].partition("\n.S")[0]
            self.assertIn(f".B conclave {verb}", section)
            for option in options.split():
                self.assertIn("\\-\\-" + option.replace("-", "\\-"), section)
                self.assertIn(f"Variable: {variable(option)}.", page)
        for code in ("0", "1", "2", "3", "4", "5", "75", "124", "125", "126", "127", "128+N"):
            self.assertIn(f".TP\n.B {code}\n", page.partition(".SH EXIT STATUS")[2])

    def complete(self, *words):
        script = 'source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _conclave; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "-", self.command, *words], capture_output=True, text=True,
                              timeout=100, env=clean_environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash_completes(self):
        script = self.text("completion", "bash")
        self.assertEqual(subprocess.run(["bash", "-n"], input=script, text=True, timeout=100).returncode, 0)
        self.assertEqual(set(self.complete("conclave", "")), {*TABLE, "--help"})
        for verb, options in TABLE.items():
            self.assertEqual(set(self.complete("conclave", verb, "--")),
                             {"--help", *("--" + option for option in options.split())})
        self.assertEqual(self.complete("conclave", "run", "--on-"), ["--on-lost"])
        self.assertEqual(self.complete("conclave", "bench", "h"), ["handoff"])
        self.assertEqual(self.complete("conclave", "completion", "f"), ["fish"])

    def test_zsh_and_fish_know_all(self):
        zsh, fish = self.text("completion", "zsh"), self.text("completion", "fish")
        for verb, options in TABLE.items():
            words = re.search(rf"(?m)^    {verb}\) compadd -- (.*) ;;$", zsh).group(1).split()
            self.assertLessEqual({"--" + option for option in options.split()}, set(words))
            self.assertRegex(fish, rf"-n __fish_use_subcommand -a {verb} -d '")
            known = re.findall(rf"(?m)__fish_seen_subcommand_from {verb}' -l ([a-z-]+)( -r)? -d '", fish)
            self.assertEqual({name for name, _ in known}, set(options.split()))
            self.assertEqual({name for name, value in known if not value}, FLAGS & set(options.split()))
        self.assertIn("-a 'bash zsh fish'", fish)


if __name__ == "__main__":
    unittest.main()
