"""Tables in documents that are written from figures: between ``<!-- table NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_TABLE: Final = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill_tables(text: str, table: Callable[[str], str]) -> str:
    r"""Write the tables of a document anew.

    Args:
        text: The document.
        table: Gives the table of a name, with a line break at its end.

    Returns:
        The document with these tables; everything else is as it was.

    >>> fill_tables("a\n<!-- table x -->\nold\n<!-- end -->\nb", lambda name: f"| {name} |\n")
    'a\n<!-- table x -->\n| x |\n<!-- end -->\nb'
    """
    return _TABLE.sub(lambda match: match[1] + table(match[2]) + match[3], text)
