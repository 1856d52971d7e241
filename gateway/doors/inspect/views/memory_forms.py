"""The forms of one memory: edit, forget, erase, restore, confirm.

Rule 1: a form names the version of the memory that it was made from. A stale one changes nothing: both versions are
shown, and the person decides.
"""

from typing import Any
from urllib.parse import urlencode

from gateway.doors.inspect.forms import back_of
from gateway.doors.inspect.places import Reached, get_memory, name_of, reach_memory
from gateway.doors.inspect.rendering import path_part
from gateway.doors.inspect.views.memories import address_of, number_of
from gateway.doors.inspect.views.today import bring_back
from gateway.doors.inspect.visit import CATEGORIES, FilledTemplate, Moved, Outcome, PageNotice, Visit
from protocol import methods as m
from protocol.errors import CallerError, Refused
from protocol.memory.forgetting import Receipt
from protocol.record import Record

MAX_VERSIONS = 20
"""The most later versions that are followed from a stale one."""


async def edit_form(visit: Visit, memory_id: str) -> Outcome:
    """Show the form in which a memory is corrected."""
    reached = await reach_memory(visit, memory_id)
    record = reached.record
    if record.status != "active" or record.sensitivity == "regulated":
        raise Refused("conflict", "Only a memory that is believed at present, and shown here, can be edited.")
    return FilledTemplate("edit.html", "Edit a memory", _form_of(record, record.content, ", ".join(record.tags)))


def _form_of(record: Record, content: str, tags: str, **more: Any) -> dict[str, Any]:
    return {
        "record": record,
        "place": name_of(record.scope),
        "categories": CATEGORIES,
        "content": content,
        "tags": tags,
        "category": record.category,
        "importance": record.importance,
        "pinned": record.pinned,
        "theirs": None,
        **more,
    }


async def edit(visit: Visit, memory_id: str) -> Outcome:
    """Correct a memory; answer a stale form with both versions."""
    reached = await reach_memory(visit, memory_id)
    record = reached.record
    content, tags = visit.require_field("content"), _tags(visit.fields.get("tags", ""))
    if record.status != "active" or str(record.updated_at) != visit.fields.get("expected_updated_at", ""):
        return await _both_versions(visit, reached, content)
    wanted: dict[str, Any] = {
        "content": content,
        "tags": tags,
        "pinned": "pinned" in visit.fields,
        "category": visit.fields.get("category") or record.category,
        "importance": number_of(visit.fields.get("importance") or str(record.importance), "importance"),
    }
    changed = {name: value for name, value in wanted.items() if value != getattr(record, name)}
    if "content" in changed and isinstance(record.value, str) and record.value.casefold() not in content.casefold():
        changed["value"] = None
    asked = {"memory_id": memory_id, "context": reached.context, "expected_updated_at": record.updated_at}
    try:
        updated = (await visit.ask(m.MEMORY_UPDATE, asked | changed)).record if changed else record
    except Refused as refused:
        if refused.reason != "conflict":
            raise
        return await _both_versions(visit, await reach_memory(visit, memory_id), content)
    fields = {"scope": name_of(updated.scope), "expected_updated_at": str(updated.updated_at)}
    undo = f"memories/{path_part(updated.memory_id)}/forget" if updated.memory_id != memory_id else None
    visit.show_next(PageNotice("Saved. The version before is kept." if undo else "Saved.", undo, fields))
    return Moved(address_of(updated.memory_id, updated.scope))


def _tags(text: str) -> list[str]:
    return list(dict.fromkeys(tag for part in text.split(",") if (tag := part.strip())))


async def _newest(visit: Visit, reached: Reached) -> Record:
    """Return the present version of a record."""
    record = reached.record
    for _ in range(MAX_VERSIONS):
        if record.superseded_by is None:
            break
        later = (await get_memory(visit, record.superseded_by, reached.context, include_deleted=True)).record
        if later is None:
            break
        record = later
    return record


async def _both_versions(visit: Visit, reached: Reached, content: str) -> Outcome:
    theirs = await _newest(visit, reached)
    form = _form_of(theirs, content, ", ".join(theirs.tags), theirs=theirs)
    return FilledTemplate("edit.html", "This memory changed meanwhile", form, 409)


async def _stale(visit: Visit, reached: Reached, action: str, label: str) -> Outcome | None:
    """Return the page of both versions for a form whose memory changed since; None where it did not."""
    expected = visit.fields.get("expected_updated_at", "")
    if not expected or expected == str(reached.record.updated_at):
        return None
    theirs = await _newest(visit, reached)
    values = {
        "record": reached.record,
        "theirs": theirs,
        "place": name_of(theirs.scope),
        "label": label,
        "action": f"memories/{path_part(theirs.memory_id)}/{action}",
    }
    return FilledTemplate("stale.html", "This memory changed meanwhile", values, 409)


async def forget(visit: Visit, memory_id: str) -> Outcome:
    """Forget a memory, and restore the one that it had replaced; the notice can undo the forgetting."""
    reached = await reach_memory(visit, memory_id)
    record = reached.record
    if (stale := await _stale(visit, reached, "forget", "Forget it all the same")) is not None:
        return stale
    target = {"kind": "id", "memory_id": memory_id}
    result = await visit.ask(m.MEMORY_FORGET, {"target": target, "context": reached.context})
    text = "Forgotten." if result.forgotten_memory_ids else "It was forgotten already."
    if result.forgotten_memory_ids and record.supersedes is not None and record.status == "active":
        former = await bring_back(visit, record.supersedes, reached.context)
        text = "Forgotten. What it had replaced is believed again." if former is not None else text
    undo = f"memories/{path_part(memory_id)}/restore" if result.forgotten_memory_ids else None
    visit.show_next(PageNotice(text, undo, {"scope": name_of(record.scope)}, "Bring it back"))
    return Moved(back_of(visit.fields, address_of(memory_id, record.scope)))


async def restore(visit: Visit, memory_id: str) -> Outcome:
    """Restore a memory. It replaces its own later version, if that is believed at present."""
    reached = await reach_memory(visit, memory_id)
    record, context = reached.record, reached.context
    await visit.ask(m.MEMORY_RESTORE, {"memory_id": memory_id, "context": context})
    visit.show_next(
        PageNotice("Brought back.", f"memories/{path_part(memory_id)}/forget", {"scope": name_of(record.scope)})
    )
    return Moved(back_of(visit.fields, address_of(memory_id, record.scope)))


async def confirm(visit: Visit, memory_id: str) -> Outcome:
    """Confirm an agent's note as the person's own word."""
    reached = await reach_memory(visit, memory_id)
    record = (await visit.ask(m.MEMORY_CONFIRM, {"memory_id": memory_id, "context": reached.context})).record
    visit.show_next(PageNotice("This counts as your own word from now on."))
    return Moved(address_of(record.memory_id, record.scope))


# -- erasing -----------------------------------------------------------------------------------------------------------


async def ask_erase(visit: Visit, memory_id: str) -> Outcome:
    """Rehearse an erase, show the receipt, and ask."""
    reached = await reach_memory(visit, memory_id)
    with_sources = "sources" in visit.query
    receipt = await _erase(visit, reached, with_sources=with_sources, is_dry=True)
    return FilledTemplate(
        "erase.html",
        "Erase for ever?",
        {
            "record": reached.record,
            "place": name_of(reached.record.scope),
            "receipt": receipt,
            "with_sources": with_sources,
            "place_query": urlencode({"scope": name_of(reached.record.scope)}),
            "is_hidden": reached.record.status == "deleted" or reached.record.sensitivity == "regulated",
        },
    )


async def erase(visit: Visit, memory_id: str) -> Outcome:
    """Erase a memory to the last byte, and show the receipt."""
    reached = await reach_memory(visit, memory_id)
    if (stale := await _stale(visit, reached, "erase", "Erase it all the same")) is not None:
        return stale
    receipt = await _erase(visit, reached, with_sources="sources" in visit.fields, is_dry=False)
    if receipt is None:
        raise CallerError.missing("memory")
    return FilledTemplate("receipt.html", "Erased", {"receipt": receipt, "category": reached.record.category})


async def _erase(visit: Visit, reached: Reached, *, with_sources: bool, is_dry: bool) -> Receipt | None:
    target = {"kind": "id", "memory_id": reached.record.memory_id}
    params = {"target": target, "mode": "erase", "dry_run": is_dry, "include_sources": with_sources}
    return (await visit.ask(m.MEMORY_FORGET, params | {"context": reached.context})).receipt
