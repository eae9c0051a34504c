"""A pipeline that fans out, loops and aggregates.

    pulley run pipeline.py --input '{"fan_out": 8}'      durably, with its actions in processes of their own
    python3 pipeline.py                                  without any engine
"""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import List

from pulley import Workflow, action, workflow


@dataclass
class Item:
    id: int
    value: str


@dataclass
class ProcessedItem:
    id: int
    hash: str
    score: int


@dataclass
class ChunkResult:
    chunk_id: int
    total: int
    digest: str


@action
async def fetch_items(count: int) -> List[Item]:
    return [Item(id=i, value=f"item_{i}") for i in range(count)]


@action(retry=3, backoff="200ms", timeout="30s")
def process_item(item: Item) -> ProcessedItem:
    digest = hashlib.sha256(item.value.encode()).hexdigest()
    return ProcessedItem(id=item.id, hash=digest, score=item.id * 10)


@action
async def validate_chunk(chunk_id: int, items: List[ProcessedItem]) -> bool:
    return all(item.score > 0 for item in items)


@action
async def aggregate_chunk(chunk_id: int, items: List[ProcessedItem], is_valid: bool) -> ChunkResult:
    total = sum(item.score for item in items) if is_valid else 0
    return ChunkResult(chunk_id=chunk_id, total=total, digest=f"chunk_{chunk_id}")


@action
async def finalize(results: List[ChunkResult]) -> int:
    return sum(r.total for r in results)


@workflow
class DataPipeline(Workflow):
    concurrent = True  # a loop whose iterations do not depend on each other may run them at once

    async def run(self, fan_out: int = 8, loop_iters: int = 4) -> int:
        items = await fetch_items(count=fan_out)

        processed = []
        for item in items:
            processed.append(process_item(item=item))

        size = len(processed) // loop_iters
        results = []
        for chunk_id in range(loop_iters):
            chunk = processed[chunk_id * size : (chunk_id + 1) * size]
            is_valid = await validate_chunk(chunk_id=chunk_id, items=chunk)
            results.append(await aggregate_chunk(chunk_id=chunk_id, items=chunk, is_valid=is_valid))
        return await finalize(results=results)


if __name__ == "__main__":
    print(asyncio.run(DataPipeline().run()))
