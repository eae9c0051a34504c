"""The data pipeline of the first description, with actions as lists."""

from typing import List

from pulley import Workflow, workflow
from toys import add, double, items, total

INPUTS = [{}, {"fan_out": 9, "loop_iters": 2}, {"fan_out": 1, "loop_iters": 1}, {"fan_out": 2, "loop_iters": 0}]


@workflow
class Pipeline(Workflow):
    name = "pipeline"
    concurrent = True

    async def run(self, fan_out: int = 8, loop_iters: int = 4) -> int:
        found = await items(count=fan_out)
        processed: List[int] = []
        for item in found:
            result = await double(item)
            processed.append(result)
        chunk_size = len(processed) // loop_iters
        results: List[int] = []
        for chunk_id in range(loop_iters):
            chunk = processed[chunk_id * chunk_size:(chunk_id + 1) * chunk_size]
            subtotal = await total(values=chunk)
            shifted = await add(
                a=subtotal,
                b=chunk_id,
            )
            results.append(shifted)
        return await total(results)
