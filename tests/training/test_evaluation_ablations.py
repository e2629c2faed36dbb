"""An ablation trains what its file says, for the pairs asked for, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hinges import hinges

from neurok_ros.errors import NeurokError
from training import ablations, variants
from training.data import sources
from training.variants import CONFIG, FewObjects, Variant, load_variant, train_variant

TINY = """
model:
  {width: 32, tokens: 4, token_size: 8, encoder_blocks: 1, decoder_blocks: 1, handles: 6,
   encoder_points: 40, deformation_points: 40}
training:
  {objects: 2, targets: 2, query_points: 40, warmup_steps: 2, held_out_objects: 2, log_every: 2}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.yaml"
    path.write_text(TINY)
    return path


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("file", sorted(CONFIG.glob("*/*.yaml")), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_variant_of_the_project_can_be_read_and_gets_the_same_pairs(file: Path) -> None:
    variant = load_variant(file, CONFIG / "small.yaml", 12_000)
    training = variant.settings.training
    assert training.steps * training.objects * training.targets == 12_000
    assert variant.about


def test_a_variant_changes_what_it_names_and_nothing_else(base: Path, tmp_path: Path) -> None:
    plain = load_variant(written(tmp_path, "plain", "about: nothing"), base, 80)
    more = load_variant(written(tmp_path, "more", "about: more\nmodel: {tokens: 8}"), base, 80)
    assert more.settings.training == plain.settings.training
    assert (plain.settings.model.tokens, more.settings.model.tokens) == (4, 8)
    assert plain.settings.model.width == more.settings.model.width == 32


@pytest.mark.parametrize("text", ["about: x\nmodel: {colour: 3}", "about: x\ncolour: 3"])
def test_a_misspelt_variant_is_named(text: str, base: Path, tmp_path: Path) -> None:
    with pytest.raises(NeurokError, match="colour"):
        load_variant(written(tmp_path, "wrong", text), base, 80)


def test_few_objects_are_few_in_many_poses() -> None:
    """An object's points keep their places on its parts; of three objects no fourth comes, and no pose comes twice."""
    (source,) = (found for _, found in sources("train") if found.name == "articulated/laptop")
    few = FewObjects(source, 3)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    pairs = [few.sample(rng, 64)[0] for _ in range(20)]
    moved = {round(float(np.abs(p.points1 - p.points0).max()), 5) for p in pairs}
    assert len({p.part.tobytes() for p in pairs}) <= 3
    assert len(moved) > 10


def test_a_variant_is_trained_judged_and_not_trained_again(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "sources", hinges)
    variant = load_variant(written(tmp_path, "plain", "about: nothing"), base, 8)
    result = train_variant(variant, tmp_path / "run")
    assert result["pairs"] == 8
    for split in ("held_out_instances", "held_out_categories"):
        assert all(np.isfinite(result[split][kind]) for kind in ("decoded", "reached"))
    monkeypatch.setattr(variants, "Run", None)
    assert train_variant(variant, tmp_path / "run") == json.loads(json.dumps(result))


def test_one_table_and_one_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With figures as a training leaves them."""

    def trained(variant: Variant, folder: Path) -> dict[str, object]:
        errors = {"decoded": 0.5, "reached": 0.6}
        split = {"held_out_instances": errors, "held_out_categories": errors}
        return {"about": variant.about, "parameters": 1.0, "pairs": 24, "cpu_seconds": 2.0, **split}

    monkeypatch.setattr(ablations, "train_variant", trained)
    ablations.variants(24, tmp_path)
    lines = (tmp_path / "ablations.md").read_text().splitlines()
    assert len(lines) == 2 + len(list((CONFIG / "ablations").glob("*.yaml")))
    assert {line.count("|") for line in lines} == {lines[0].count("|")}
    assert (tmp_path / "ablations.png").stat().st_size > 1000
