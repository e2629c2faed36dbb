"""What is remembered of clouds and objects, and what is counted of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.inbox import CloudInbox
from neurok_ros.nodes.object_store import ObjectStore, StoredObject
from neurok_ros.reconstruction.types import ReconstructedMesh


def stored(name: str) -> StoredObject:
    none = np.empty((0, 3))
    mesh = ReconstructedMesh(none, none.astype(np.int32), np.empty(0, bool), None, np.zeros(4), "none")
    return StoredObject(name, mesh)


def test_only_the_newest_cloud_is_kept_and_every_cloud_is_counted() -> None:
    inbox: CloudInbox[str] = CloudInbox()
    assert inbox.newest() is None
    assert inbox.seconds_since_arrival() is None
    for name in ("a", "b", "c"):
        inbox.put(name)
    assert inbox.newest() == "c"
    assert (inbox.counts.received, inbox.counts.dropped) == (3, 2)
    inbox.put("d")  # c has been used, so it was not dropped
    assert inbox.counts.dropped == 2
    age = inbox.seconds_since_arrival()
    assert age is not None
    assert age >= 0.0


def test_a_bad_cloud_does_not_take_the_place_of_a_good_one() -> None:
    inbox: CloudInbox[str] = CloudInbox()
    inbox.put("good")
    inbox.skip("row_step", "row_step: 17 bytes")
    assert inbox.newest() == "good"
    assert inbox.counts.skipped == {"row_step": 1}
    assert "17" in inbox.last_problem
    inbox.put("better")
    assert inbox.last_problem == ""


def test_when_time_jumps_back_the_cloud_is_forgotten_and_the_counts_are_not() -> None:
    inbox: CloudInbox[str] = CloudInbox()
    inbox.put("from the future")
    inbox.jump_back()
    assert inbox.newest() is None
    assert (inbox.counts.received, inbox.counts.time_jumps) == (1, 1)


def test_the_object_used_longest_ago_is_forgotten_first() -> None:
    store = ObjectStore(2)
    store.put(stored("a"))
    store.put(stored("b"))
    store.get("a")
    store.put(stored("c"))
    assert len(store) == 2
    assert store.get("a").object_id == "a"
    with pytest.raises(NeurokError, match=r"'b' is not known; known: c, a") as error:
        store.get("b")
    assert error.value.code is ErrorCode.UNKNOWN_OBJECT


def test_no_name_means_the_object_used_last() -> None:
    store = ObjectStore(3)
    with pytest.raises(NeurokError, match="known: none"):
        store.get("")
    store.put(stored("a"))
    store.put(stored("b"))
    assert store.get("").object_id == "b"
    store.get("a")
    assert store.get("").object_id == "a"


def test_new_names_are_free() -> None:
    store = ObjectStore(5)
    store.put(stored("object_1"))
    assert store.new_name() == "object_2"
    assert store.new_name() == "object_3"
