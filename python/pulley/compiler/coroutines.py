"""Lists of calls that are gathered afterwards: tasks = [f(x) for x in xs], and then await asyncio.gather(*tasks)."""

import ast
import copy
from typing import List, Optional, Sequence, Tuple


def gathered(body: Sequence[ast.stmt], function: ast.AST) -> List[ast.stmt]:
    """Puts such a list where it is gathered, if that is the next statement, and the only one that reads the list."""
    out: List[ast.stmt] = []
    i = 0
    while i < len(body):
        found = _listed(body, i)
        if found is not None:
            name, calls, end = found
            if end < len(body) and _reads(function, name) == 1 + (end - i > 1):
                placed = _placed(body[end], name, calls)
                if placed is not None:
                    out.append(placed)
                    i = end + 1
                    continue
        out.append(body[i])
        i += 1
    return out


def _listed(body: Sequence[ast.stmt], i: int) -> Optional[Tuple[str, ast.expr, int]]:
    """Finds a variable that gets a list of calls that are not awaited; gives where its statements end, too."""
    at = body[i]
    target = at.targets[0] if isinstance(at, ast.Assign) and len(at.targets) == 1 else at.target if isinstance(at, ast.AnnAssign) else None
    value = getattr(at, "value", None)
    if not isinstance(target, ast.Name):
        return None
    if isinstance(value, ast.ListComp) and isinstance(value.elt, ast.Call):
        return target.id, value, i + 1
    loop = body[i + 1] if i + 1 < len(body) else None
    if not isinstance(value, ast.List) or value.elts or not isinstance(loop, ast.For) or loop.orelse or len(loop.body) != 1:
        return None
    call = loop.body[0].value if isinstance(loop.body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != f"{target.id}.append" or len(call.args) != 1 or not isinstance(call.args[0], ast.Call):
        return None
    generator = ast.comprehension(target=loop.target, iter=loop.iter, ifs=[], is_async=0)
    return target.id, ast.copy_location(ast.ListComp(elt=call.args[0], generators=[generator]), loop), i + 2


def _reads(function: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(function))


def _placed(at: ast.stmt, name: str, calls: ast.expr) -> Optional[ast.stmt]:
    """Gives the statement with the calls in the place of the variable, if it gathers that."""
    if not isinstance(at, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)) or at.value is None:
        return None
    made = copy.deepcopy(at)
    for n in ast.walk(made):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "gather" and len(n.args) == 1:
            starred = n.args[0]
            if isinstance(starred, ast.Starred) and isinstance(starred.value, ast.Name) and starred.value.id == name:
                starred.value = copy.deepcopy(calls)
                return made
    return None
