"""Reading one region of a task file.

(cabinet_region
  (:target main_table)
  (:ranges ((0.02 -0.25 0.04 -0.23)))
  (:yaw_rotation ((3.141592653589793 3.141592653589793)))
  (:rgba (0 0 1 0.5)))
"""

from __future__ import annotations

from assay.errors import did_you_mean
from assay.tasks.bddl.sexpr import Group, Node, as_group, as_word, fail
from assay.tasks.checks import quoted, rectangle_flaw
from assay.tasks.numbers import evaluate, expressions
from assay.tasks.scene import Rectangle, Region

ATTRIBUTES = (":target", ":ranges", ":yaw_rotation", ":rgba")
"""What can be said about a region."""


def region_from(group: Group) -> Region:
    """The region that a group states. Raises BDDLError with the line, without the file."""
    if not group.items:
        raise fail("'()' is not a region", group)
    name = as_word(group.items[0], "the name of a region").text.lower()
    attributes = _attributes(group, name)
    if ":target" not in attributes:
        raise fail(f"region {quoted(name)} has no ':target'", group)
    target = as_word(_value(attributes[":target"], "the name of a thing"), "the name of a thing").text.lower()
    rectangles: tuple[Rectangle, ...] = ()
    yaw: tuple[float, float] | None = None
    rgba: tuple[float, float, float, float] | None = None
    if ":ranges" in attributes:
        rectangles = _rectangles(attributes[":ranges"])
    if ":yaw_rotation" in attributes:
        yaw = _yaw(attributes[":yaw_rotation"])
    if ":rgba" in attributes:
        rgba = _rgba(attributes[":rgba"])
    return Region(name, target, rectangles, yaw, rgba)


def _attributes(group: Group, name: str) -> dict[str, Group]:
    found: dict[str, Group] = {}
    for node in group.rest:
        attribute = as_group(node, f"an attribute of region {quoted(name)} in parentheses")
        if attribute.head not in ATTRIBUTES:
            nearest = did_you_mean(attribute.head[:80], ATTRIBUTES)
            raise fail(
                f"region {quoted(name)} has an unknown attribute {quoted(attribute.head)}; {nearest}",
                attribute,
            )
        if attribute.head in found:
            raise fail(f"region {quoted(name)} has '{attribute.head}' twice", attribute)
        found[attribute.head] = attribute
    return found


def _rectangles(group: Group) -> tuple[Rectangle, ...]:
    shape = "((x_min y_min x_max y_max) ...)"
    listed = as_group(_value(group, shape), shape)
    if not listed.items:
        raise fail(f"':ranges' is empty: it takes {shape}", group)
    rectangles: list[Rectangle] = []
    for node in listed.items:
        corners = as_group(node, "(x_min y_min x_max y_max)")
        rectangle = Rectangle(*_numbers(corners, 4))
        reason = rectangle_flaw(rectangle)
        if reason is not None:
            raise fail(reason, corners)
        rectangles.append(rectangle)
    return tuple(rectangles)


def _yaw(group: Group) -> tuple[float, float]:
    pairs = as_group(_value(group, "((low high))"), "((low high))")
    if len(pairs.items) != 1:
        raise fail(f"':yaw_rotation' takes one pair ((low high)), not {len(pairs.items)}", group)
    low, high = _numbers(as_group(pairs.items[0], "(low high)"), 2)
    return low, high


def _rgba(group: Group) -> tuple[float, float, float, float]:
    red, green, blue, alpha = _numbers(as_group(_value(group, "(r g b a)"), "(r g b a)"), 4)
    return red, green, blue, alpha


def _numbers(group: Group, count: int) -> list[float]:
    words = [as_word(node, "a number") for node in group.items]
    found = expressions(word.text for word in words)
    if len(found) != count:
        raise fail(f"expected {count} numbers, found {len(found)}", group)
    numbers: list[float] = []
    for text in found:
        try:
            numbers.append(evaluate(text))
        except ValueError as error:
            raise fail(f"{quoted(text)} {error}", group) from None
    return numbers


def _value(attribute: Group, expected: str) -> Node:
    if len(attribute.rest) != 1:
        raise fail(f"'{attribute.head}' takes {expected} and nothing else", attribute)
    return attribute.rest[0]
