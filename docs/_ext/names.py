"""Names in docstrings: `fit`, `Schema`, `epsilon` in single backticks become links if possible, and code otherwise."""

from functools import cached_property
from types import BuiltinFunctionType, ClassMethodDescriptorType, GetSetDescriptorType, MethodDescriptorType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole

_IN_C = (BuiltinFunctionType, ClassMethodDescriptorType, GetSetDescriptorType, MethodDescriptorType)
"""Names that a class inherits from Python's own types, such as `int`."""


class _Name(XRefRole):
    """A reference that need not lead anywhere."""

    def process_link(self, env: BuildEnvironment, refnode: nodes.Element, *rest: Any) -> tuple[str, str]:
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        return super().process_link(env, refnode, *rest)


def _resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Node | None:
    """Look up a name in its class, its module and the public names; unknown names are code."""
    if node["reftype"] != "name":
        return None
    domain, name = env.domains.python_domain, node["reftarget"]
    module = node["py:module"] or "hedgerow"
    places = [f"{module}.{node['py:class']}", module, *app.config.names_modules]
    for full in (f"{place}.{name}" for place in places):
        if full in domain.objects:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, content)
    return content


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001
    """Leave out names that a class inherits from Python's types and other libraries: they are documented there."""
    if isinstance(member, _IN_C):
        return True
    if isinstance(member, (property, cached_property)):
        member = member.fget if isinstance(member, property) else member.func
    module = getattr(getattr(member, "__func__", member), "__module__", None)
    return True if isinstance(module, str) and not module.startswith("hedgerow") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role "name", the modules that it searches, and the names that the reference leaves out."""
    app.add_config_value("names_modules", [], "env")
    app.add_role("name", _Name())
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
