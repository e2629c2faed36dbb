"""What one camera position tells about where an object cannot be: everywhere in front of what it saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from neurok_ros.reconstruction.types import Floats

MAX_VIEWS = 6
SAME_PLACE = 0.02
"""Viewpoints nearer than this, in metres, are one."""
PIXEL_SPACINGS = 1.5
"""Width of a pixel of the depth image over the spacing of the points, so that a surface leaves no holes."""
MARGIN = 8
"""Pixels around the object."""


def point_spacing(points: Floats) -> float:
    """Median distance (m) from each of the points (n, 3) to its nearest neighbour; 1 mm at least."""
    distances = cKDTree(points).query(points, k=2)[0][:, 1]
    return max(float(np.median(distances)), 1e-3)


OCCLUSION_PIXELS = 2.0
"""What else was seen hides what is farther than it by this many pixel widths."""
SHADOW_PIXELS = 6
"""Width of the band without data beside a nearer thing."""
SEEN_THROUGH = 0.1
"""A gap in the object is a hole if something else was seen in this share of it."""


@dataclass(frozen=True)
class View:
    """A depth image of the object alone, from one viewpoint."""

    origin: Floats
    """(3,) metres."""
    axes: Floats
    """(3, 3) rows: right, down, forward."""
    corner: Floats
    """(2,) image coordinates (tangents) of pixel (0, 0)'s centre."""
    pixel: float
    """Tangent of a pixel's width."""
    depth: Floats
    """(h, w) metres from the viewpoint along the ray to the object, filled outside its outline from the nearest pixel."""
    outline: Floats
    """(h, w) pixels to the object's outline, negative inside."""
    occluder: Floats
    """(h, w) metres to what else was seen, inf where nothing was."""

    def outside(self, points: Floats) -> Floats:
        """(n,) metres by which points (n, 3) lie in seen free space; negative: hidden behind the object or something else."""
        behind, beside, hidden = self._relations(points)
        free = np.maximum(-behind, beside)
        return np.where(hidden > 0, np.minimum(free, -hidden), free)

    def outside_skin(self, points: Floats, thickness: float) -> Floats:
        """(n,) metres outside the material of the given thickness (m) behind the seen surface, negative within."""
        behind, beside, _ = self._relations(points)
        return np.maximum(np.maximum(-behind, behind - thickness), beside)

    def _relations(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Metres behind the object's surface, beside its outline (negative: within), and behind what else was seen."""
        local = (points - self.origin) @ self.axes.T
        ranges = np.linalg.norm(local, axis=1)
        forward = np.maximum(local[:, 2], 1e-6)
        columns = (local[:, 0] / forward - self.corner[0]) / self.pixel
        rows = (local[:, 1] / forward - self.corner[1]) / self.pixel

        width = self.pixel * ranges
        at = [rows, columns]
        behind: Floats = ranges - ndimage.map_coordinates(self.depth, at, order=1, mode="nearest")
        beside: Floats = width * ndimage.map_coordinates(self.outline, at, order=1, mode="nearest")
        occluder: Floats = ndimage.map_coordinates(self.occluder, at, order=0, mode="constant", cval=np.inf)
        return behind, beside, ranges - occluder - OCCLUSION_PIXELS * width


def views_of(points: Floats, viewpoints: Floats, surroundings: Floats | None) -> list[View]:
    """A view from each place (at most MAX_VIEWS, those with most points) that points (n, 3) were seen from."""
    _, owner, counts = np.unique(np.round(viewpoints / SAME_PLACE), axis=0, return_inverse=True, return_counts=True)
    owner = owner.reshape(-1)
    spacing = point_spacing(points)
    chosen = [place for place in np.argsort(-counts)[:MAX_VIEWS] if counts[place] >= 0.1 * counts.max()]
    return [_view(points[owner == place], viewpoints[owner == place].mean(axis=0), surroundings, spacing) for place in chosen]


def _view(points: Floats, origin: Floats, surroundings: Floats | None, spacing: float) -> View:
    axes = _looking_at(points.mean(axis=0) - origin)
    image, ranges = _project(points, origin, axes)
    pixel = PIXEL_SPACINGS * spacing / float(np.median(ranges))
    corner = image.min(axis=0) - MARGIN * pixel
    width, height = np.ceil((image.max(axis=0) - corner) / pixel).astype(int) + 1 + MARGIN
    shape = (int(height), int(width))
    depth = _rasterize(image, ranges, corner, pixel, shape)
    solid = np.isfinite(depth)
    around = np.full(shape, np.nan)
    if surroundings is not None and len(surroundings):
        around = _depth_around(surroundings, origin, axes, corner, pixel, shape)
    mask = _outline_mask(solid, np.isfinite(around))
    nearest = ndimage.distance_transform_edt(~solid, return_distances=False, return_indices=True)
    outline = ndimage.distance_transform_edt(~mask) - ndimage.distance_transform_edt(mask)
    occluder = _grown(np.nan_to_num(around, nan=np.inf), ~mask)
    return View(origin, axes, corner, pixel, depth[tuple(nearest)], outline, occluder)


def _outline_mask(solid: NDArray[np.bool_], around: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The object's pixels; gaps between them count as the object (glossy spots) unless something was seen through them."""
    closed = ndimage.binary_closing(solid, iterations=2)
    gaps, count = ndimage.label(ndimage.binary_fill_holes(closed) & ~closed)
    seen_through = ndimage.mean(around, gaps, np.arange(1, count + 1)) > SEEN_THROUGH
    mask: NDArray[np.bool_] = closed | np.append(False, ~seen_through)[gaps]
    return mask


def _looking_at(direction: Floats) -> Floats:
    forward = direction / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(forward)))]
    right = np.cross(forward, helper)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


def _project(points: Floats, origin: Floats, axes: Floats) -> tuple[Floats, Floats]:
    local = (points - origin) @ axes.T
    return local[:, :2] / np.maximum(local[:, 2:], 1e-6), np.linalg.norm(local, axis=1)


def _rasterize(image: Floats, ranges: Floats, corner: Floats, pixel: float, shape: tuple[int, int]) -> Floats:
    """(h, w) mean range of the points in each pixel, NaN where there is none."""
    cells = np.rint((image - corner) / pixel).astype(int)
    inside = ((cells >= 0) & (cells < (shape[1], shape[0]))).all(axis=1)
    flat = cells[inside, 1] * shape[1] + cells[inside, 0]
    size = shape[0] * shape[1]
    counts = np.bincount(flat, minlength=size)
    totals = np.bincount(flat, weights=ranges[inside], minlength=size)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan).reshape(shape)


def _grown(occluder: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Depths (h, w) grown into allowed pixels without any, where the camera's projector was shadowed by the nearer thing."""
    nearest: Floats = ndimage.grey_erosion(occluder, size=2 * SHADOW_PIXELS + 1)
    return np.where(allowed & ~np.isfinite(occluder), nearest, occluder)


def _depth_around(points: Floats, origin: Floats, axes: Floats, corner: Floats, pixel: float, shape: tuple[int, int]) -> Floats:
    """(h, w) metres to what else was seen, small gaps closed by the nearer neighbour; NaN where nothing was."""
    in_front = (points - origin) @ axes[2] > 0
    image, ranges = _project(points[in_front], origin, axes)
    depth = _rasterize(image, ranges, corner, pixel, shape)
    closed: Floats = -ndimage.grey_closing(np.where(np.isfinite(depth), -depth, -np.inf), size=3)
    return np.where(np.isfinite(closed), closed, np.nan)
