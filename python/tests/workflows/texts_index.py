"""A character of a text, and an index that it does not have."""

from pulley import Workflow, workflow

INPUTS = [{"s": "héy", "i": i} for i in (0, 1, -1, 3, -4)]


@workflow
class Character(Workflow):
    async def run(self, s: str, i: int) -> str:
        try:
            if s[0] == "h" and i == 3:
                return s[i]
        except IndexError as e:
            return str(e)
        c = s[i]
        return c
