"""Refused: texts as Python writes them."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return f"{n!r}"  # refused: !r prints as Python does; format the text in an action
