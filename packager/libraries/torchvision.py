"""What is known of torchvision: modules of Python."""

from __future__ import annotations

from typing import Final

from packager.audit import Rows
from packager.codecs import Library
from packager.libraries.families import MODULE, modules_of

LIBRARY: Final = Library("torchvision", "torchvision", rows=Rows((MODULE, modules_of("torchvision"))))
