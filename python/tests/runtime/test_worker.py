"""The worker, in a process of its own, with the test as its engine."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from .places import HERE, PACKAGES

ACTIONS = os.path.join(HERE, "files", "actions.py")

#: How long anything may take, in seconds.
DEADLINE = 300


class Engine:
    """The other end of a worker."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pulley", "worker", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": PACKAGES},
        )
        self.messages = queue.Queue()
        self.log = b""
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self._read, self._keep_log)]
        for t in self.threads:
            t.start()
        self.hello = self.receive()
        self.beats = []

    def _read(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def _keep_log(self):
        for line in self.process.stderr:
            self.log += line

    def send(self, kind, **rest):
        self.process.stdin.write(json.dumps({"pulley": kind, **rest}).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, kinds=None):
        """Gives the next message; with kinds, the next of those.  None: the worker has ended."""
        until = time.monotonic() + DEADLINE
        while True:
            message = self.messages.get(timeout=until - time.monotonic())
            if message is None or kinds is None or message["pulley"] in kinds:
                return message
            if message["pulley"] == "heartbeat":
                self.beats.append(message)

    def call(self, action, **args):
        self.send("run", id="1", action=action, args=args, attempt=1, key="i/n")
        return self.receive(("result", "error"))

    def close(self):
        """Ends the worker and gives its exit status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self.process.wait()
            for t in self.threads:
                t.join()
            self.process.stdout.close()
            self.process.stderr.close()


class WorkerTest(unittest.TestCase):
    def setUp(self):
        self.engine = Engine(ACTIONS, "--slots", "4")
        self.addCleanup(self.engine.close)

    def test_hello(self):
        hello = self.engine.hello
        self.assertEqual((hello["pulley"], hello["version"], hello["name"], hello["slots"]), ("hello", 1, "actions.py", 4))
        actions = {a["name"]: a for a in hello["actions"]}
        self.assertEqual(actions["later.double"]["args"], ["item", "times"])
        self.assertEqual(actions["later.double"]["required"], ["item"])
        self.assertIn("double", actions)

    def test_results(self):
        call = self.engine.call
        self.assertEqual(list(call("double", x=4).items()), [("pulley", "result"), ("id", "1"), ("value", 8)])
        self.assertEqual(call("later.double", item={"id": 4})["value"], {"id": 8})
        self.assertEqual(call("later.double", item={"id": 4}, times=3)["value"], {"id": 12})
        self.assertEqual(call("who")["value"], ["i/n", 1])

    def test_errors(self):
        for action, args, kind, says in [
            ("double", {"x": "4"}, "ArgumentError", 'double: argument x: expected int, got "4"'),
            ("double", {}, "ArgumentError", "double: argument x is missing"),
            ("double", {"x": 1, "y": 2}, "ArgumentError", "double: there is no argument y"),
            ("later.double", {"item": {"id": 1.5}}, "ArgumentError", "later.double: argument item.id: expected int, got 1.5"),
            ("dubble", {}, "UnknownAction", "this worker has no action dubble; it has "),
            ("fails", {"message": "no money"}, "Declined", "no money"),
            ("exits", {}, "SystemExit", "3"),
            ("stops", {}, "StopIteration", "over"),
            ("returns", {"what": "text"}, "ResultError", 'returns: result: expected int, got "x"'),
            ("returns", {"what": "set"}, "ResultError", "returns: result: expected int, got a set"),
            ("returns", {"what": "else"}, "KeyError", "'else'"),
            ("large", {"size": 9 << 20}, "LimitExceeded", "large: result: it has 9437"),
        ]:
            with self.subTest(action=action, args=args):
                got = self.engine.call(action, **args)
                self.assertEqual((got["pulley"], got["id"], got["type"]), ("error", "1", kind))
                self.assertTrue(got["message"].startswith(says), got["message"])
        self.assertEqual(self.engine.call("fails", message="")["types"], ["Declined", "LookupError", "Exception"])
        self.assertEqual(self.engine.close(), 0)
        log = self.engine.log.decode()
        self.assertIn("pulley: action fails failed in attempt 1 of i/n:\nTraceback (most recent call last):\n", log)
        self.assertIn("in fails\n", log)
        self.assertNotIn("service.py", log)

    def test_large_values(self):
        text = "é" * 500_000
        self.assertEqual(self.engine.call("large", size=5_000_000)["value"], "x" * 5_000_000)
        self.engine.send("run", id="2", action="fails", args={"message": text})
        self.assertEqual(self.engine.receive(("error",))["message"], text[:16_000])

    def test_what_is_printed_is_no_message(self):
        got = self.engine.call("prints", text="hello")
        self.assertEqual(got, {"pulley": "result", "id": "1", "value": ""})
        self.assertEqual(self.engine.close(), 0)
        for line in (b"hello\n", b'"from print"', b"to descriptor 1\n", b"from a child\n"):
            self.assertIn(line, self.engine.log)

    def test_several_at_once(self):
        for i in range(3):  # each waits for the others
            self.engine.send("run", id=str(i), action="meets", args={})
        got = [self.engine.receive(("result", "error")) for _ in range(3)]
        self.assertEqual(sorted((g["id"], g.get("value")) for g in got), [("0", True), ("1", True), ("2", True)])

    def test_cancel(self):
        with tempfile.TemporaryDirectory() as dir:
            log = os.path.join(dir, "log")
            self.engine.send("run", id="a", action="waits", args={"log": log})
            self.engine.call("later.double", item={"id": 1})  # a has begun
            self.engine.send("cancel", id="a")
            got = self.engine.receive(("result", "error"))
            self.assertEqual((got["id"], got["type"]), ("a", "Cancelled"))
            self.assertTrue(os.path.exists(log))
        with tempfile.TemporaryDirectory() as dir:
            begun = os.path.join(dir, "begun")
            self.engine.send("run", id="b", action="spins", args={"begun": begun})
            until = time.monotonic() + DEADLINE
            while not os.path.exists(begun) and time.monotonic() < until:
                self.engine.receive(("heartbeat",))
            self.engine.send("cancel", id="b")
        got = self.engine.receive(("result", "error"))
        self.assertEqual((got["id"], got["type"]), ("b", "Cancelled"))
        for i in range(20):  # some are cancelled before they begin
            self.engine.send("run", id=str(i), action="spins", args={})
            self.engine.send("cancel", id=str(i))
        got = [self.engine.receive(("result", "error")) for _ in range(20)]
        self.assertEqual({(g["id"], g["type"]) for g in got}, {(str(i), "Cancelled") for i in range(20)})
        self.engine.send("cancel", id="nobody")
        self.assertEqual(self.engine.call("double", x=2)["value"], 4)

    def test_heartbeats_go_on_while_the_loop_is_blocked(self):
        with tempfile.TemporaryDirectory() as dir:
            path = os.path.join(dir, "go")
            self.engine.send("run", id="a", action="blocks", args={"path": path})
            for _ in range(2):
                beat = self.engine.receive(("heartbeat",))
            self.assertEqual(beat["ids"], ["a"])
            open(path, "w").close()
            self.assertEqual(self.engine.receive(("result",))["id"], "a")

    def test_other_lines_are_passed_over(self):
        for line in (b"hello\n", b"{}\n", b"[1]\n", b'{"pulley": 1}\n', b'{"pulley": "dance"}\n', b"\xff\n", b"\n", b'{"pulley": "cancel", "x": NaN}\n'):
            self.engine.process.stdin.write(line)
        self.assertEqual(self.engine.call("double", x=2)["value"], 4)

    def test_plain_functions_run_while_the_loop_is_blocked(self):
        with tempfile.TemporaryDirectory() as dir:
            path = os.path.join(dir, "go")
            self.engine.send("run", id="a", action="blocks", args={"path": path})
            self.assertEqual(self.engine.call("double", x=2)["value"], 4)
            open(path, "w").close()
            self.assertEqual(self.engine.receive(("result",))["id"], "a")

    def test_a_plain_function_may_give_a_coroutine(self):
        self.assertEqual(self.engine.call("gives", x=3)["value"], 6)
        self.assertEqual(self.engine.call("gives", x=-1)["type"], "ValueError")

    def test_bye_lets_work_end(self):
        with tempfile.TemporaryDirectory() as dir:
            path = os.path.join(dir, "go")
            self.engine.send("run", id="a", action="blocks", args={"path": path})
            self.engine.send("bye")
            open(path, "w").close()
            self.assertEqual(self.engine.receive(("result",))["id"], "a")
            self.assertIsNone(self.engine.receive(()))
            self.assertEqual(self.engine.process.wait(DEADLINE), 0)

    def test_the_end_of_the_input_lets_work_end(self):
        self.engine.send("run", id="a", action="later.double", args={"item": {"id": 1}})
        self.assertEqual(self.engine.close(), 0)
        self.assertEqual(self.engine.receive(("result",))["id"], "a")

    def test_a_worker_whose_engine_is_gone_ends(self):
        source, sink = os.pipe()
        worker = subprocess.Popen(
            [sys.executable, "-m", "pulley", "worker", ACTIONS], stdin=subprocess.PIPE, stdout=sink, env={**os.environ, "PYTHONPATH": PACKAGES}
        )
        os.close(sink)
        try:
            self.assertTrue(os.read(source, 1))  # it has begun
            worker.stdin.write(b'{"pulley":"run","id":"a","action":"spins","args":{}}\n')
            worker.stdin.flush()
            os.close(source)
            self.assertEqual(worker.wait(DEADLINE), 1)
        finally:
            worker.kill()
            worker.wait()
            worker.stdin.close()

    def test_a_version_that_is_not_spoken(self):
        self.engine.send("hello", version=99)
        self.assertEqual(self.engine.process.wait(DEADLINE), 1)
        self.engine.close()
        self.assertIn(b"the engine speaks version 99 of the protocol", self.engine.log)


class FilesTest(unittest.TestCase):
    """What is wrong with a file is told in one line, with its place; test_loading.py has more of it."""

    def test_files(self):
        for text, says in [
            ("import nowhere_to_be_found\n", "flow.py:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
            ("x = 1\n", "flow.py: there is no action; write @action above a function"),
            ("from pulley import action\n@action\ndef f(x: complex):\n    pass\n", "f: the hint of argument x: complex has no JSON form"),
        ]:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as dir:
                with open(os.path.join(dir, "flow.py"), "w") as f:
                    f.write(text)
                got = subprocess.run(
                    [sys.executable, "-m", "pulley", "worker", "flow.py"], cwd=dir, env={**os.environ, "PYTHONPATH": PACKAGES},
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE,
                )
                self.assertEqual((got.returncode, got.stdout), (2, ""))
                self.assertTrue(got.stderr.startswith("pulley: " + says), got.stderr)
                self.assertEqual(got.stderr.count("\n"), 1, got.stderr)

    def test_a_file_in_a_package_may_import_its_neighbours(self):
        with tempfile.TemporaryDirectory() as dir:
            os.makedirs(os.path.join(dir, "shop"))
            for name, content in (
                ("__init__.py", ""),
                ("prices.py", "from pulley import action\n@action\ndef price(x: int) -> int:\n    return x\n"),
                ("flow.py", "from .prices import price\n"),
            ):
                with open(os.path.join(dir, "shop", name), "w") as f:
                    f.write(content)
            engine = Engine(os.path.join(dir, "shop", "flow.py"))
            try:
                self.assertEqual(engine.call("price", x=3)["value"], 3)
            finally:
                engine.close()


if __name__ == "__main__":
    unittest.main()
