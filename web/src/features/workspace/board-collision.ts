// What a carried card is over: the card under the pointer, else the nearest card of the column under it, else
// the column itself when it is empty. By keyboard there is no pointer; then what the card overlaps counts.
import { type CollisionDetection, closestCorners, pointerWithin, rectIntersection } from "@dnd-kit/core";
import type { Columns } from "./columns";

export function collisionIn(columns: Columns): CollisionDetection {
  return (situation) => {
    const hits = situation.pointerCoordinates ? pointerWithin(situation) : rectIntersection(situation);
    const cards = hits.filter(({ id }) => !(id in columns));
    if (cards.length > 0) return cards;
    const column = hits[0];
    if (!column) return closestCorners(situation);
    const own = columns[String(column.id)] ?? [];
    if (own.length === 0) return [column];
    const containers = situation.droppableContainers.filter(({ id }) => own.includes(String(id)));
    return closestCorners({ ...situation, droppableContainers: containers });
  };
}
