"""Cache the image of a view's static geoms and composite it with later images, without changing a pixel.

Terms used in this module:

    view      a camera with the width and height of its image; `Place` is its key
    static    property of a geom (mask ``still``): bit-identical in MuJoCo's scene for the last images of a view
    layer     the cached image of a view's static geoms: colour and depth of every sample of the multisampled
              framebuffer

With software GL, processing mesh vertices takes most of the rendering time, and most geoms in front of a fixed
camera are static. Once a view has a layer, only the other geoms are rendered. A fragment shader then draws the
layer with the depth test on, so that in every sample the nearer surface wins, as if all geoms had been rendered
together.

A layer is discarded when anything from which it was rendered changes (poses, colours, lights, camera). Changes are
detected by comparing the raw bytes of MuJoCo's scene. Layers are not used where they could be wrong: with shadows,
with reflecting geoms in the image, and where a moving geom is seen through a transparent one.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from assay.sim.culling import Culling

STATIC_AFTER = 3
"""Number of successive images in which a geom must be unchanged to be included in a new layer."""
MIN_TRIANGLES = 20_000
"""Minimum number of triangles in a layer."""
MAX_PIXELS = 512 * 512
"""Maximum number of pixels in an image for layers to be used."""
MAX_LAYERS = 2

Place = tuple[int, int, int]
"""Key of a view: camera id, image width and image height, in pixels."""

# One triangle that covers the whole viewport, from the vertex number alone.
_VERTICES = """#version 150
void main() {
    gl_Position = vec4(vec2((gl_VertexID << 1) & 2, gl_VertexID & 2) * 2.0 - 1.0, 0.0, 1.0);
}"""
# gl_SampleID makes the shader run once per sample: each gets its own colour and depth.
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
"""Alpha value at and above which MuJoCo draws a geom as opaque."""
_UNITS = (4, 5)
"""Texture units that MuJoCo does not use."""


@dataclass
class _ViewState:
    """Content of the last image of a view."""

    around: bytes
    """Camera, lights and flags, as bytes."""
    there: np.ndarray
    """Mask of the geoms in the image, (ngeom,)."""
    looks: np.ndarray
    """Raw memory of MuJoCo's struct for each geom, (ngeom, 30) int32."""
    pictures: np.ndarray
    """Number of successive images in which each geom has been unchanged, (ngeom,)."""
    kept: np.ndarray | None = None
    """Mask of the geoms in the view's layer, (ngeom,); None without a layer."""
    as_kept: np.ndarray | None = None
    """Structs of the layer's geoms when the layer was rendered."""


@dataclass(frozen=True)
class RenderPlan:
    """How to render an image: completely, or on top of a stored layer that shows the static geoms."""

    under: np.ndarray | None = None
    """Mask of the geoms in the layer, which need not be rendered again, (ngeom,); None without a layer."""
    is_new: bool = False
    """Whether the layer has to be rendered first."""


class Still:
    """The layers of one renderer, whose GL context must be current; not used with hardware GL."""

    def __init__(self, model: mujoco.MjModel, culling: Culling, context: Any, gl_context: Any) -> None:
        self._culling, self._context, self._gl = culling, context, gl_context
        self._views: dict[Place, _ViewState] = {}
        self._layers: dict[Place, _StaticLayer] = {}
        meshes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
        self._triangles = np.zeros(model.ngeom, dtype=int)
        self._triangles[meshes] = model.mesh_facenum[model.geom_dataid[meshes]]
        self._usable = (
            self._triangles.sum() >= MIN_TRIANGLES
            and context.offSamples > 0
            and _is_software()
            and _program(gl_context) is not None
        )

    def plan(self, scene: mujoco.MjvScene, data: mujoco.MjData, place: Place) -> RenderPlan:
        """Decide how to render a view of a scene that contains all geoms, with the poses in ``data``."""
        if not self._usable or place[1] * place[2] > MAX_PIXELS or not scene.ngeom:
            return RenderPlan()
        drawn = _SceneBytes(scene)
        if not drawn.is_plain:
            self._views.pop(place, None)
            return RenderPlan()
        size = len(self._triangles)
        there = np.zeros(size, dtype=bool)
        there[drawn.geoms] = True
        looks = np.zeros((size, drawn.looks.shape[1]), dtype=np.int32)
        looks[drawn.geoms] = drawn.looks
        view = self._views.get(place)
        if view is None or view.around != drawn.around:
            unmoved = np.zeros(size, dtype=int)
            self._views[place] = _ViewState(drawn.around, there, looks, unmoved)
            return RenderPlan()
        same = (there == view.there) & (looks == view.looks).all(axis=1)
        view.pictures = np.where(same, view.pictures + 1, 0)
        view.there, view.looks = there, looks
        under, is_new = view.kept, False
        if under is None or not np.array_equal(looks[under], np.asarray(view.as_kept)):
            view.kept = view.as_kept = None
            under, is_new = there & (view.pictures >= STATIC_AFTER), True
            if self._triangles[under].sum() < MIN_TRIANGLES:
                return RenderPlan()
        # A layer is wrong if a moving geom is seen through it: render such images completely.
        is_valid = under[drawn.clear].all() and self._culling.is_separate(
            data, place[0], there & ~under, drawn.clear
        )
        return RenderPlan(under, is_new) if is_valid else RenderPlan()

    def keep(self, place: Place, still: np.ndarray) -> None:
        """Store the image just rendered, showing the geoms in the mask ``still`` (ngeom,), as a view's layer."""
        if place not in self._layers:
            while len(self._layers) >= MAX_LAYERS:
                oldest = next(iter(self._layers))
                self._layers.pop(oldest).free()
                self._views.pop(oldest, None)
            self._layers[place] = _StaticLayer(self._context, place[1], place[2])
        self._layers[place].keep(self._context)
        view = self._views[place]
        view.kept, view.as_kept = still, view.looks[still]

    def composite(self, place: Place) -> None:
        """Draw a view's layer behind the image just rendered."""
        program = _program(self._gl)
        assert program is not None
        self._layers[place].composite(self._context, program)

    def free(self) -> None:
        """Release the layers' GL resources."""
        while self._layers:
            self._layers.popitem()[1].free()
        self._views.clear()


class _SceneBytes:
    """Raw memory of MuJoCo's abstract scene: its geoms, and its camera, lights and flags."""

    def __init__(self, scene: mujoco.MjvScene) -> None:
        geoms = scene.geoms
        first = geoms[0].size.ctypes.data - _SIZE_AT
        rows = (ctypes.c_char * (scene.ngeom * _GEOM_BYTES)).from_address(first)
        structs = np.frombuffer(rows, dtype=np.int32).reshape(scene.ngeom, -1)[:, :_LABEL_AT]
        self.looks = np.delete(structs, _SEGMENT_AT, axis=1)
        self.geoms = structs[:, 3]
        floats = structs[:, _SIZE_AT // 4 :].view(np.float32)
        eye = (scene.camera[0].pos + scene.camera[1].pos) / 2
        above = ((eye - floats[:, 3:6]) * floats[:, [8, 11, 14]]).sum(axis=1)
        planes = structs[:, 0] == int(mujoco.mjtGeom.mjGEOM_PLANE)
        flat = planes | (structs[:, 0] == int(mujoco.mjtGeom.mjGEOM_BOX))
        self.clear = self.geoms[floats[:, 18] < _OPAQUE]
        """Ids of transparent geoms."""
        self.is_plain = bool(
            (structs[:, 2] == int(mujoco.mjtObj.mjOBJ_GEOM)).all()  # no glowing sites
            and (above[planes] > 0).all()  # seen from below, planes are transparent
            and not (flat & (floats[:, 22] > 0)).any()  # no mirrors
            and not any(light.castshadow for light in scene.lights[: scene.nlight])
        )
        self.around = b"".join(
            [
                scene.flags.tobytes(),
                *(_bytes(camera, _OF_CAMERAS) for camera in scene.camera),
                *(_bytes(light, _OF_LIGHTS) for light in scene.lights[: scene.nlight]),
            ]
        )


_OF_CAMERAS, _OF_LIGHTS = (
    tuple(name for name in dir(kind) if not name.startswith("_"))
    for kind in (mujoco.MjvGLCamera, mujoco.MjvLight)
)


def _bytes(struct: object, names: tuple[str, ...]) -> bytes:
    return b"".join(np.asarray(getattr(struct, name)).tobytes() for name in names)


_SEGMENT_AT, _SIZE_AT, _LABEL_AT = 7, 32, 31
"""Offsets in ``mjvGeom``, in units of 4 bytes or, for ``size``, in bytes.

The number at index 7 is used only for segmentation, ``size`` begins at byte 32, and the label is preceded by 31
numbers, of which the last are colours and reflectance.
"""


_scene = mujoco.MjvScene(mujoco.MjModel.from_xml_string("<mujoco/>"), maxgeom=2)
_GEOM_BYTES = int(_scene.geoms[1].size.ctypes.data - _scene.geoms[0].size.ctypes.data)
"""Size of ``mjvGeom`` in bytes; a test checks the struct's layout."""


class _StaticLayer:
    """A layer: colour and depth of every sample of an image, as multisample textures."""

    def __init__(self, context: Any, width: int, height: int) -> None:
        from OpenGL import GL

        self._width, self._height = width, height
        self._textures = [int(texture) for texture in GL.glGenTextures(2)]
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
        """Copy the current framebuffer into the layer, sample by sample."""
        from OpenGL import GL

        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, context.offFBO)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, self._buffer)
        area = (0, 0, self._width, self._height)
        GL.glBlitFramebuffer(*area, *area, GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT, GL.GL_NEAREST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, context.offFBO)

    def composite(self, context: Any, program: int) -> None:
        """Draw the layer into the framebuffer where it is nearer than the existing content."""
        from OpenGL import GL

        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, context.offFBO)
        # MuJoCo uses the fixed-function pipeline and expects its state to be untouched.
        GL.glPushAttrib(GL.GL_ALL_ATTRIB_BITS)
        for off in (GL.GL_CULL_FACE, GL.GL_BLEND, GL.GL_ALPHA_TEST):
            GL.glDisable(off)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glDepthMask(True)
        GL.glDepthFunc(GL.GL_GREATER)  # MuJoCo reverses depth: 1 is the near plane
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
"""GL context -> the program that composites a layer; None if GL is too old for it."""


def _program(gl_context: Any) -> int | None:
    if gl_context not in _PROGRAMS:
        from OpenGL import GL
        from OpenGL.error import Error
        from OpenGL.GL import shaders

        parts = ((_VERTICES, GL.GL_VERTEX_SHADER), (_FRAGMENTS, GL.GL_FRAGMENT_SHADER))
        try:
            program = shaders.compileProgram(
                *(shaders.compileShader(*part) for part in parts), validate=False
            )
            GL.glUseProgram(program)
            for name, unit in zip(("colours", "depths"), _UNITS, strict=True):
                GL.glUniform1i(GL.glGetUniformLocation(program, name), unit)
            GL.glUseProgram(0)
            _PROGRAMS[gl_context] = int(program)
        except (Error, RuntimeError):  # an old GL: every image is rendered completely, with the same result
            _PROGRAMS[gl_context] = None
    return _PROGRAMS[gl_context]


def _is_software() -> bool:
    """Return whether the current GL renderer is Mesa's software renderer (llvmpipe), version 4 or later."""
    from OpenGL import GL

    renderer, version = (GL.glGetString(name) or b"" for name in (GL.GL_RENDERER, GL.GL_VERSION))
    return b"llvmpipe" in renderer and version[:1] >= b"4"
