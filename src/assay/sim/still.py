"""What stands still before a camera is drawn once and laid under the pictures that follow: no pixel changes.

Software GL spends a picture's time on the corners of meshes' triangles. Before a camera that stands still, most of them
are where they were a picture ago: to the bit, in the single precision that GL draws with. They are kept as a layer, the
colour and depth of every sample. Then only the rest is drawn, and of both, sample by sample, the nearer is seen. What
was kept is compared with all that MuJoCo draws from, as bytes: a changed colour, light or camera is seen at once.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from assay.sim.culling import Culling

STILL_FOR = 3
"""For how many pictures a thing must have stood still before it is kept."""
JOINS_AFTER = 20
"""For how many, where there is a layer already that it is not in."""
WORTH = 20_000
"""Triangles that a layer must save in each picture; a quarter of them is worth a new layer."""
MOST_PIXELS = 512 * 512
"""The largest picture of which a layer is kept."""
MOST_LAYERS = 2

Place = tuple[int, int, int]
"""A camera, and the width and height of its pictures."""

_VERTICES = """#version 150
void main() {
    gl_Position = vec4(vec2((gl_VertexID << 1) & 2, gl_VertexID & 2) * 2.0 - 1.0, 0.0, 1.0);
}"""
_FRAGMENTS = """#version 400
uniform sampler2DMS colours;
uniform sampler2DMS depths;
out vec4 colour;
void main() {
    ivec2 place = ivec2(gl_FragCoord.xy);
    colour = texelFetch(colours, place, gl_SampleID);
    gl_FragDepth = texelFetch(depths, place, gl_SampleID).r;
}"""
_OPAQUE = 0.995
"""From this share of its colour on, MuJoCo draws a geom as one that nothing is seen through."""
_UNITS = (4, 5)
"""Texture units that MuJoCo does not use."""


@dataclass
class _View:
    """What was in the last picture of a place."""

    around: bytes
    """Camera, lights, flags."""
    there: np.ndarray
    """Whether each geom was in it, (ngeom,)."""
    looks: np.ndarray
    """What was drawn of each, (ngeom, 30) numbers as they are in memory."""
    pictures: np.ndarray
    """Since how many pictures each has been as it is, (ngeom,)."""
    mirrors: np.ndarray
    """Ids of geoms in which others are seen."""
    clear: np.ndarray
    """Ids of geoms through which others are seen."""
    kept: np.ndarray | None = None
    """The geoms of the layer, (ngeom,)."""
    as_kept: np.ndarray | None = None
    """What was drawn of them."""


@dataclass(frozen=True)
class Plan:
    """How a picture is to be drawn."""

    under: np.ndarray | None = None
    """The geoms of the layer, which are not to be drawn again, (ngeom,); None where there is no layer."""
    is_new: bool = False
    """Whether the layer has to be drawn first."""


class Still:
    """The layers of one renderer, whose GL context is current; of none where GL is not software: nothing is gained."""

    def __init__(self, model: mujoco.MjModel, culling: Culling, context: Any, gl_context: Any) -> None:
        self._culling, self._context, self._gl = culling, context, gl_context
        self._views: dict[Place, _View] = {}
        self._layers: dict[Place, _Layer] = {}
        meshes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
        self._triangles = np.zeros(model.ngeom, dtype=int)
        self._triangles[meshes] = model.mesh_facenum[model.geom_dataid[meshes]]
        self._usable = (
            self._triangles.sum() >= WORTH
            and context.offSamples > 0
            and _is_software()
            and _program(gl_context) is not None
        )

    def plan(self, scene: mujoco.MjvScene, data: mujoco.MjData, place: Place) -> Plan:
        """How to draw a scene of everything, as it is in ``data``, now."""
        if not self._usable or place[1] * place[2] > MOST_PIXELS or not scene.ngeom:
            return Plan()
        drawn = _Drawn(scene)
        if not drawn.is_plain:
            self._views.pop(place, None)
            return Plan()
        size = len(self._triangles)
        there = np.zeros(size, dtype=bool)
        there[drawn.geoms] = True
        looks = np.zeros((size, drawn.looks.shape[1]), dtype=np.int32)
        looks[drawn.geoms] = drawn.looks
        view = self._views.get(place)
        if view is None or view.around != drawn.around:
            unmoved = np.zeros(size, dtype=int)
            self._views[place] = _View(drawn.around, there, looks, unmoved, drawn.mirrors, drawn.clear)
            return Plan()
        same = (there == view.there) & (looks == view.looks).all(axis=1)
        view.pictures = np.where(same, view.pictures + 1, 0)
        view.there, view.looks, view.mirrors, view.clear = there, looks, drawn.mirrors, drawn.clear
        plan = self._chosen(view)
        if plan.under is None or not self._stays(view, plan.under, data, place[0]):
            return Plan()
        return plan

    def _chosen(self, view: _View) -> Plan:
        if view.kept is not None and np.array_equal(view.looks[view.kept], np.asarray(view.as_kept)):
            joining = view.there & ~view.kept & (view.pictures >= JOINS_AFTER)
            if self._triangles[joining].sum() < WORTH / 4:
                return Plan(view.kept)
        view.kept = view.as_kept = None
        still = view.there & (view.pictures >= STILL_FOR)
        return Plan(still, is_new=True) if self._triangles[still].sum() >= WORTH else Plan()

    def _stays(self, view: _View, under: np.ndarray, data: mujoco.MjData, camera: int) -> bool:
        """Whether what else is drawn changes nothing of the layer: it is neither mirrored in it nor seen through it."""
        special = np.concatenate([view.mirrors, view.clear])
        moving = view.there & ~under
        return bool(under[special].all()) and self._culling.apart(
            data, camera, moving, view.mirrors, view.clear
        )

    def keep(self, place: Place, still: np.ndarray) -> None:
        """Keep what was just drawn, the geoms ``still`` (ngeom,), as the layer of a place."""
        if place not in self._layers:
            while len(self._layers) >= MOST_LAYERS:
                oldest = next(iter(self._layers))
                self._layers.pop(oldest).free()
                self._views.pop(oldest, None)
            self._layers[place] = _Layer(self._context, place[1], place[2])
        self._layers[place].keep(self._context)
        view = self._views[place]
        view.kept, view.as_kept = still, view.looks[still]

    def lay_under(self, place: Place) -> None:
        """Lay the layer of a place under what was just drawn."""
        program = _program(self._gl)
        assert program is not None
        self._layers[place].lay_under(self._context, program)

    def free(self) -> None:
        """Give back what GL holds."""
        while self._layers:
            self._layers.popitem()[1].free()
        self._views.clear()


class _Drawn:
    """What MuJoCo draws from: geoms as they are in memory, and everything around them."""

    def __init__(self, scene: mujoco.MjvScene) -> None:
        geoms = scene.geoms
        first = geoms[0].size.ctypes.data - _SIZE_AT
        rows = (ctypes.c_char * (scene.ngeom * _GEOM_BYTES)).from_address(first)
        found = np.frombuffer(rows, dtype=np.int32).reshape(scene.ngeom, -1)[:, :_LABEL_AT]
        self.looks = np.delete(found, _SEGMENT_AT, axis=1)
        self.geoms = found[:, 3]
        floats = found[:, _SIZE_AT // 4 :].view(np.float32)
        eye = (scene.camera[0].pos + scene.camera[1].pos) / 2
        above = ((eye - floats[:, 3:6]) * floats[:, [8, 11, 14]]).sum(axis=1)
        planes = found[:, 0] == int(mujoco.mjtGeom.mjGEOM_PLANE)
        flat = planes | (found[:, 0] == int(mujoco.mjtGeom.mjGEOM_BOX))
        self.mirrors = self.geoms[flat & (floats[:, 22] > 0)]
        self.clear = self.geoms[floats[:, 18] < _OPAQUE]
        self.is_plain = bool(
            (found[:, 2] == int(mujoco.mjtObj.mjOBJ_GEOM)).all()  # no sites that glow
            and (above[planes] > 0).all()  # planes are looked through from below
            and not any(light.castshadow for light in scene.lights[: scene.nlight])
        )
        self.around = b"".join(
            [
                scene.flags.tobytes(),
                *(_bytes(camera, _OF_CAMERAS) for camera in scene.camera),
                *(_bytes(light, _OF_LIGHTS) for light in scene.lights[: scene.nlight]),
            ]
        )


def _fields(kind: type) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if not name.startswith("_"))


_OF_CAMERAS, _OF_LIGHTS = _fields(mujoco.MjvGLCamera), _fields(mujoco.MjvLight)


def _bytes(thing: object, names: tuple[str, ...]) -> bytes:
    return b"".join(np.asarray(getattr(thing, name)).tobytes() for name in names)


_SEGMENT_AT, _SIZE_AT, _LABEL_AT = 7, 32, 31
"""In MuJoCo's struct of a geom: the eighth number is for segmentations alone; size begins at byte 32; after 31 numbers,
the last ones being looks and reflectance, the label begins."""


def _geom_bytes() -> int:
    """How many bytes a geom of a scene has; a test holds that its numbers are where they are read."""
    scene = mujoco.MjvScene(mujoco.MjModel.from_xml_string("<mujoco/>"), maxgeom=2)
    return int(scene.geoms[1].size.ctypes.data - scene.geoms[0].size.ctypes.data)


_GEOM_BYTES = _geom_bytes()


class _Layer:
    """Colour and depth of every sample of a picture, in GL."""

    def __init__(self, context: Any, width: int, height: int) -> None:
        from OpenGL import GL

        self._width, self._height = width, height
        self._textures = [int(glgentexture) for glgentexture in GL.glGenTextures(2)]
        for texture, buffer in zip(self._textures, (context.offColor, context.offDepthStencil), strict=True):
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, buffer)
            form = GL.glGetRenderbufferParameteriv(GL.GL_RENDERBUFFER, GL.GL_RENDERBUFFER_INTERNAL_FORMAT)
            GL.glBindTexture(GL.GL_TEXTURE_2D_MULTISAMPLE, texture)
            GL.glTexImage2DMultisample(
                GL.GL_TEXTURE_2D_MULTISAMPLE, context.offSamples, form, width, height, GL.GL_TRUE
            )
        GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, 0)
        GL.glBindTexture(GL.GL_TEXTURE_2D_MULTISAMPLE, 0)
        self._buffer = int(GL.glGenFramebuffers(1))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._buffer)
        for texture, part in zip(
            self._textures, (GL.GL_COLOR_ATTACHMENT0, GL.GL_DEPTH_STENCIL_ATTACHMENT), strict=True
        ):
            GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, part, GL.GL_TEXTURE_2D_MULTISAMPLE, texture, 0)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, context.offFBO)

    def keep(self, context: Any) -> None:
        from OpenGL import GL

        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, context.offFBO)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, self._buffer)
        area = (0, 0, self._width, self._height)
        GL.glBlitFramebuffer(*area, *area, GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT, GL.GL_NEAREST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, context.offFBO)

    def lay_under(self, context: Any, program: int) -> None:
        from OpenGL import GL

        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, context.offFBO)
        GL.glPushAttrib(GL.GL_ALL_ATTRIB_BITS)
        for off in (GL.GL_CULL_FACE, GL.GL_BLEND, GL.GL_ALPHA_TEST):
            GL.glDisable(off)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glDepthMask(True)
        GL.glDepthFunc(GL.GL_GREATER)  # MuJoCo's depth is 1 at the near plane
        GL.glViewport(0, 0, self._width, self._height)
        for unit, texture in zip(_UNITS, self._textures, strict=True):
            GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
            GL.glBindTexture(GL.GL_TEXTURE_2D_MULTISAMPLE, texture)
        GL.glUseProgram(program)
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)
        GL.glUseProgram(0)
        for unit in _UNITS:
            GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
            GL.glBindTexture(GL.GL_TEXTURE_2D_MULTISAMPLE, 0)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glPopAttrib()

    def free(self) -> None:
        from OpenGL import GL

        GL.glDeleteFramebuffers(1, [self._buffer])
        GL.glDeleteTextures(self._textures)


_PROGRAMS: weakref.WeakKeyDictionary[Any, int | None] = weakref.WeakKeyDictionary()
"""GL context -> the program that lays a layer under a picture; None where it cannot be had."""


def _program(gl_context: Any) -> int | None:
    if gl_context not in _PROGRAMS:
        from OpenGL.error import Error

        try:
            _PROGRAMS[gl_context] = _compiled()
        except (
            Error,
            RuntimeError,
        ):  # an old GL: then every picture is drawn whole, which gives the same one
            _PROGRAMS[gl_context] = None
    return _PROGRAMS[gl_context]


def _compiled() -> int:
    from OpenGL import GL
    from OpenGL.GL import shaders

    parts = ((_VERTICES, GL.GL_VERTEX_SHADER), (_FRAGMENTS, GL.GL_FRAGMENT_SHADER))
    made = shaders.compileProgram(*(shaders.compileShader(*part) for part in parts), validate=False)
    GL.glUseProgram(made)
    for name, unit in zip(("colours", "depths"), _UNITS, strict=True):
        GL.glUniform1i(GL.glGetUniformLocation(made, name), unit)
    GL.glUseProgram(0)
    return int(made)


def _is_software() -> bool:
    """Whether the current GL is Mesa's own, and new enough."""
    from OpenGL import GL

    who, version = (GL.glGetString(name) or b"" for name in (GL.GL_RENDERER, GL.GL_VERSION))
    return b"llvmpipe" in who and version[:1] >= b"4"
