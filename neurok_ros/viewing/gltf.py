"""The predicted motion as one animated GLB file (glTF 2.0) that Blender, three.js and other viewers open.

Every frame that is kept is a morph target of the object's mesh, and the animation hands its weight of one from target to
target, so viewers blend linearly between frames. The tool is a node with keyframed translation and rotation.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import Floats, ReconstructedMesh
from neurok_ros.viewing.frame import SupportFrame, support_frame, vertex_normals
from neurok_ros.viewing.guard import drawable, output_path
from neurok_ros.viewing.palette import TOOL, surface_colors
from neurok_ros.viewing.stage import CREASE, tool_polydata

if TYPE_CHECKING:
    from neurok_ros.prediction.types import PredictedMotion, Push

MOST_FRAMES = 60
MOST_BYTES = 18_000_000
BYTES_PER_VERTEX_FRAME = 24
"""A position and a normal, each three float32."""

FLOAT, UINT, USHORT = 5126, 5125, 5123
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
Y_UP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""From the support frame to glTF's: y up, the scanned side towards +z, which is a viewer's front."""


def export_glb(mesh: ReconstructedMesh, motion: PredictedMotion, push: Push, path: str | Path) -> None:
    """Writes the animation as GLB: object, tool and support, metres, y up, the origin on the support below the object.

    The object's vertex positions in the file are those of the scan's frame less `extras.origin` of its node; the node
    turns them upright. At most 60 frames are kept, and fewer for large meshes, so that the file stays below 20 MB; they
    are evenly spread and include the first and the last, their times are the animation's key times.

    Raises:
        NeurokError: as `guard.drawable`; FILE_FAILED for a path that cannot be written; RESULT_TOO_LARGE where two frames
            alone exceed 20 MB.
    """
    motion = drawable(mesh, motion)
    path = output_path(path, (".glb",))
    kept = kept_frames(len(motion.times), len(mesh.vertices))
    frame = support_frame(mesh)
    writer = _Writer()
    upright = Y_UP @ frame.rotation
    root = {"name": "scan", "rotation": _quaternion(upright), "children": [1, 2], "extras": {"origin": frame.origin.tolist()}}
    writer.document["nodes"] = [
        root,
        {"name": "object", "mesh": _add_object(writer, mesh, motion, frame, kept)},
        {"name": "tool", "mesh": _add_tool(writer, push), **_tool_pose(motion, frame, 0)},
        {"name": "support", "mesh": _add_support(writer, frame, mesh)},
    ]
    writer.document["scenes"] = [{"nodes": [0, 3]}]
    writer.document["scene"] = 0
    writer.document["animations"] = [_animation(writer, motion, frame, kept)]
    writer.write(path)


def kept_frames(frames: int, vertices: int) -> NDArray[np.int64]:
    """Indices of the frames that fit in a file of a mesh with so many vertices, first and last included.

    Raises:
        NeurokError: RESULT_TOO_LARGE where not even two do.
    """
    fit = min(MOST_FRAMES, MOST_BYTES // (BYTES_PER_VERTEX_FRAME * vertices) - 3)
    if fit < 2:
        problem = f"{vertices} vertices leave no room for an animation in 20 MB"
        raise NeurokError(ErrorCode.RESULT_TOO_LARGE, "mesh.vertices", problem, "Reconstruct with a smaller vertex budget")
    return np.unique(np.linspace(0, frames - 1, min(frames, fit)).round().astype(np.int64))


class _Writer:
    """Collects the JSON document and the binary chunk."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "neurok_ros"},
            "meshes": [], "materials": [], "accessors": [], "bufferViews": [],
        }  # fmt: skip
        self._binary = bytearray()

    def accessor(
        self, values: NDArray[Any], component: int, kind: str, target: int | None = None, *, normalized: bool = False
    ) -> int:
        """Stores an array (count, components) or (count,) in its own buffer view; returns the accessor's index."""
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self._binary), "byteLength": values.nbytes}
        if target is not None:
            view["target"] = target
        self._binary += values.tobytes()
        self._binary += bytes(-len(self._binary) % 4)
        self.document["bufferViews"].append(view)
        flat = values.reshape(len(values), -1)
        entry = {
            "bufferView": len(self.document["bufferViews"]) - 1,
            "componentType": component,
            "type": kind,
            "count": len(flat),
        }
        entry |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        if normalized:
            entry["normalized"] = True
        self.document["accessors"].append(entry)
        return len(self.document["accessors"]) - 1

    def vectors(self, values: NDArray[Any]) -> int:
        """Stores per-vertex 3-vectors (n, 3) as float32."""
        return self.accessor(np.ascontiguousarray(values, dtype="<f4"), FLOAT, "VEC3", ARRAY_BUFFER)

    def indices(self, faces: NDArray[Any]) -> int:
        """Stores triangles (m, 3)."""
        return self.accessor(np.ascontiguousarray(faces, dtype="<u4").ravel(), UINT, "SCALAR", ELEMENT_ARRAY_BUFFER)

    def material(self, name: str, color: tuple[float, float, float, float], roughness: float, **more: Any) -> int:
        """Adds a dull material of a linear colour with opacity."""
        surface = {"baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": roughness}
        self.document["materials"].append({"name": name, "pbrMetallicRoughness": surface, **more})
        return len(self.document["materials"]) - 1

    def mesh(self, name: str, primitive: dict[str, Any], **more: Any) -> int:
        """Adds a mesh of one primitive."""
        self.document["meshes"].append({"name": name, "primitives": [primitive], **more})
        return len(self.document["meshes"]) - 1

    def write(self, path: Path) -> None:
        """Writes header, JSON chunk and binary chunk (glTF 2.0, Sec. 4.4)."""
        self.document["buffers"] = [{"byteLength": len(self._binary)}]
        text = json.dumps(self.document, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + len(self._binary)
        with path.open("wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, total))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", len(self._binary), b"BIN\0") + self._binary)


def _add_object(
    writer: _Writer, mesh: ReconstructedMesh, motion: PredictedMotion, frame: SupportFrame, kept: NDArray[np.int64]
) -> int:
    rest = (mesh.vertices - frame.origin).astype(np.float32)
    rest_normals = vertex_normals(rest, mesh.faces)
    attributes = {
        "POSITION": writer.vectors(rest),
        "NORMAL": writer.vectors(rest_normals),
        "COLOR_0": writer.accessor(_linear_rgba(surface_colors(mesh)), USHORT, "VEC4", ARRAY_BUFFER, normalized=True),
    }
    targets = []
    for index in kept:
        moved = motion.vertices[index].astype(np.float64) - frame.origin
        targets.append({
            "POSITION": writer.vectors(moved - rest),
            "NORMAL": writer.vectors(vertex_normals(moved, mesh.faces) - rest_normals),
        })  # fmt: skip
    primitive = {
        "attributes": attributes,
        "indices": writer.indices(mesh.faces),
        "material": writer.material("object", (1.0, 1.0, 1.0, 1.0), 0.8),
        "targets": targets,
    }
    names = [f"{motion.times[index]:.3f} s" for index in kept]
    return writer.mesh("object", primitive, weights=[1.0] + [0.0] * (len(kept) - 1), extras={"targetNames": names})


def _add_tool(writer: _Writer, push: Push) -> int:
    surface = tool_polydata(push.tool).compute_normals(split_vertices=True, feature_angle=CREASE, auto_orient_normals=True)
    primitive = {
        "attributes": {"POSITION": writer.vectors(surface.points), "NORMAL": writer.vectors(surface.point_data["Normals"])},
        "indices": writer.indices(surface.faces.reshape(-1, 4)[:, 1:]),
        "material": writer.material("tool", (*_linear(np.array(TOOL)).tolist(), 1.0), 0.5),
    }
    return writer.mesh("tool", primitive)


def _add_support(writer: _Writer, frame: SupportFrame, mesh: ReconstructedMesh) -> int:
    reach = 2.5 * float(np.linalg.norm(frame.points(mesh.vertices), axis=1).max())
    square = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]) * reach
    primitive = {
        "attributes": {"POSITION": writer.vectors(square), "NORMAL": writer.vectors(np.tile([0.0, 1.0, 0.0], (4, 1)))},
        "indices": writer.indices(np.array([[0, 1, 2], [0, 2, 3]])),
        "material": writer.material("support", (0.6, 0.62, 0.64, 0.35), 1.0, alphaMode="BLEND", doubleSided=True),
    }
    return writer.mesh("support", primitive)


def _animation(writer: _Writer, motion: PredictedMotion, frame: SupportFrame, kept: NDArray[np.int64]) -> dict[str, Any]:
    times = writer.accessor((motion.times[kept] - motion.times[0]).astype("<f4"), FLOAT, "SCALAR")
    poses = [_tool_pose(motion, frame, int(index)) for index in kept]
    rotations = _continuous(np.array([pose["rotation"] for pose in poses]))
    outputs = {
        (1, "weights"): writer.accessor(np.eye(len(kept), dtype="<f4").ravel(), FLOAT, "SCALAR"),
        (2, "translation"): writer.accessor(np.array([pose["translation"] for pose in poses], dtype="<f4"), FLOAT, "VEC3"),
        (2, "rotation"): writer.accessor(rotations.astype("<f4"), FLOAT, "VEC4"),
    }
    return {
        "name": "push",
        "samplers": [{"input": times, "output": output, "interpolation": "LINEAR"} for output in outputs.values()],
        "channels": [{"sampler": i, "target": {"node": node, "path": path}} for i, (node, path) in enumerate(outputs)],
    }


def _tool_pose(motion: PredictedMotion, frame: SupportFrame, index: int) -> dict[str, list[float]]:
    pose = motion.tool_poses[index]
    rotation = pose[3:] / np.linalg.norm(pose[3:])
    return {"translation": (pose[:3] - frame.origin).tolist(), "rotation": rotation.tolist()}


def _continuous(quaternions: Floats) -> Floats:
    """The same rotations (k, 4), each with the sign that is nearest to the one before."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    signs = np.where(np.concatenate([[False], np.cumsum(flips) % 2 == 1]), -1.0, 1.0)
    return quaternions * signs[:, None]


def _quaternion(matrix: Floats) -> list[float]:
    values: list[float] = Rotation.from_matrix(matrix).as_quat().tolist()
    return values


def _linear(color: NDArray[Any]) -> Floats:
    """Linear-light colour, 0 to 1, of sRGB values 0 to 255 (IEC 61966-2-1)."""
    share = color.astype(np.float64) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def _linear_rgba(colors: NDArray[np.uint8]) -> NDArray[np.uint16]:
    opaque = np.column_stack([_linear(colors), np.ones(len(colors))])
    return np.asarray(np.rint(opaque * 65535), dtype="<u2")
