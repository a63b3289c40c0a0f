"""Labels of two classes and of more, as numbers."""

import numpy as np
import pytest

from unskew import LoggedData
from unskew.errors import InputError
from unskew.labels import MOST_CLASSES, classes_of, codes, positions


def test_two_classes_are_signs_and_more_are_numbers():
    log = LoggedData(np.arange(4.0)[:, None], ["b", None, "c", "a"])
    assert log.K == 3 and log.classes.tolist() == ["a", "b", "c"] and log.y.tolist() == [2.0, 0.0, 3.0, 1.0]
    assert log.revealed_y.tolist() == [2.0, 3.0, 1.0]
    assert LoggedData(np.arange(2.0)[:, None], ["b", "a"]).y.tolist() == [1.0, -1.0]
    assert positions(log.revealed_y, 3).tolist() == [1, 2, 0]


def test_classes_that_no_label_shows_can_be_named():
    log = LoggedData(np.arange(3.0)[:, None], [2, None, 0], classes=[2, 1, 0])
    assert log.classes.tolist() == [2, 1, 0] and log.y.tolist() == [1.0, 0.0, 3.0]


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(InputError, match=r"labels must be one of 'a', 'b', 'c'; got 'd' at position 1\. Map it"):
        codes(["a", "d"], np.array(["a", "b", "c"]))
    with pytest.raises(InputError, match=r"one of 0, 1, 2, 3, \.\.\.; got 9 at"):
        codes([9], np.arange(6))


def test_a_thousand_classes_are_refused():
    with pytest.raises(InputError, match=r"at most 100 classes; got 1000: 0, 1, 2, 3, \.\.\.\. Merge rare classes"):
        LoggedData(np.zeros((1000, 1)), np.arange(1000))
    assert len(classes_of(np.arange(MOST_CLASSES), None)) == MOST_CLASSES
