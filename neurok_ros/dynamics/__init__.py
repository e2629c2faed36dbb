"""Lagrangian mechanics over any kinematic state parameterization."""

from neurok_ros.dynamics.body import Body, Material
from neurok_ros.dynamics.contact import contact_resolution
from neurok_ros.dynamics.frame import Frame
from neurok_ros.dynamics.integrator import SolverSettings
from neurok_ros.dynamics.jointed import Jointed
from neurok_ros.dynamics.joints import elastic_sites, rigid_share
from neurok_ros.dynamics.loads import AppliedForce, Hold, PointSprings, Schedule, Springs
from neurok_ros.dynamics.rollout import Conditions, simulate
from neurok_ros.dynamics.self_contact import Parts
from neurok_ros.dynamics.state_space import CoordinateDamping, CoordinateLimits, DistanceLimit, KineticDamping, StatePrior
from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape, checked_push, signed_distance

__all__ = [
    "AppliedForce",
    "Body",
    "Conditions",
    "CoordinateDamping",
    "CoordinateLimits",
    "DistanceLimit",
    "Frame",
    "Hold",
    "Jointed",
    "KineticDamping",
    "Material",
    "Parts",
    "PointSprings",
    "Schedule",
    "SolverSettings",
    "Springs",
    "StatePrior",
    "ToolKind",
    "ToolPath",
    "ToolShape",
    "checked_push",
    "contact_resolution",
    "elastic_sites",
    "rigid_share",
    "signed_distance",
    "simulate",
]
