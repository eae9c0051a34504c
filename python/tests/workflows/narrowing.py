"""What is known not to be None is forgotten when it changes."""

import dataclasses
from typing import Any, List, Optional

from pulley import Workflow, workflow

@dataclasses.dataclass
class Node:
    label: Optional[str]
    size: Optional[int] = None


INPUTS = [{}, {"node": {"label": None, "size": 3}}, {"node": {"label": "x", "size": None}}]


@workflow
class Narrowing(Workflow):
    async def run(self, node: Node = Node("n", 2)) -> List[Any]:
        said: List[Any] = []
        if node.label is not None and len(node.label) > 0:
            said.append(node.label + "!")
        if node.size is None:
            said.append("no size")
        else:
            said.append(node.size + 1)
        label = node.label or "none"
        said.append(len(label))
        size = node.size if node.size is not None else 0
        return said + [size * 2, [n.size for n in [node] if n.size is not None and n.size > 1]]
