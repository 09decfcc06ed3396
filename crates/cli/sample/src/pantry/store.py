"""Keeps a shelf in a JSON file."""

import json
from dataclasses import asdict
from pathlib import Path

from pantry.shelf import Item, Shelf


def load(path: Path) -> Shelf:
    if not path.exists():
        return Shelf()
    rows = json.loads(path.read_text(encoding="utf-8"))
    return Shelf({name: Item(**row) for name, row in rows.items()})


def save(path: Path, shelf: Shelf) -> None:
    rows = {name: asdict(item) for name, item in sorted(shelf.items.items())}
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
