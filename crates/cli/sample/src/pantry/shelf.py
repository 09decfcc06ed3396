"""A shelf holds items by name; it reads and writes nothing."""

from dataclasses import dataclass, field


@dataclass
class Item:
    """Something to eat, how much of it there is, and how much there should be at least."""

    amount: float = 0.0
    unit: str = ""
    least: float = 0.0


class NotEnough(Exception):
    """More was taken than there is."""


@dataclass
class Shelf:
    items: dict[str, Item] = field(default_factory=dict)

    def add(self, name: str, amount: float, unit: str = "", least: float | None = None) -> Item:
        item = self.items.setdefault(name, Item(unit=unit))
        item.amount += amount
        if least is not None:
            item.least = least
        return item

    def take(self, name: str, amount: float) -> Item:
        item = self.items.get(name)
        if item is None or item.amount < amount:
            raise NotEnough(name)
        item.amount -= amount
        return item

    def missing(self) -> dict[str, float]:
        """What has run below its least amount, and how much of it to buy."""
        return {
            name: item.least - item.amount
            for name, item in sorted(self.items.items())
            if item.amount < item.least
        }
