#!/usr/bin/env python3
"""The verbs that look at an election or put it in order: status, watch, end, remove, doctor, version."""

import json
import os
import signal
import subprocess
import termios
import unittest

from driver import HANG, Case, binary

Case.command = binary()


ENDED = "e: ended; its candidates are told, and one that cannot hear it stops when its lease is over\n"


class WithLeader(Case):
    def of(self, verb, *more):
        return verb, "--store", self.store, "--election", "e", *more

    def lead(self, name="ann", *more, **rest):
        """A leader, and its elected line."""
        process = self.join("e", *more, identity=name, **rest)
        return process, process.out.event("elected")

    def stop(self, process):
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 0, process.err.text)

    def kill(self, process):
        process.send(signal.SIGKILL)
        process.wait()


class Status(WithLeader):
    def test_a_leader(self):
        _, elected = self.lead("ann", "--metadata", "10.0.0.7:80")
        code, out, err = self.ask(*self.of("status"))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(
            out, rf"^e: ann leads, term {elected['term']}, since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
            r"\(\S+ (µs|ms|s)\)\n  10\.0\.0\.7:80\n$",
        )  # fmt: skip

    def test_a_leader_as_json(self):
        _, elected = self.lead("ann", "--metadata", "10.0.0.7:80")
        code, out, _ = self.ask(*self.of("status", "--json"))
        self.assertEqual((code, out.count("\n")), (0, 1))
        found = json.loads(out)
        self.assertRegex(found.pop("since"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        age = found.pop("age")
        self.assertEqual(
            found, {"election": "e", "ended": False, "last_term": elected["term"], "leader": "ann",
                    "term": elected["term"], "metadata": "10.0.0.7:80", "lease": 1.0, "candidates": []},
        )  # fmt: skip
        self.assertGreater(json.loads(self.ask(*self.of("status", "--json"))[1])["age"], age)

    def test_nobody_yet(self):
        self.assertEqual(self.ask(*self.of("status")), (3, "e: nobody leads\n", ""))
        code, out, _ = self.ask(*self.of("status", "--json"))
        self.assertEqual((code, json.loads(out)["leader"]), (3, None))

    def test_nobody_any_more(self):
        ann, elected = self.lead()
        self.stop(ann)
        gone = f"e: nobody leads; the last term was {elected['term']}\n"
        self.assertEqual(self.ask(*self.of("status")), (3, gone, ""))
        ben, _ = self.lead("ben")
        self.kill(ben)
        self.assertEqual(self.ask(*self.of("status"))[0], 3)

    def test_an_ended_election(self):
        self.stop(self.lead()[0])
        self.ask(*self.of("end"))
        code, out, _ = self.ask(*self.of("status"))
        self.assertEqual(code, 3)
        self.assertIn("e: was ended; the last term was ", out)

    def test_nothing_moves_the_cursor(self):
        self.lead("ann", "--metadata", "a\x1b[2Jb\x9b2Jä")
        self.assertIn("a\\x1b[2Jb\\x9b2Jä", self.ask(*self.of("status"))[1])


class Watch(WithLeader):
    def test_lines_when_it_is_no_terminal(self):
        watch = self.start(*self.of("watch"))
        ann, elected = self.lead()
        line = watch.out.until("ann leads")
        self.assertRegex(line, rf"^\d\d:\d\d:\d\d\.\d\d\d ann leads, term {elected['term']}$")
        self.stop(ann)
        watch.out.until("nobody leads")
        self.assertNotIn("\x1b", watch.out.text)
        watch.send(signal.SIGINT)
        self.assertEqual((watch.wait(), watch.err.text), (0, ""))

    def test_json_lines_also_on_a_terminal(self):
        for terminal in (None, (24, 80)):
            watch = self.start(*self.of("watch", "--json"), terminal=terminal)
            ann, elected = self.lead()
            found = watch.out.event("leader_changed", leader="ann")
            self.assertEqual((found["election"], found["term"]), ("e", elected["term"]))
            self.stop(ann)
            watch.out.event("leader_changed", leader="", term=elected["term"])
            self.assertNotIn("\x1b", watch.out.text)
            watch.send(signal.SIGTERM)
            self.assertEqual(watch.wait(), 0)

    def test_a_live_view_on_a_terminal(self):
        ann, elected = self.lead("ann", "--metadata", "at " + "x" * 200)
        watch = self.start(*self.of("watch"), terminal=(24, 80))
        before = termios.tcgetattr(watch.out.descriptor)
        watch.out.wait_text(f"  ann leads, term {elected['term']}, seen ")
        self.kill(ann)
        ben, second = self.lead("ben")
        watch.out.wait_text(f"  ben leads, term {second['term']}, seen ")
        self.assertEqual(screen(watch.out.text)[0], "e")
        self.assertTrue(screen(watch.out.text)[1].startswith("  ben leads"), screen(watch.out.text))
        watch.type("\x03")  # Ctrl-C
        self.assertEqual(watch.wait(), 0)
        self.assertEqual(termios.tcgetattr(watch.out.descriptor), before)
        self.assertGreater(watch.out.text.count("\x1b[?7l"), 1)
        self.assertEqual(watch.out.text.count("\x1b[?7l"), watch.out.text.count("\x1b[?7h"))
        last = screen(watch.out.text)
        self.assertEqual(sum("ben leads" in line for line in last), 2, last)  # the state, and what happened
        self.assertTrue(any(line.endswith("ann leads, term %d" % elected["term"]) for line in last), last)
        self.stop(ben)

    def test_it_ends_with_the_election(self):
        ann, _ = self.lead()
        watch = self.start(*self.of("watch"))
        watch.out.until("ann leads")
        self.assertEqual(self.ask(*self.of("end"))[0], 0)
        self.assertEqual(watch.wait(), 0)
        self.assertEqual(ann.wait(), 1)

    def test_a_reader_that_has_gone(self):
        watch = self.start(*self.of("watch"))
        self.lead()
        watch.out.until("ann leads")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, watch.popen.stdout.fileno())
        os.close(null)
        self.assertEqual(watch.wait(), 1)
        self.assertEqual(watch.err.text, "conclave: the output was closed by its reader, or not read: ended\n")


def screen(text):
    """What a terminal shows of it, with the few sequences that the view uses; lines are cut, not wrapped."""
    rows, row = [""], 0
    for part in text.replace("\r", "").replace("\x1b[?7l", "").replace("\x1b[?7h", "").split("\x1b["):
        if part[:1] == "J":
            rows, part = rows[:row] + [""], part[1:]
        elif part[:1].isdigit():
            count, _, part = part.partition("F")
            row -= int(count)
        for index, line in enumerate(part.split("\n")):
            row += index > 0
            rows += [""] * (row + 1 - len(rows))
            rows[row] += line
    return rows


class EndAndRemove(WithLeader):
    def test_an_end_is_told_to_all(self):
        ann, _ = self.lead()
        ben = self.join(identity="ben")
        ben.out.event("follower")
        self.assertEqual(self.ask(*self.of("end")), (0, ENDED, ""))
        self.assertEqual(ann.out.event("lost")["reason"], "election_ended")
        for process in (ann, ben):
            self.assertEqual(process.wait(), 1)
            self.assertEqual(process.err.text, 'conclave: the election "e" was ended: remove it to begin anew\n')
            self.assertEqual(process.out.all_json()[-1]["event"], "stopped")

    def test_nobody_is_elected_after_an_end(self):
        self.stop(self.lead()[0])
        self.ask(*self.of("end"))
        late = self.join(identity="late")
        late.wait()
        self.assertNotIn("elected", [line["event"] for line in late.out.all_json()])

    def test_there_is_no_such_election(self):
        for verb in ("end", "remove"):
            self.assertEqual(self.ask(*self.of(verb)), (0, "e: there is no such election\n", ""))

    def test_a_held_election_is_not_removed(self):
        ann, _ = self.lead()
        for more in ([], ["--purge"]):
            self.assert_refused(self.ask(*self.of("remove", *more)), 1, 'held by "ann"', "end it")
        ann.out.event("extended")  # and goes on

    def test_terms_go_on_growing_after_a_removal(self):
        ann, first = self.lead()
        self.stop(ann)
        self.ask(*self.of("end"))
        done = "e: removed; its terms go on growing when it begins anew\n"
        self.assertEqual(self.ask(*self.of("remove")), (0, done, ""))
        status = json.loads(self.ask(*self.of("status", "--json"))[1])
        self.assertEqual((status["last_term"], status["ended"]), (first["term"], False))
        self.assertGreater(self.lead("ben")[1]["term"], first["term"])

    def test_a_purge_forgets_the_term_and_says_what_that_costs(self):
        self.stop(self.lead()[0])
        self.ask(*self.of("end"))
        code, out, _ = self.ask(*self.of("remove", "--purge"))
        self.assertEqual(code, 0)
        self.assertIn("e: purged; its terms may begin anew", out)
        self.assertEqual(json.loads(self.ask(*self.of("status", "--json"))[1])["last_term"], 0)
        self.assertEqual([path.name for path in (self.folder / "store").rglob("*.election")], [])
        help_text = " ".join(self.ask("remove", "--help")[1].split())
        self.assertIn("Forget the last term, too: what was fenced with it then accepts old terms.", help_text)


class Doctor(Case):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "store"

    def examine(self, mode, *more):
        self.place.mkdir(exist_ok=True)
        self.place.chmod(mode)
        return self.ask("doctor", "--store", self.store, *more)

    def test_nothing_but_notes(self):
        code, out, err = self.ask("doctor", "--store", "memory:")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.endswith("nothing here weakens the promise\n"), out)

    def test_a_warning(self):
        code, out, _ = self.examine(0o770)
        self.assertEqual(code, 4)
        self.assertRegex(out, r"(?m)^warning: .*may write to the directory")
        self.assertIn("chmod 700", out)
        self.assertNotIn("nothing here", out)

    def test_a_danger_comes_first(self):
        code, out, _ = self.examine(0o777)
        self.assertEqual(code, 5)
        self.assertRegex(out, r"^danger: ")
        self.assertIn("chmod 700", out.splitlines()[1])

    def test_json(self):
        for mode, wanted, worst in ((0o770, 4, "warning"), (0o777, 5, "danger")):
            code, out, _ = self.examine(mode, "--json")
            found = [json.loads(line) for line in out.splitlines()]
            self.assertEqual((code, found[0]["severity"]), (wanted, worst))
            self.assertIn("note", [each["severity"] for each in found])
            for each in found:
                self.assertEqual(list(each), ["severity", "setting", "problem", "fix"])
                self.assertTrue(all(each.values()), each)

    def test_a_store_that_cannot_be_opened(self):
        self.place.write_text("in the way")
        code, out, err = self.ask("doctor", "--store", self.store)
        self.assertEqual(code, 2)
        self.assertEqual((out, err.count("\n")), ("", 1))


class Readers(Case):
    def test_one_that_has_gone_is_told_by_every_verb(self):
        for verb in ("status", "end", "remove", "doctor", "version"):
            named = [] if verb in ("doctor", "version") else ["--election", "e"]
            stored = [] if verb == "version" else ["--store", self.store]
            ours, theirs = os.pipe()
            os.close(ours)
            command = [self.command, verb, *stored, *named]
            done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=HANG)
            os.close(theirs)
            self.assert_refused((done.returncode, "", done.stderr), 1, "output")


class Version(Case):
    def test_words_and_json(self):
        code, out, _ = self.ask("version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^conclave \d+\.\d+\.\d+, stores( [\w+]+:)+\n$")
        found = json.loads(self.ask("version", "--json")[1])
        self.assertEqual(out, f"conclave {found['version']}, stores " + " ".join(f"{s}:" for s in found["stores"]) + "\n")
        self.assertIn("file", found["stores"])


if __name__ == "__main__":
    unittest.main()
