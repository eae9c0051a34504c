"""Texts by characters, not bytes."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"s": ""}, {"s": "naïve café \u2003x"}, {"s": "日本語, テスト"}, {"s": " \x1ca\x1f b\tc\n"}]


@workflow
class Texts(Workflow):
    async def run(self, s: str = "héllo wörld") -> List[Any]:
        parts = s.split()
        cut = [s[1:3], s[-2:], s[::-1], s[:100], s[5:2]]
        where = [s.find("ö"), s.find("zz"), s.rfind("l"), s.count("l"), len(s), s.find("")]
        tests = [s.startswith("h"), s.endswith(("d", "é")), "w" in s, "" in s, s < "i", s == "héllo wörld"]
        made = ["-".join(parts), s.strip() + "|", s.lstrip("h"), s.rstrip("d"), s.replace("l", "LL"), s.replace("", "-")]
        more = [s.removeprefix("hé"), s.removesuffix("ld"), s * 2, ",".join(s), s.split("l"), s.split("l", 1)]
        head, sep, tail = s.partition(" ")
        return [parts, cut, where, tests, made, more, head, sep, tail, list(s.rpartition("l"))]
