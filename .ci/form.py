"""The one form in which notebooks are kept: what differs from run to run, or from editor to editor,
is taken out."""

from nbstripout import strip_output

VARYING_KEYS = """
    metadata.papermill metadata.signature metadata.widgets metadata.language_info.version
    cell.metadata.papermill cell.metadata.collapsed cell.metadata.editable cell.metadata.ExecuteTime
    cell.metadata.execution cell.metadata.heading_collapsed cell.metadata.hidden cell.metadata.jupyter
    cell.metadata.scrolled cell.metadata.slideshow cell.metadata.trusted
"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def put_in_form(notebook):
    """Strip a notebook in place, outputs, counts and cells' ids kept; every environment's
    kernel is one."""
    strip_output(
        notebook, keep_output=True, keep_count=True, keep_id=True, extra_keys=VARYING_KEYS.split()
    )
    notebook.metadata["kernelspec"] = dict(KERNEL)
    for cell in notebook["cells"]:
        if not cell["metadata"].get("tags", True):
            del cell["metadata"]["tags"]  # papermill gives each cell an empty list
