"""The learned kinematic state parameterization: NeuROK's encoders, decoder and active subspace."""

from neurok_ros.kinematics.neurok.checkpoint import load_model, save_model
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.learned import NeurokKinematics, neurok_kinematics
from neurok_ros.kinematics.neurok.model import NeurokModel

__all__ = ["ModelConfig", "NeurokKinematics", "NeurokModel", "load_model", "neurok_kinematics", "save_model"]
