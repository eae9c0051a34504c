"""What @action and @workflow accept, refuse and note."""

import asyncio
import datetime
import unittest

from pulley import DefinitionError, Workflow, action, workflow


class Declined(Exception):
    pass


class ActionTest(unittest.TestCase):
    def test_the_function_stays_as_it_is(self):
        def plain(x):
            return x

        async def waits(x):
            return x

        self.assertIs(action(name="definitions.plain")(plain), plain)
        self.assertIs(action(waits), waits)
        self.assertEqual(plain(1), 1)
        self.assertEqual(asyncio.run(waits(2)), 2)
        self.assertEqual(plain.__pulley_action__.name, "definitions.plain")
        self.assertEqual(waits.__pulley_action__.name, "waits")

    def test_options(self):
        @action(name="definitions.options", retry=3, backoff="200ms", timeout=datetime.timedelta(minutes=1), retry_on=(Declined, "Network"))
        def f():
            pass

        a = f.__pulley_action__
        self.assertEqual((a.retry, a.backoff_ms, a.timeout_ms, a.retry_on), (3, 200, 60_000, ("Declined", "Network")))

    def test_durations(self):
        for i, (given, ms) in enumerate([(1, 1000), (0.25, 250), ("5s", 5000), ("2 m", 120_000), ("1h", 3_600_000), ("7", 7000)]):
            @action(name=f"definitions.d{i}", timeout=given)
            def f():
                pass

            self.assertEqual(f.__pulley_action__.timeout_ms, ms, given)

    def test_refused(self):
        def f(x):
            pass

        def star(*x):
            pass

        async def generates():
            yield 1

        for what, says in [
            (lambda: action(3), "only a function"),
            (lambda: action(Declined), "only a function"),
            (lambda: action(generates), "a generator"),
            (lambda: action(star), "by name"),
            (lambda: action(name="a b")(f), "'a b'"),
            (lambda: action(name="")(f), "letters"),
            (lambda: action(retry=-1)(f), "retry=-1"),
            (lambda: action(retry=True)(f), "retry=True"),
            (lambda: action(timeout=0)(f), "above 0"),
            (lambda: action(timeout="soon")(f), "timeout='soon'"),
            (lambda: action(backoff=-1)(f), "backoff=-1"),
            (lambda: action(timeout=0.00005)(f), "whole milliseconds"),
            (lambda: action(retry_on=3)(f), "retry_on has 3"),
        ]:
            with self.assertRaisesRegex(DefinitionError, says):
                what()

    def test_a_name_is_given_once(self):
        @action(name="definitions.once")
        def first():
            pass

        with self.assertRaisesRegex(DefinitionError, r"definitions.once already, in .*test_definitions.py:\d+"):
            @action(name="definitions.once")
            def second():
                pass


class WorkflowTest(unittest.TestCase):
    def test_the_class_stays_as_it_is(self):
        @workflow
        class Sum(Workflow):
            concurrent = True

            async def run(self, a: int, b: int = 2) -> int:
                return a + b

        self.assertEqual(asyncio.run(Sum().run(a=1)), 3)
        self.assertEqual((Sum.name, Sum.concurrent), ("Sum", True))

        @workflow
        class Named(Sum):
            name = "named"

        @workflow
        class Unnamed(Named):
            pass

        self.assertEqual((Named.name, Unnamed.name), ("named", "Unnamed"))

    def test_refused(self):
        class NoRun(Workflow):
            pass

        class Plain(Workflow):
            def run(self):
                pass

        class Name(Workflow):
            name = 3

            async def run(self):
                pass

        class Concurrent(Workflow):
            concurrent = "yes"

            async def run(self):
                pass

        for cls, says in [
            (int, r"class int\(Workflow\)"),
            (NoRun, "no async def run"),
            (Plain, "no async def run"),
            (Name, "name is 3"),
            (Concurrent, "concurrent is 'yes'"),
        ]:
            with self.assertRaisesRegex(DefinitionError, says):
                workflow(cls)
        with self.assertRaisesRegex(NotImplementedError, "NoRun has no method run"):
            asyncio.run(NoRun().run())


if __name__ == "__main__":
    unittest.main()
