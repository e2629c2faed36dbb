"""The learned kinematic state parameterization: NeuROK's encoders, decoder and reduction."""

from neurok_ros.kinematics.neurok.checkpoint import load_model, save_model
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.familiarity import Familiarity, familiarity
from neurok_ros.kinematics.neurok.installed import installed_model, is_installed
from neurok_ros.kinematics.neurok.learned import COORDINATES, NeurokKinematics, neurok_kinematics
from neurok_ros.kinematics.neurok.model import NeurokModel

__all__ = [
    "COORDINATES",
    "Familiarity",
    "ModelConfig",
    "NeurokKinematics",
    "NeurokModel",
    "familiarity",
    "installed_model",
    "is_installed",
    "load_model",
    "neurok_kinematics",
    "save_model",
]
