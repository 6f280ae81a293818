"""The documentation site: Markdown pages, and a reference made from the docstrings. `make docs` builds it, offline."""

import sys
from importlib import import_module
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

import hedgerow

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "hedgerow"
author = "The hedgerow developers"
copyright = "the hedgerow developers"  # noqa: A001 -- Sphinx's name
version = release = hedgerow.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "claims",
    "commands",
    "mathml",
    "names",
    "pages",
]
exclude_patterns = ["_templates", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

# Markdown. What stands outside docs/ is a page of the site too (docs/_ext/pages.py).
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
pages_titles = {"studies/expril/table-2": "EXPRIL: table 2", "studies/pdr/tables": "PDR: all tables"}
pages_outside = {
    "benchmarks": "benchmarks/README.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "lab": "lab/README.md",
    "datasets": "src/hedgerow/datasets/NOTICE.md",
    "security": "SECURITY.md",
}

# Notebooks are shown with the outputs that `make notebooks` stored in them.
nb_execution_mode = "off"

# Docstrings. A name in single backticks is a link if possible, and code otherwise (docs/_ext/names.py).
default_role = "name"
autodoc_typehints = "none"  # numpydoc's sections state the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False  # the templates list them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # types of other libraries are text: their sites are not there offline
DEFAULT_LINKS.clear()  # for the same reason
names_modules = [
    "hedgerow",
    "hedgerow.schema",
    "hedgerow.models",
    "hedgerow.marginals",
    "hedgerow.audit",
    "hedgerow.report",
    "hedgerow.planning",
    "hedgerow.errors",
    "hedgerow.datasets",
]
numpydoc_xref_aliases = {
    name: f"{module.__name__}.{name}"
    for module in map(import_module, reversed(names_modules))
    for name in dir(module)  # names are imported when they are used
    for value in [getattr(module, name)]
    if isinstance(value, type) and value.__module__.startswith("hedgerow") and not name.startswith("_")
}

# HTML. Everything that a page needs is in the folder: no script, font or style comes from elsewhere.
html_theme = "pydata_sphinx_theme"
html_title = "hedgerow"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
