"""Floats as Python prints and rounds them, written with what the language has.

The language prints the same digits as Python, but uses exponents from 1e+06 on, where Python does from 1e+16.  It has no rounding to
places; a float times 2**200 is an int exactly, as far as it matters for the places that are printed, and ints are of any size.
"""

from typing import Callable

SCALE = 2**200

#: The most places that are compiled.
PLACES_MOST = 15


def printed(x: str, new: Callable[[], str]) -> str:
    """str(x)"""
    s, p, k, g = new(), new(), new(), new()
    whole = f'{g} + "0" * ({k} + 1 - len({g})) + ".0"'
    split = f'{g}[:{k} + 1] + "." + {g}[{k} + 1:]'
    expanded = f'("-" if {s}.startswith("-") else "") + ({whole} if len({g}) <= {k} + 1 else {split})'
    clauses = (
        f'for {s} in [str({x})] for {p} in [{s}.partition("e+")] for {k} in [int({p}[2].lstrip("0") or "0")] '
        f'for {g} in [{p}[0].lstrip("-").replace(".", "")]'
    )
    return f"[{s} if {k} < 6 or {k} > 15 else {expanded} {clauses}][0]"


def _scaled(x: str, places: int, new: Callable[[], str], write: Callable[[str, str], str]) -> str:
    """Rounds to places, to the even digit if two are as near; write gets the absolute value times 10**places, an int, and the text that x has."""
    s, v, n, q = new(), new(), new(), new()
    rest = f"{n} % {SCALE}"
    up = f"(1 if {rest} * 2 > {SCALE} or {rest} * 2 == {SCALE} and {q} % 2 == 1 else 0)"
    power = 10**places
    size = f"({v} if {v} > 0 else -{v})"
    scaled = f"(int({size} * {float(SCALE)!r}) if {size} < 1e+200 else int({size}) * {SCALE})"
    clauses = (
        f"for {v} in [{x}] for {s} in [str({v})] for {n} in [{scaled} * {power}] "
        f"for {q} in [{n} // {SCALE}]"
    )
    r = new()
    return f"[{write(r, s)} {clauses} for {r} in [{q} + {up}]][0]"


def fixed(x: str, places: int, new: Callable[[], str]) -> str:
    """f"{x:.2f}" """
    power = 10**places

    def write(q: str, s: str) -> str:
        sign = f'("-" if {s}.startswith("-") else "")'
        if not places:
            return f"{sign} + str({q})"
        return f'{sign} + str({q} // {power}) + "." + "0" * ({places} - len(str({q} % {power}))) + str({q} % {power})'

    return _scaled(x, places, new, write)


def rounded(x: str, places: int, otherwise: str, new: Callable[[], str]) -> str:
    """round(x, 2); otherwise is what stands where the result has more digits than a float.  An int stays one, as in Python."""
    power = 10**places
    v = new()

    def write(q: str, s: str) -> str:
        whole = f'{v} if "." not in {s} and "e" not in {s} else '
        signed = f'-({q} / {power}) if {s}.startswith("-") else {q} / {power}'
        return f"({whole}({signed}) if {q} <= {2**53} else {otherwise})"

    return f"[{_scaled(v, places, new, write)} for {v} in [{x}]][0]"
