"""The command line."""

import argparse
from pathlib import Path

from pantry import store
from pantry.shelf import NotEnough


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pantry")
    parser.add_argument("--file", type=Path, default=Path("pantry.json"))
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add")
    add.add_argument("name")
    add.add_argument("amount", type=float)
    add.add_argument("--unit", default="")
    add.add_argument("--least", type=float)
    take = commands.add_parser("take")
    take.add_argument("name")
    take.add_argument("amount", type=float)
    commands.add_parser("list")
    commands.add_parser("shopping")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    shelf = store.load(options.file)
    if options.command == "add":
        shelf.add(options.name, options.amount, options.unit, options.least)
    elif options.command == "take":
        try:
            shelf.take(options.name, options.amount)
        except NotEnough as name:
            print(f"There is not enough {name}.")
            return 1
    elif options.command == "list":
        for name, item in sorted(shelf.items.items()):
            print(f"{name:20} {item.amount:g} {item.unit}".rstrip())
    else:
        for name, amount in shelf.missing().items():
            print(f"{name:20} {amount:g} {shelf.items[name].unit}".rstrip())
    store.save(options.file, shelf)
    return 0
