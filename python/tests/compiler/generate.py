"""Writes workflows at random, as Python text."""

import random
from typing import Callable, Dict, List

HEAD = """from typing import Dict, List, Optional
import asyncio
from pulley import Workflow, workflow
from toys import Declined, Fraud, PaymentError, add, double, echo, fail, items, total


@workflow
class Generated(Workflow):
    concurrent = {concurrent}

    async def run(self, n: int = {n}, s: str = {s!r}, xs: List[int] = {xs}, d: Dict[str, int] = {d}) -> object:
"""

ERRORS = ["ValueError", "KeyError", "IndexError", "Declined", "Fraud", "ZeroDivisionError"]
CAUGHT = ["ValueError", "KeyError", "IndexError", "Declined", "PaymentError", "ZeroDivisionError", "LookupError", "ArithmeticError", "Exception", "(ValueError, LookupError)"]
TEXTS = ["", "a", "héllo", "x y", "日本", "a,b,,c"]


class Writer:
    """Writes one workflow.  known are the variables that have a value, by type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: List[str] = []
        self.known: Dict[str, List[str]] = {"int": ["n"], "str": ["s"], "list": ["xs"], "dict": ["d"], "bool": []}
        self.owned: List[str] = []
        self.count = 0
        self.loops = 0
        self.helpers: List[str] = []

    def pick(self, *choices: Callable[[], str]) -> str:
        return self.random.choice(choices)()

    def one(self, kind: str) -> str:
        return self.random.choice(self.known[kind]) if self.known[kind] else {"bool": "True"}[kind]

    # Expressions

    def int_(self, depth: int = 2) -> str:
        r = self.random
        if depth <= 0:
            return self.pick(lambda: self.one("int"), lambda: str(r.randint(-3, 9)))
        a = lambda: self.int_(depth - 1)  # noqa: E731
        return self.pick(
            a, lambda: self.one("int"), lambda: f"({a()} {r.choice('+-*')} {a()})", lambda: f"({a()} {r.choice(['//', '%'])} {r.choice([a(), '3', '-2', '7'])})",
            lambda: f"len({self.list_(depth - 1)})", lambda: f"len({self.str_(depth - 1)})", lambda: f"sum({self.list_(depth - 1)})",
            lambda: f"{self.one('list')}[{r.choice([a(), '0', '-1'])}]", lambda: f"{self.one('dict')}.get({self.str_(0)}, {a()})",
            lambda: f"{self.one('dict')}[{self.str_(0)}]", lambda: f"({a()} if {self.bool_(depth - 1)} else {a()})", lambda: f"abs({a()})",
            lambda: f"max({a()}, {a()})", lambda: f"min({self.list_(depth - 1)}, default={r.randint(0, 5)})", lambda: f"({a()} or {a()})", lambda: f"int({self.bool_(depth - 1)})",
            lambda: f"{self.str_(depth - 1)}.find({self.str_(0)})", lambda: f"round({a()} / {r.choice([2, 4, 3])})",
        )

    def str_(self, depth: int = 2) -> str:
        r = self.random
        if depth <= 0:
            return self.pick(lambda: self.one("str"), lambda: repr(r.choice(TEXTS)))
        a = lambda: self.str_(depth - 1)  # noqa: E731
        return self.pick(
            a, lambda: f"({a()} + {a()})", lambda: f"f'{{{self.one('int')}}}-{{{self.one('str')}}}'", lambda: f"str({self.int_(depth - 1)})", lambda: f"{self.one('str')}[{r.randint(-3, 2)}:{r.choice(['', '2', '-1'])}]",
            lambda: f"({a()} * {r.randint(0, 2)})", lambda: f"{a()}.replace('a', {a()})", lambda: f"','.join(sorted({self.one('dict')}))", lambda: f"({a()} or 'none')", lambda: f"{a()}.strip()",
        )

    def list_(self, depth: int = 2) -> str:
        r = self.random
        if depth <= 0:
            return self.one("list")
        a = lambda: self.list_(depth - 1)  # noqa: E731
        i = lambda: self.int_(depth - 1)  # noqa: E731
        v = f"v{r.randint(0, 2)}"
        return self.pick(
            a, lambda: f"[{i()}, {i()}]", lambda: f"({a()} + [{i()}])", lambda: f"{a()}[{r.choice(['1:', ':-1', '::2', '::-1', '-2:'])}]", lambda: f"sorted({a()})",
            lambda: f"sorted({a()}, reverse=True)", lambda: f"[{v} * {i()} for {v} in {a()} if {v} != {i()}]", lambda: f"list(range({r.randint(-1, 4)}))", lambda: f"[{v} + w for {v}, w in zip({a()}, {a()})]",
            lambda: f"sorted({a()}, key=lambda k: (k % 3, -k))", lambda: f"[*{self.one('list')}, {i()}]", lambda: f"list({self.one('dict')}.values())", lambda: f"list(reversed({a()}))", lambda: f"[{v} - j for j, {v} in enumerate({a()})]",
        )

    def dict_(self) -> str:
        return self.pick(
            lambda: f"{{'a': {self.int_(1)}, {self.str_(0)}: {self.int_(1)}}}", lambda: f"{{**{self.one('dict')}, 'k': {self.int_(1)}}}",
            lambda: f"{{k + 'x': v for k, v in {self.one('dict')}.items()}}", lambda: f"dict({self.one('dict')})",
        )

    def bool_(self, depth: int = 1) -> str:
        r = self.random
        i = lambda: self.int_(depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"({i()} {r.choice(['<', '<=', '==', '!=', '>', '>='])} {i()})", lambda: f"({i()} in {self.one('list')})", lambda: f"({self.str_(0)} in {self.one('dict')})", lambda: f"(not {self.one('list')})",
            lambda: f"({i()} < {i()} <= {i()})", lambda: f"({self.one('str')} < {self.str_(0)})", lambda: f"bool({self.one('str')})", lambda: f"({self.bool_(depth - 1)} {r.choice(['and', 'or'])} {self.bool_(depth - 1)})" if depth else "True",
            lambda: f"any(v > {i()} for v in {self.one('list')})", lambda: f"({self.one('list')} == {self.one('list')})",
        )

    def action(self) -> str:
        return self.pick(lambda: f"await add({self.int_(1)}, {self.int_(1)})", lambda: f"await double(value={self.int_(1)})", lambda: f"await total({self.list_(1)})")

    # Statements

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind[0]}{self.count}"

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * (depth + 2) + line)

    def inside(self, depth: int, budget: int) -> None:
        """Writes a block; what it binds is not known after it."""
        known, owned = {k: list(v) for k, v in self.known.items()}, list(self.owned)
        self.block(depth, budget)
        self.known, self.owned = known, [o for o in owned if o in self.owned]

    def block(self, depth: int, budget: int) -> None:
        for _ in range(self.random.randint(1, max(1, budget))):
            self.statement(depth, budget - 1)

    def statement(self, depth: int, budget: int) -> None:
        r = self.random
        simple = [self.assign] * 5 + [self.act] * 4 + [self.change] * 4 + [self.gather]
        compound = [self.if_, self.for_, self.while_, self.try_, self.appending]
        r.choice(simple + (compound * 2 if budget > 0 and depth < 4 else []))(depth, budget)

    def assign(self, depth: int, budget: int) -> None:
        kind = self.random.choice(["int", "int", "str", "list", "dict"])
        value = {"int": self.int_, "str": self.str_, "list": self.list_, "dict": self.dict_}[kind]()
        if self.known[kind] and self.random.random() < 0.4:
            name = self.one(kind)
            self.owned = [o for o in self.owned if o != name]
        else:
            name = self.fresh(kind)
        self.put(depth, f"{name} = {value}")
        if name not in self.known[kind]:
            self.known[kind].append(name)

    def act(self, depth: int, budget: int) -> None:
        name = self.fresh("int")
        self.put(depth, f"{name} = {self.action()}")
        self.known["int"].append(name)

    def change(self, depth: int, budget: int) -> None:
        r = self.random
        if not self.owned or r.random() < 0.3:
            kind = r.choice(["list", "dict"])
            name = self.fresh("own" + kind)
            self.put(depth, f"{name} = list({self.list_(1)})" if kind == "list" else f"{name} = dict({self.dict_()})")
            self.owned.append(name)
            self.known[kind].append(name)
            return
        name = r.choice(self.owned)
        if name in self.known["list"]:
            self.put(depth, r.choice([f"{name}.append({self.int_(1)})", f"{name} += {self.list_(1)}", f"{name}[{r.choice(['0', '-1', '1'])}] = {self.int_(1)}", f"{name}.insert(1, {self.int_(1)})", f"{name}.sort()", f"{name}[0] += {self.int_(1)}", f"{name}.pop()"]))
        else:
            self.put(depth, r.choice([f"{name}[{self.str_(0)}] = {self.int_(1)}", f"{name}['a'] += {self.int_(1)}", f"{name}.update({self.dict_()})"]))

    def gather(self, depth: int, budget: int) -> None:
        name = self.fresh("list")
        self.put(depth, self.pick(lambda: f"{name} = list(await asyncio.gather(*[add(v, {self.int_(0)}) for v in {self.list_(1)}]))", lambda: f"{name} = [await double(v) for v in {self.list_(1)} if v > {self.int_(0)}]", lambda: f"{name} = list(await asyncio.gather(double({self.int_(1)}), add({self.int_(1)}, 1)))"))
        self.known["list"].append(name)

    def if_(self, depth: int, budget: int) -> None:
        self.put(depth, f"if {self.bool_()}:")
        self.inside(depth + 1, budget)
        if self.random.random() < 0.4:
            self.put(depth, f"elif {self.bool_()}:")
            self.inside(depth + 1, budget)
        if self.random.random() < 0.5:
            self.put(depth, "else:")
            self.inside(depth + 1, budget)

    def leave(self, depth: int) -> None:
        if self.random.random() < 0.4:
            self.put(depth, f"if {self.bool_()}:")
            self.put(depth + 1, self.random.choice(["break", "continue", "return [n, s, xs]"]))

    def for_(self, depth: int, budget: int) -> None:
        name = self.fresh("int")
        known, owned = {k: list(v) for k, v in self.known.items()}, list(self.owned)
        self.put(depth, f"for {name} in {self.random.choice(['range(3)', self.list_(1) + '[:4]', 'list(' + self.one('list') + ')[:3]'])}:")
        self.known["int"].append(name)
        self.block(depth + 1, budget)
        self.leave(depth + 1)
        self.known, self.owned = known, [o for o in owned if o in self.owned]
        if self.random.random() < 0.2:
            self.put(depth, "else:")
            self.inside(depth + 1, 1)

    def while_(self, depth: int, budget: int) -> None:
        name = self.fresh("int")
        self.put(depth, f"{name} = 0")
        self.put(depth, f"while {name} < {self.random.randint(1, 4)} and {self.bool_()}:")
        self.put(depth + 1, f"{name} += 1")
        self.inside(depth + 1, budget)
        self.leave(depth + 1)
        self.known["int"].append(name)

    def try_(self, depth: int, budget: int) -> None:
        r = self.random
        self.put(depth, "try:")
        if r.random() < 0.5:
            self.put(depth + 1, f"if {self.bool_()}:")
            self.put(depth + 2, r.choice([f"await fail({r.choice(ERRORS[:1] + ERRORS[3:])!r}, {self.str_(0)})", f"raise ValueError({self.str_(1)})", "raise Declined(f'n is {n}')"]))
        self.inside(depth + 1, budget)
        for caught in r.sample(CAUGHT, r.randint(1, 2)):
            name = self.fresh("e")
            self.put(depth, f"except {caught} as {name}:" if r.random() < 0.5 else f"except {caught}:")
            if f"as {name}" in self.lines[-1]:
                self.put(depth + 1, f"s = type({name}).__name__ + str({name})")
            self.inside(depth + 1, 1)
        if r.random() < 0.2:
            self.put(depth, "else:")
            self.inside(depth + 1, 1)

    def appending(self, depth: int, budget: int) -> None:
        out, x = self.fresh("list"), self.fresh("int")
        self.put(depth, f"{out} = []")
        self.put(depth, f"for {x} in {self.list_(1)}:")
        self.put(depth + 1, f"{out}.append(await add({x}, {self.int_(0)}))")
        self.known["list"].append(out)


def workflow(seed: int) -> str:
    """Gives the text of the workflow of a seed."""
    w = Writer(seed)
    r = w.random
    head = HEAD.format(concurrent=r.random() < 0.5, n=r.randint(-2, 6), s=r.choice(TEXTS), xs=[r.randint(-3, 9) for _ in range(r.randint(0, 4))], d={k: r.randint(0, 5) for k in r.sample(["a", "x", "k", ""], r.randint(0, 3))})
    w.block(0, 5)
    names = ", ".join(w.known["int"][-4:] + w.known["str"][-2:] + w.known["list"][-3:] + w.known["dict"][-2:])
    w.put(0, f"return [{names}]")
    return head + "\n".join(w.lines) + "\n"
