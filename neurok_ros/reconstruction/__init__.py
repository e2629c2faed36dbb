"""Scan to closed mesh. Importing this package does not import Open3D, which lives in the worker's process only."""

from __future__ import annotations

from neurok_ros.reconstruction.point_fields import DecodedPoints, decode_points
from neurok_ros.reconstruction.scan_files import merge_scans, read_scan
from neurok_ros.reconstruction.segmentation import segment, select
from neurok_ros.reconstruction.types import (
    MeshOptions,
    ObjectSelection,
    ReconstructedMesh,
    Scan,
    SegmentationOptions,
    SegmentedObject,
)
from neurok_ros.reconstruction.worker import ReconstructionWorker

__all__ = [
    "DecodedPoints",
    "MeshOptions",
    "ObjectSelection",
    "ReconstructedMesh",
    "ReconstructionWorker",
    "Scan",
    "SegmentationOptions",
    "SegmentedObject",
    "decode_points",
    "merge_scans",
    "read_scan",
    "segment",
    "select",
]
