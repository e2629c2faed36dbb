"""The active subspace of maps whose important directions are known."""

from __future__ import annotations

import pytest
import torch

from neurok_ros.kinematics.neurok.subspace import ActiveSubspace, Gradient, active_subspace, joined, principal_motions

GENERATOR = torch.Generator().manual_seed(0)
DIRECTIONS = torch.linalg.qr(torch.randn(12, 12, generator=GENERATOR).double())[0]
CRITERIA: tuple[Gradient, ...] = ("displacement", "kinetic")


def inside(directions: torch.Tensor, basis: torch.Tensor) -> torch.Tensor:
    """The length of each column's projection into the span of an orthonormal basis."""
    return (basis.T @ directions).norm(dim=0)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_directions_that_move_nothing_are_left_out(criterion: Gradient) -> None:
    """A pendulum's angle and a drawer's travel depend on two directions of twelve, whatever the other ten are."""
    angle_way, travel_way = DIRECTIONS[:, 0], DIRECTIONS[:, 1]

    def displacements(z: torch.Tensor) -> torch.Tensor:
        angle, travel = z @ angle_way, z @ travel_way
        zero = torch.zeros_like(angle)
        pendulum = torch.stack([angle.sin(), zero, 1 - angle.cos()], dim=-1)
        return torch.stack([pendulum, torch.stack([zero, travel, zero], dim=-1)], dim=1)

    found = active_subspace(displacements, torch.zeros(12).double(), torch.ones(2), 2, criterion)
    torch.testing.assert_close(inside(DIRECTIONS[:, :2], found.basis), torch.ones(2).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(found.importance.sum(), torch.tensor(1.0).double(), rtol=0, atol=1e-12)


def test_kinetic_importance_is_the_mass_matrix() -> None:
    """Of a linear map it is B^T M B: with orthogonal columns, mass times squared column lengths; 4096 samples, 5 % noise."""
    masses = torch.tensor([1.0, 4.0, 0.25], dtype=torch.float64)
    lengths = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)

    def displacements(z: torch.Tensor) -> torch.Tensor:
        return torch.diag_embed((z @ DIRECTIONS[:, :3]) * lengths)

    found = active_subspace(displacements, torch.zeros(12).double(), masses, 3, "kinetic", samples=4096)
    expected = masses * lengths**2
    order = expected.argsort(descending=True)
    torch.testing.assert_close(found.importance, (expected / expected.sum())[order], rtol=0.1, atol=0)
    overlap = (found.basis.T @ DIRECTIONS[:, :3][:, order]).abs()
    torch.testing.assert_close(overlap.diagonal(), torch.ones(3).double(), rtol=0, atol=0.02)


def test_basis_is_orthonormal_and_repeatable() -> None:
    def displacements(z: torch.Tensor) -> torch.Tensor:
        return (z @ DIRECTIONS).tanh().reshape(-1, 4, 3)

    both = [active_subspace(displacements, torch.ones(12).double(), torch.ones(4), 5, "kinetic") for _ in range(2)]
    torch.testing.assert_close(both[0].basis.T @ both[0].basis, torch.eye(5).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close(both[0].basis, both[1].basis, rtol=0, atol=0)


def test_principal_motions_of_a_linear_map_are_its_singular_vectors() -> None:
    """Two masses move along two directions of twelve, by other lengths; 4096 states, so that they are uncorrelated to 2 %."""
    masses = torch.tensor([1.0, 4.0, 0.25, 1.0], dtype=torch.float64)
    lengths = torch.tensor([3.0, 1.0], dtype=torch.float64)
    latents = torch.randn(4096, 12, generator=torch.Generator().manual_seed(1)).double()
    along = (latents @ DIRECTIONS[:, :2]) * lengths
    displacements = torch.zeros(4096, 4, 3).double()
    displacements[:, 0, 2], displacements[:, 1, 0] = along[:, 0], along[:, 1]
    found = principal_motions(latents, displacements, masses, 2)
    expected = masses[:2] * lengths**2
    torch.testing.assert_close(found.importance, expected / expected.sum(), rtol=0.1, atol=0)
    overlap = (found.basis.T @ DIRECTIONS[:, :2]).abs()
    torch.testing.assert_close(overlap.diagonal(), torch.ones(2).double(), rtol=0, atol=0.02)
    torch.testing.assert_close(found.basis.T @ found.basis, torch.eye(2).double(), rtol=0, atol=1e-12)


def test_gradients_add_to_the_first_motions_what_these_lack() -> None:
    importance = torch.full((3,), 1 / 3).double()
    motions, gradients = (ActiveSubspace(DIRECTIONS[:, i], importance) for i in ([0, 1, 2], [1, 5, 6]))
    found = joined(motions, gradients, 3)
    torch.testing.assert_close(inside(DIRECTIONS[:, [0, 1, 5]], found.basis), torch.ones(3).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(found.basis.T @ found.basis, torch.eye(3).double(), rtol=0, atol=1e-12)
