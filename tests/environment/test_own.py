"""What a runnable archive carries of this distribution."""

from __future__ import annotations

from packager._environment.own import _imports

SOURCE = b"""
from . import near
from ..other.file import Thing, make
from packager import names
import json
if TYPE_CHECKING:
    from .types import Never
else:
    from .types import Here
match 1:
    case 1:
        async def late():
            async with late():
                from .late import late
"""


def test_imports_are_read_wherever_they_stand_but_for_those_of_type_checkers() -> None:
    assert sorted(_imports("packager/room/file.py", SOURCE)) == [
        ("packager", ("names",)),
        ("packager/other/file", ("Thing", "make")),
        ("packager/room", ("near",)),
        ("packager/room/late", ("late",)),
        ("packager/room/types", ("Here",)),
    ]
