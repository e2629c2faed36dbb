"""The sizes of the model: one object that is saved with the weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from neurok_ros.errors import ErrorCode, NeurokError

FORMAT = 2
"""Changes whenever the same numbers would mean another function."""


@dataclass(frozen=True)
class ModelConfig:
    """What must be known to build the network that a checkpoint's weights belong to."""

    decoder: Literal["handles", "points"] = "handles"
    """`points`: one dual quaternion a point, as in the paper. `handles`: rigid motions of a few handles from the latent, blended
    with weights from the shape alone, which makes F and its Jacobian cheap."""
    motion: Literal["rigid", "translation"] = "rigid"
    """What a control does; `translation` is the ablation without dual quaternions."""
    width: int = 128
    """Features of a token and of a point."""
    heads: int = 4
    tokens: int = 16
    """K: latent tokens."""
    token_size: int = 16
    """F_token: numbers in a latent token; the latent has K * F_token."""
    encoder_blocks: int = 2
    """Cross-attention, self-attention and feed-forward, in both encoders."""
    decoder_blocks: int = 2
    handles: int = 24
    """How many handles; without meaning for the decoder `points`."""
    anchored: bool = True
    """Whether each latent token belongs to a place: it starts from the features of one of the first K surface points, which are
    evenly spread, and may look at near points first. Otherwise tokens are learned numbers alone, as in the paper."""
    encoder_points: int = 256
    """Surface points that the encoders are trained on; they take any number."""
    deformation_points: int = 128
    """The first of them, that the deformation encoder looks at."""
    frequencies: int = 8
    """Of the position embedding, per axis: pi, 2 pi, 4 pi, ..."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "decoder":
                if value not in ("handles", "points"):
                    raise _invalid(field.name, f"is {value!r}", "Choose handles or points")
            elif field.name == "motion":
                if value not in ("rigid", "translation"):
                    raise _invalid(field.name, f"is {value!r}", "Choose rigid or translation")
            elif field.name == "anchored":
                if not isinstance(value, bool):
                    raise _invalid(field.name, f"is {value!r}", "Choose true or false")
            elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise _invalid(field.name, f"is {value!r}", "Give a positive whole number")
        if self.width % self.heads:
            raise _invalid("width", f"is {self.width}, not a multiple of heads = {self.heads}", "Choose a multiple of heads")
        for name in ("handles", "tokens", "deformation_points"):
            if getattr(self, name) > self.encoder_points:
                problem = f"is {getattr(self, name)}, more than encoder_points = {self.encoder_points}"
                raise _invalid(name, problem, "They are encoder points: choose fewer")

    @property
    def latent_size(self) -> int:
        """k = K * F_token."""
        return self.tokens * self.token_size

    def to_dict(self) -> dict[str, Any]:
        """As written beside the weights."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelConfig:
        """Read back what `to_dict` gave.

        Raises:
            NeurokError: INVALID_OPTIONS where a name is unknown or missing, or a value is of no use.
        """
        known = {field.name for field in fields(cls)}
        for name in sorted(set(values) ^ known):
            raise _invalid(name, "is unknown" if name in values else "is missing", f"The names are {', '.join(sorted(known))}")
        return cls(**values)


def _invalid(name: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_OPTIONS, f"model.{name}", problem, remedy)
