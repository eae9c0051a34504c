"""Methods of texts, lists and dicts that change nothing."""

import ast
from typing import Callable, Optional

from . import types as t
from .functions import Functions
from .problems import Refused
from .scope import PRIMARY, SUM, Value
from .text import quote

#: What Python strips and splits at: the language knows other characters.
SPACE = "".join(chr(c) for c in range(0x3001) if chr(c).isspace())
_ODD = "".join(c for c in "\x1c\x1d\x1e\x1f")

_TEXT_INSTEAD = {
    "upper": "the letters of other alphabets change otherwise than in Python; change them in an action",
    "format": "format prints as Python does; write an f-string",
    "encode": "bytes are no JSON value; encode in an action",
    "index": "write find, which gives -1, or an if with in",
    "splitlines": 'lines end at other characters than in Python; write split("\\n")',
    "rsplit": "write split, or do it in an action",
}
for _name in ("lower", "title", "capitalize", "casefold", "swapcase", "isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace", "isdecimal", "isnumeric"):
    _TEXT_INSTEAD[_name] = _TEXT_INSTEAD["upper"]

#: Methods that change an object in place.
CHANGERS = frozenset(["append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem"])


class Methods(Functions):
    """Translates calls of methods of values."""

    def method(self, node: ast.Call, func: ast.Attribute) -> Value:
        v = self.expr(func.value)
        self.refuse_none(func.value, v)
        if v.type == t.NEVER:
            return Value("None", t.NEVER, PRIMARY, v.raises)
        arguments = node.args + [k.value for k in node.keywords]
        if v.raises and any(self.has_effect(a) or self.all_caught() and not isinstance(a, (ast.Name, ast.Constant)) for a in arguments):
            v = self.simple(func.value, v)
        name = func.attr
        for a in node.args:
            if isinstance(a, ast.Starred):
                raise Refused(a, "* is compiled in lists and asyncio.gather only; write the arguments one by one")
        kind = "text" if v.type == t.STR else "list" if isinstance(v.type, (t.List, t.Tuple_)) else "dict" if isinstance(v.type, (t.Dict_, t.Keys)) else ""
        method: Optional[Callable[[ast.Call, Value], Value]] = getattr(self, f"{kind}_{name}", None) if kind else None
        if method is not None:
            return method(node, v)
        if kind == "text":
            raise Refused(node, f"{name}: {_TEXT_INSTEAD.get(name, 'this method of texts is not compiled; write it in an action')}")
        if kind and name in CHANGERS:
            raise Refused(node, f"{name} changes a value in place; write it as a statement of its own, on a variable")
        if isinstance(v.type, t.Record):
            raise Refused(node, f"{name} of {v.type} runs Python; write it as a method of the workflow, or in an action")
        if v.type == t.ANY:
            raise Refused(node, f"it is not known what this is, and what {name} does; say it with a hint: x: Dict[str, int] = ...")
        raise Refused(node, f"{name} of {self.article(v.type)} is not compiled; write it in an action")

    def texts(self, node: ast.Call, v: Value, least: int, most: int) -> "tuple[list[Value], frozenset[str]]":
        """Translates arguments that must be texts."""
        self.only(node, least, most)
        values = self.sequence(node.args)
        for a, x in zip(node.args, values):
            if x.type != t.STR:
                self.refuse_none(a, x)
                raise Refused(a, f"this must be a text, it is {self.article(x.type)}; say it with a hint: s: str = ...")
        return values, frozenset().union(v.raises, *(x.raises for x in values))

    def plain(self, node: ast.Call, v: Value, least: int, most: int, kind: t.Type) -> Value:
        values, raises = self.texts(node, v, least, most)
        name = node.func.attr  # type: ignore[attr-defined]
        return Value(f"{v.bound(PRIMARY)}.{name}({', '.join(x.text for x in values)})", kind, PRIMARY, raises)

    # Texts

    def text_join(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 1, 1)
        x = self.iterable(node.args[0])
        if self.element_of(x.type) not in (t.STR, t.NEVER):
            raise Refused(node.args[0], f"join joins texts, these are each {self.article(self.element_of(x.type))}; write str(x) for x in ..., or a hint")
        return Value(f"{v.bound(PRIMARY)}.join({x.text})", t.STR, PRIMARY, v.raises | x.raises)

    def text_split(self, node: ast.Call, v: Value) -> Value:
        if node.keywords or len(node.args) > 2:
            raise Refused(node, "split is compiled with a separator and a number, without names")
        if not node.args or isinstance(node.args[0], ast.Constant) and node.args[0].value is None:
            if len(node.args) > 1:
                raise Refused(node, "split at white space is compiled without a number; split in an action")
            text = v.bound(PRIMARY) + "".join(f'.replace({quote(c)}, " ")' for c in _ODD)
            return Value(f"{text}.split()", t.List(t.STR), PRIMARY, v.raises, True)
        sep = node.args[0]
        if not (isinstance(sep, ast.Constant) and type(sep.value) is str and sep.value):
            raise Refused(sep, "the separator of split must be a text that stands here, and not empty")
        text = quote(sep.value, sep)
        if len(node.args) == 2:
            n = self.operand(node.args[1])
            if n.type != t.INT:
                raise Refused(node.args[1], "split takes an int")
            text += f", {n.text}"
        return Value(f"{v.bound(PRIMARY)}.split({text})", t.List(t.STR), PRIMARY, v.raises, True)

    def text_replace(self, node: ast.Call, v: Value) -> Value:
        if len(node.args) == 3:
            raise Refused(node, "replace is compiled without a number; replace in an action")
        return self.plain(node, v, 2, 2, t.STR)

    def stripped(self, node: ast.Call, v: Value) -> Value:
        name = node.func.attr  # type: ignore[attr-defined]
        if not node.args:
            self.only(node, 0, 0)
            return Value(f"{v.bound(PRIMARY)}.{name}({quote(SPACE)})", t.STR, PRIMARY, v.raises)
        return self.plain(node, v, 1, 1, t.STR)

    text_strip = text_lstrip = text_rstrip = stripped

    def affixes(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 1, 1)
        name = node.func.attr  # type: ignore[attr-defined]
        x = self.value(node.args[0])
        if x.type != t.STR and not (isinstance(x.type, t.Tuple_) and self.element_of(x.type) == t.STR):
            raise Refused(node.args[0], f"{name} takes a text or a tuple of texts, this is {self.article(x.type)}")
        return Value(f"{v.bound(PRIMARY)}.{name}({x.text})", t.BOOL, PRIMARY, v.raises | x.raises)

    text_startswith = text_endswith = affixes

    def affix_removed(self, node: ast.Call, v: Value) -> Value:
        return self.plain(node, v, 1, 1, t.STR)

    text_removeprefix = text_removesuffix = affix_removed

    def text_count(self, node: ast.Call, v: Value) -> Value:
        return self.plain(node, v, 1, 1, t.INT)

    def found(self, node: ast.Call, v: Value) -> Value:
        values, raises = self.texts(node, v, 1, 1)
        name, i, s = node.func.attr, self.temporary(), self.temporary()  # type: ignore[attr-defined]
        position = f"(len({s}[:{i}].codepoints()) if {i} > 0 else {i})"
        return Value(f"[{position} for {s} in [{v.text}] for {i} in [{s}.{name}({values[0].text})]][0]", t.INT, PRIMARY, raises)

    text_find = text_rfind = found

    def parted(self, node: ast.Call, v: Value) -> Value:
        sep = node.args[0] if node.args else None
        if not (isinstance(sep, ast.Constant) and type(sep.value) is str and sep.value):
            raise Refused(node, "the separator of partition must be a text that stands here, and not empty")
        return self.plain(node, v, 1, 1, t.Tuple_((t.STR, t.STR, t.STR)))

    text_partition = text_rpartition = parted

    # Lists and tuples

    def list_copy(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 0, 0)
        return Value(f"list({v.text})", v.type, PRIMARY, v.raises, True)

    def list_count(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 1, 1)
        x = self.value(node.args[0])
        from .operators import unequal

        why = unequal(self.element_of(v.type), x.type)
        if why:
            raise Refused(node, why)
        name, wanted = self.temporary(), self.temporary()
        text = f"len([{name} for {wanted} in [{x.text}] for {name} in {v.bound(SUM)} if {name} == {wanted}])"
        return Value(text, t.INT, PRIMARY, v.raises | x.raises)

    def list_index(self, node: ast.Call, v: Value) -> Value:
        raise Refused(node, "index raises an error with the value as Python prints it; write a for with enumerate and break")

    # Dicts

    def dict_get(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 1, 2)
        values = self.sequence(node.args)
        key = values[0]
        if key.type != t.STR:
            raise Refused(node.args[0], f"the keys of a dict are texts, this is {self.article(key.type)}; say it with a hint: k: str = ...")
        kind = self.dict_value(node, v)
        if isinstance(v.type, t.Keys) and isinstance(node.args[0], ast.Constant):
            kind = t.keys_of(v.type.cls).get(node.args[0].value, (kind, False))[0]
        other = values[1].type if len(values) > 1 else t.NONE
        raises = v.raises.union(*(x.raises for x in values))
        names = frozenset().union(*(x.names for x in values[1:]))
        return Value(f"{v.bound(PRIMARY)}.get({', '.join(x.text for x in values)})", t.join([kind, other]), PRIMARY, raises, False, names)

    def view(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 0, 0)
        name = node.func.attr  # type: ignore[attr-defined]
        kind = self.dict_value(node, v)
        element = {"keys": t.STR, "values": kind, "items": t.Tuple_((t.STR, kind))}[name]
        return Value(f"{v.bound(PRIMARY)}.{name}()", t.Series(element, f"dict.{name}()"), PRIMARY, v.raises)

    dict_keys = dict_values = dict_items = view

    def dict_copy(self, node: ast.Call, v: Value) -> Value:
        self.only(node, 0, 0)
        return Value(f"dict({v.text})", v.type, PRIMARY, v.raises, True)
