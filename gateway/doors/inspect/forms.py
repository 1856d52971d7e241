"""The bodies of the page's forms, and the addresses that a form may lead back to; pure.

Rule 1: a member is a text. A form in which one comes twice, or is not UTF-8, is refused.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from protocol.errors import CallerError

MAX_MEMBERS = 40
"""The most members of a form; none of the page's own has half as many."""
_BACK = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_.:%-]+)*(?:\?[A-Za-z0-9_.:%=&+-]*)?(?:#[A-Za-z0-9_.-]*)?")


def fields_of(body: bytes) -> dict[str, str]:
    """Return the members of a form or a query, with LF for CR LF. Raises `CallerError`."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_MEMBERS)
    except ValueError:
        raise CallerError.at("$", "The form cannot be read") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise CallerError.at("$", "A member of the form is given twice")
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


def back_of(fields: Mapping[str, str], otherwise: str) -> str:
    """Return the page that a form names to lead back to, or `otherwise` where that is no page of this session."""
    wanted = fields.get("back", "")
    return wanted if _BACK.fullmatch(wanted) and ".." not in wanted else otherwise
