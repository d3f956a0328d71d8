"""The drawing of the house shows the rooms on disk and the layers of the import contracts, and no others."""

import re

from draw_house import PAGE, list_rooms, read_layers, write_page

PAGE_TEXT = PAGE.read_text()


def test_the_page_is_drawn_from_the_contracts() -> None:
    assert write_page(PAGE_TEXT) == PAGE_TEXT, "run `python tests/contract/draw_house.py`"


def test_rooms_in_the_drawing_are_those_on_disk_in_the_layers_of_the_contract() -> None:
    drawn = [re.findall(r'^    (\w+)\["', part, re.M) for part in PAGE_TEXT.split("subgraph")[1:]]
    assert drawn == read_layers()
    assert sorted(room for layer in drawn for room in layer) == list_rooms()


def test_arrows_lead_from_each_layer_to_the_next_alone() -> None:
    arrows = re.findall(r"layer(\d+) --> layer(\d+)", PAGE_TEXT)
    assert arrows == [(str(place), str(place + 1)) for place in range(len(read_layers()) - 1)]
