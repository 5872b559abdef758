"""Counts words."""

from collections import Counter

import wit_world


class WitWorld(wit_world.WitWorld):
    def words(self, text: str) -> list[tuple[str, int]]:
        return sorted(Counter(text.split()).items())
