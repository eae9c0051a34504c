"""Refused: decorators."""

import functools

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return self.cached(n)  # refused: self.cached has a decorator, which runs Python; call it without, or make it an action

    @functools.lru_cache
    def cached(self, n: int) -> int:
        return n
