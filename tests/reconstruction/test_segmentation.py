from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_scans import Body, Floats, box, cylinder, render, sphere

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.scan_files import read_scan
from neurok_ros.reconstruction.segmentation import segment, select
from neurok_ros.reconstruction.types import ObjectSelection, Scan, SegmentationOptions, SegmentedObject

OPTIONS = SegmentationOptions()


def iou(mask: np.ndarray, each: SegmentedObject) -> float:
    found = np.zeros(len(mask), dtype=bool)
    found[each.source] = True
    return float((mask & found).sum() / (mask | found).sum())


def best_ious(scan: Scan, groups: np.ndarray, objects: list[SegmentedObject]) -> dict[int, float]:
    return {
        int(group): max((iou(groups == group, each) for each in objects), default=0.0) for group in np.unique(groups) if group > 0
    }


@pytest.mark.parametrize("name", ["test0", "test33"])
def test_labelled_objects_of_real_scans_come_out_apart(scans: Path, name: str) -> None:
    scan = read_scan(scans / f"{name}.pcd")
    assert scan.labels is not None
    groups = np.where(scan.labels >= 20, scan.labels // 10, 0)

    objects = segment(scan, OPTIONS)

    ious = best_ious(scan, groups, objects)
    assert len(objects) == len(ious), "no speckle, nothing split in two"
    assert min(ious.values()) > 0.85, ious


def test_a_mug_with_its_handle_is_one_object(scans: Path) -> None:
    objects = segment(read_scan(scans / "table_scene_mug_stereo_textured.pcd"), OPTIONS)

    assert len(objects) == 1
    size = np.ptp(objects[0].points, axis=0)
    assert 0.10 < size.max() < 0.20, "a mug with its handle is 12 to 18 cm wide"


def test_three_bottles_on_a_floor_are_the_largest_objects(scans: Path) -> None:
    scan = read_scan(scans / "milk_cartoon_all_small_clorox.pcd")

    objects = segment(scan, SegmentationOptions(max_range=1.2))

    assert len(objects) == 3
    heights = [(each.points @ each.support[:3] + each.support[3]).max() for each in objects]
    assert all(0.18 < height < 0.32 for height in heights), heights


SCENES: dict[str, list[Body]] = {
    "apart": [
        box((0.1, 0.08, 0.12), (-0.12, 0.0, 0.06), 0.4),
        cylinder(0.04, 0.15, (0.08, 0.05, 0.0)),
        sphere(0.04, (0.15, -0.1, 0.04)),
    ],
    "stacked": [box((0.16, 0.14, 0.08), (0.0, 0.0, 0.04), 0.3), cylinder(0.03, 0.09, (0.0, 0.0, 0.08))],
    "touching": [cylinder(0.05, 0.13, (-0.05, 0.0, 0.0)), cylinder(0.04, 0.07, (0.04, 0.0, 0.0))],
}


@pytest.mark.parametrize("name", list(SCENES))
def test_synthetic_objects_come_out_apart(name: str) -> None:
    scan = render(SCENES[name], width=320, focal=320.0)
    assert scan.labels is not None

    objects = segment(scan, OPTIONS)

    ious = best_ious(scan, scan.labels, objects)
    assert len(objects) == len(ious)
    assert min(ious.values()) > 0.85, ious


def test_an_object_on_another_stands_on_that_one() -> None:
    scan = render(SCENES["stacked"], width=320, focal=320.0)
    upper = select(segment(scan, OPTIONS), scan, ObjectSelection(point=(0.0, 0.0, 0.17)))

    assert upper.support[3] == pytest.approx(-0.08, abs=0.01)


def wall(origin: Floats, directions: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        distance = (0.5 - origin[1]) / directions[:, 1]
    return np.where(distance > 0, distance, np.inf)


def test_the_support_is_the_table_and_not_the_larger_wall() -> None:
    scan = render([cylinder(0.04, 0.12, (0.0, 0.3, 0.0)), wall], camera=(0.0, -0.5, 0.3), target=(0.0, 0.5, 0.2), width=320)
    assert scan.labels is not None
    assert (scan.labels == 2).sum() > (scan.labels == 0).sum(), "the wall fills more of the image than the table"

    objects = segment(scan, OPTIONS)

    np.testing.assert_allclose(objects[0].support, [0, 0, 1, 0], atol=0.03)
    assert iou(scan.labels == 1, objects[0]) > 0.85


def test_the_given_up_direction_rules_walls_out() -> None:
    scan = render([wall], camera=(0.0, -0.5, 0.3), target=(0.0, 0.5, 0.25))

    assert segment(scan, SegmentationOptions(up=(0.0, 0.0, 1.0))) == []


def test_touching_things_stay_one_object_where_that_is_asked_for() -> None:
    scan = render(SCENES["stacked"], width=320, focal=320.0)

    assert len(segment(scan, SegmentationOptions(split_touching=False))) == 1


def test_a_rotated_scene_gives_the_same_objects() -> None:
    scan = render(SCENES["apart"])
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    turned = replace(scan, points=scan.points @ turn.T + 1.0, viewpoints=scan.viewpoints @ turn.T + 1.0)
    assert scan.labels is not None

    objects = segment(turned, OPTIONS)

    assert len(objects) == 3
    assert min(best_ious(turned, scan.labels, objects).values()) > 0.85
    np.testing.assert_allclose(objects[0].support[:3], turn[:, 2], atol=0.02)


def test_selection_by_label_point_region_and_size() -> None:
    scan = render(SCENES["apart"])
    objects = segment(scan, OPTIONS)
    assert scan.labels is not None
    wanted = {label: max(objects, key=lambda each, label=label: iou(scan.labels == label, each)) for label in (1, 2, 3)}  # type: ignore[misc]

    assert select(objects, scan, ObjectSelection(label=3)) is wanted[3]
    assert select(objects, scan, ObjectSelection(point=(0.08, 0.05, 0.2))) is wanted[2]
    assert select(objects, scan, ObjectSelection(region=((0.1, -0.2, 0.0), (0.3, 0.0, 0.2)))) is wanted[3]
    assert select(objects, scan, ObjectSelection()) is max(objects, key=lambda each: len(each.source))


@pytest.mark.parametrize(
    ("selection", "code", "field"),
    [
        (ObjectSelection(label=77), ErrorCode.NO_OBJECT_FOUND, "selection.label"),
        (ObjectSelection(label=0), ErrorCode.TOO_FEW_POINTS, "selection.label"),
        (ObjectSelection(region=((5, 5, 5), (6, 6, 6))), ErrorCode.NO_OBJECT_FOUND, "selection.region"),
    ],
)
def test_selecting_what_is_not_there_is_an_error(selection: ObjectSelection, code: ErrorCode, field: str) -> None:
    scan = render(SCENES["stacked"])
    objects = segment(scan, OPTIONS)

    with pytest.raises(NeurokError) as caught:
        select(objects, scan, selection)

    assert (caught.value.code, caught.value.field) == (code, field)


def test_an_empty_table_has_no_objects() -> None:
    scan = render([])

    objects = segment(scan, OPTIONS)

    assert objects == []
    with pytest.raises(NeurokError, match="selection") as caught:
        select(objects, scan, ObjectSelection())
    assert caught.value.code is ErrorCode.NO_OBJECT_FOUND


def test_almost_complete_occlusion_is_an_error_with_the_count() -> None:
    scan = render([cylinder(0.03, 0.1, (0.0, 0.0, 0.0))])
    assert scan.labels is not None
    visible = np.flatnonzero(scan.labels == 1)
    keep = np.concatenate([np.flatnonzero(scan.labels == 0), visible[visible % 25 == 0][:40]])
    hidden = replace(scan, points=scan.points[keep], viewpoints=scan.viewpoints[keep], labels=scan.labels[keep], colors=None)

    with pytest.raises(NeurokError, match=r"\d+ points") as caught:
        segment(hidden, SegmentationOptions(cluster_distance=0.05))

    assert caught.value.code is ErrorCode.TOO_FEW_POINTS


@pytest.mark.parametrize("points", [np.empty((0, 3)), *(np.full((500, 3), value) for value in (np.nan, 9.0, np.inf))])
def test_nothing_in_view_is_an_error_with_the_count(points: np.ndarray) -> None:
    with pytest.raises(NeurokError) as caught:
        segment(Scan(points, np.zeros_like(points)), OPTIONS)

    assert caught.value.code is ErrorCode.TOO_FEW_POINTS


def test_coincident_points_have_no_support() -> None:
    points = np.full((500, 3), 0.5)

    with pytest.raises(NeurokError) as caught:
        segment(Scan(points, np.zeros_like(points)), OPTIONS)

    assert caught.value.code is ErrorCode.NO_OBJECT_FOUND


def test_the_crop_box_limits_the_scene() -> None:
    scan = render(SCENES["apart"])
    cropped = segment(scan, SegmentationOptions(crop=((-0.3, -0.3, -0.1), (0.0, 0.3, 0.4))))

    assert len(cropped) == 1
    assert cropped[0].points[:, 0].max() <= 0.0
