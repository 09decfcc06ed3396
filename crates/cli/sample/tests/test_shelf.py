import unittest

from pantry.shelf import NotEnough, Shelf


class ShelfTest(unittest.TestCase):
    def test_what_was_added_can_be_taken(self):
        shelf = Shelf()
        shelf.add("flour", 2, "kg")
        self.assertEqual(shelf.take("flour", 1.5).amount, 0.5)

    def test_more_than_there_is_cannot_be_taken(self):
        shelf = Shelf()
        shelf.add("flour", 1)
        with self.assertRaises(NotEnough):
            shelf.take("flour", 2)

    def test_what_ran_low_is_missing(self):
        shelf = Shelf()
        shelf.add("flour", 1, "kg", least=3)
        shelf.add("salt", 1)
        self.assertEqual(shelf.missing(), {"flour": 2})


if __name__ == "__main__":
    unittest.main()
