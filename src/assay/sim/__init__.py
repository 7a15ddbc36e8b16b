"""LIBERO's world on MuJoCo: asset packs, compiled scenes, simulation, observations and predicates.

simulation = Simulation(compile_scene(task.scene, load_pack("primitives")))
observation = simulation.reset(simulation.sample(seed=0))
observation = simulation.step(action)
"""

from assay.sim.bare_mujoco import MUJOCO_VERSION
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.observation import Observation
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState

__all__ = [
    "MUJOCO_VERSION",
    "CompiledScene",
    "InitialState",
    "Observation",
    "Simulation",
    "compile_scene",
    "load_pack",
]
