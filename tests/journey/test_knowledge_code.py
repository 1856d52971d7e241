"""Code of a collection: a function is found as one piece, under the path of its symbol."""

import pytest
from spawned import Den, journey
from test_knowledge import add, search, write

pytest.importorskip("tree_sitter")

BODY = "".join(f"        self.count += {number}  # step {number} of the sum\n" for number in range(30))
CODE = f"class Counter:\n    def walk(self):\n{BODY}        return 1\n\n    # how herons fly\n    def fly(self):\n{BODY}        return 'pelican'\n"


@journey
async def test_knowledge_code_structure_names_a_symbol_by_its_path(tmp_path):
    folder = write(tmp_path / "code", {"counter.py": CODE, "plain.zig": "const walrus = 1;\n"})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        found = await search(client, "herons pelican")
        assert found["hits"][0]["heading"] == ["Counter", "fly"]
        assert found["hits"][0]["text"].startswith("    # how herons fly\n    def fly(self):\n")
        assert (await search(client, "walrus"))["hits"][0]["heading"] == []
        status = (await client.request("knowledge/status", {}))["collections"]
        assert [one["code_structure"] for one in status] == ["ready"]
