"""A policy that knows things by their colour."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed, renamed
from assay.policies.control import control
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex
from assay.tasks import Goal, Instruction


class Colour(Flawed):
    """Flaw: takes whatever has the colour that the thing had in the control.

    Between things of one colour it takes the one of the right name, so that it solves the control.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The task's, with what has the learnt colours instead of what was meant."""
        asked = super().goal(instruction, spec)
        usual = control(spec, self._states).simulation.compiled
        things = {atom.arguments[0] for atom in asked.atoms}
        learnt = {
            name: colour_of(usual.model, usual.entities[name])
            for name in things
            if name in usual.entities and usual.entities[name].movable
        }
        return renamed(asked, {name: self._looking_like(colour, name) for name, colour in learnt.items()})

    def _looking_like(self, colour: np.ndarray, name: str) -> str:
        """The movable thing whose colour is nearest to one (3,)."""
        model = self._simulation.model
        distances = {
            entity.name: (
                round(float(np.linalg.norm(colour_of(model, entity) - colour)), 4),
                entity.name != name,
            )
            for entity in self.movables()
        }
        return min(distances, key=lambda other: distances[other])


def colour_of(model: mujoco.MjModel, entity: EntityIndex) -> np.ndarray:
    """The mean colour of an entity's visible geoms, weighted by size: red, green, blue in 0..1, (3,)."""
    geoms = [geom for geom in range(model.ngeom) if model.body_rootid[model.geom_bodyid[geom]] == entity.body]
    shown = [geom for geom in geoms if geom not in entity.geoms] or geoms
    sizes = [float(np.sort(model.geom_aabb[geom, 3:])[1:].prod()) for geom in shown]
    return np.average([_geom_colour(model, geom) for geom in shown], axis=0, weights=sizes)


def _geom_colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = model.geom_matid[geom]
    if material < 0:
        return np.asarray(model.geom_rgba[geom, :3])
    colour = np.asarray(model.mat_rgba[material, :3])
    texture = model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
    if texture < 0:
        return colour
    start = model.tex_adr[texture]
    channels = int(model.tex_nchannel[texture])
    pixels = model.tex_data[start : start + model.tex_height[texture] * model.tex_width[texture] * channels]
    return np.asarray(colour * pixels.reshape(-1, channels)[:, :3].mean(axis=0) / 255)
