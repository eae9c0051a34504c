from pulley import Workflow, action, workflow
from pydantic import BaseModel

class Item(BaseModel):
    id: int
    value: str

class ProcessedItem(BaseModel):
    id: int
    hash: str
    score: int

class ChunkResult(BaseModel):
    chunk_id: int
    total: int
    digest: str

@action(name="fetch_items")
async def fetch_items(count: int) -> list[Item]:
    return [Item(id=i, value=f"item_{i}") for i in range(count)]

@action(name="process_item")
async def process_item(item: Item) -> ProcessedItem:
    # CPU work happens here
    return ProcessedItem(id=item.id, hash=f"hash_{item.id}", score=item.id * 10)

@action(name="validate_chunk")
async def validate_chunk(chunk_id: int, items: list[ProcessedItem]) -> bool:
    return all(item.score > 0 for item in items)

@action(name="aggregate_chunk")
async def aggregate_chunk(chunk_id: int, items: list[ProcessedItem], is_valid: bool) -> ChunkResult:
    total = sum(item.score for item in items) if is_valid else 0
    return ChunkResult(chunk_id=chunk_id, total=total, digest=f"chunk_{chunk_id}")

@action(name="finalize")
async def finalize(results: list[ChunkResult]) -> int:
    return sum(r.total for r in results)

@workflow
class DataPipelineWorkflow(Workflow):
    name = "data_pipeline"
    concurrent = True

    async def run(self, fan_out: int = 8, loop_iters: int = 4) -> int:
        # Phase 1: Setup
        items = await fetch_items(count=fan_out)

        # Phase 2: Fan-out (parallel processing)
        processed: list[ProcessedItem] = []
        for item in items:
            result = await process_item(item)  # Each runs in parallel
            processed.append(result)

        # Phase 3: Loop with multi-action body
        chunk_size = len(processed) // loop_iters
        results: list[ChunkResult] = []

        for chunk_id in range(loop_iters):
            chunk = processed[chunk_id * chunk_size:(chunk_id + 1) * chunk_size]

            # Multi-action loop body: validate -> aggregate
            is_valid = await validate_chunk(chunk_id=chunk_id, items=chunk)
            chunk_result = await aggregate_chunk(
                chunk_id=chunk_id,
                items=chunk,
                is_valid=is_valid
            )
            results.append(chunk_result)

        # Phase 4: Final aggregation
        return await finalize(results)
