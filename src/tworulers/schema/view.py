"""What one stage sees of the settings: those that it declares, read-only, and an error for all others."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from tworulers.schema.settings import Settings

Group = TypeVar("Group")
Names = dict[str, Any]
"""Names that may be read, nested as settings are; a name that leads to none below it stands for all of them."""

ABOUT = "_of"
"""Where a view keeps which stage reads it, and where in the settings it stands."""


class UndeclaredSettingError(RuntimeError):
    """A stage reads a setting that its wiring does not name, or writes to one."""


def view_settings(settings: Settings, stage: str, names: Iterable[str]) -> Settings:
    """Return the part of all settings that a stage declares, as settings that refuse to tell the rest.

    Parameters
    ----------
    settings : all of them.
    stage : whose view it is, for the error.
    names : dotted names of values or whole groups.

    Raises
    ------
    UndeclaredSettingError : later, on reading or writing anything else; it names the stage and the setting.
    """
    return _view(settings, _nest(names), stage, "")


def list_readable(group: Any) -> dict[str, Any]:
    """List the values of a group of settings by name: all, or those that a view of it may tell."""
    known = object.__getattribute__(group, "__dict__")
    return {field.name: known[field.name] for field in fields(group) if field.name in known}


def change_settings(settings: Group, **values: Any) -> Group:
    """Return settings with other values of some fields; a view stays one."""
    made = object.__new__(type(settings))
    object.__getattribute__(made, "__dict__").update(
        object.__getattribute__(settings, "__dict__") | values
    )
    return made


def _nest(names: Iterable[str]) -> Names:
    nested: Names = {}
    for name in sorted(names):  # a group before its values
        *parents, last = name.split(".")
        place: Names | None = nested
        for parent in parents:
            place = place.setdefault(parent, {}) if place is not None else None
        if place is not None:
            place[last] = None
    return nested


def _view(whole: Group, names: Names | None, stage: str, prefix: str) -> Group:
    values = {
        field.name: _view_value(getattr(whole, field.name), names, field.name, stage, prefix)
        for field in fields(cast(Any, whole))
        if names is None or field.name in names
    }
    return cast(Group, _restore(type(whole), {**values, ABOUT: (stage, prefix)}))


def _view_value(value: Any, names: Names | None, name: str, stage: str, prefix: str) -> Any:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return _view(value, None if names is None else names[name], stage, f"{prefix}{name}.")


def _restore(kind: type, content: Mapping[str, Any]) -> Any:
    view: Any = object.__new__(_guard(kind))
    object.__getattribute__(view, "__dict__").update(content)
    return view


@cache
def _guard(kind: type) -> type:
    """Make the class of views of a class of settings."""
    known = frozenset(field.name for field in fields(kind))

    def read(self: Any, name: str) -> Any:
        content = object.__getattribute__(self, "__dict__")
        if name in known and name not in content:
            stage, prefix = content[ABOUT]
            raise UndeclaredSettingError(
                f"{stage} reads {prefix}{name}, which its row in tworulers/runner/graph/table.py does not name: add it "
                "there and run ./scripts/write_graph"
            )
        return object.__getattribute__(self, name)

    def write(self: Any, name: str, _: Any) -> None:
        stage, prefix = object.__getattribute__(self, "__dict__")[ABOUT]
        raise UndeclaredSettingError(f"{stage} writes to {prefix}{name}; settings are only read")

    def reduce(self: Any) -> Any:
        return _restore, (kind, object.__getattribute__(self, "__dict__"))

    def show(self: Any) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in list_readable(self).items())
        return f"{kind.__name__}({told})"

    def equal(self: Any, other: Any) -> bool:
        return isinstance(other, kind) and list_readable(self) == list_readable(other)

    return type(
        kind.__name__,
        (kind,),
        {
            "__repr__": show,
            "__eq__": equal,
            "__hash__": None,
            "__getattribute__": read,
            "__setattr__": write,
            "__reduce__": reduce,
            # What is made of a whole view by `dataclasses.replace` is no view.
            "__class__": property(lambda _: kind),
            "__module__": kind.__module__,
        },
    )
