"""Python values as JSON, by type hints, and back.

    codec = codec_of(List[Item])
    codec.encode([Item(1)])          # [{"id": 1}]
    codec.decode([{"id": 1}])        # [Item(1)]

What ``encode`` writes, ``decode`` with the same hint makes into an equal value of the same type.  What could
not come back is refused when it is written, with the place and with what to write instead.

=============================================  ===========================================================
hint                                           JSON
=============================================  ===========================================================
None, bool, int, str                           the same; ints of any size
float                                          a number; an int stays an int, as in Python; NaN and inf are refused
no hint, Any, object                           a JSON value as it is; whatever else needs a hint
list, Sequence, Iterable, Collection           a list
tuple, NamedTuple                              a list
set, frozenset                                 a list, in the order of its elements' JSON texts
dict, Mapping                                  an object; keys that are no strings as texts, where that is possible
dataclass, TypedDict, pydantic model (1, 2)    an object of the fields, under their Python names
Enum                                           the member's value; its name if some value is not a JSON scalar
Flag                                           its int
datetime, date, time                           ISO 8601; a zone comes back as its offset, and one with summer time is refused
timedelta                                      ISO 8601, "P1DT2.500000S"
Decimal, UUID, Path                            its text
bytes                                          base64
Optional, Union, X | Y                         as the member whose type the value has; refused if another would read it, too
Literal                                        the value
NewType, Annotated, Final, type aliases        as what they stand for
=============================================  ===========================================================

Values are checked: ``f(x: int)`` refuses a text, though plain Python would pass it on.
"""

from .codec import Codec, HintError, Mismatch
from .hints import codec_of
from .signature import Signature

__all__ = ["Codec", "HintError", "Mismatch", "Signature", "codec_of"]
