"""Refused: texts as Python writes them."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return repr("it's")  # refused: repr prints as Python does; format the text in an action
