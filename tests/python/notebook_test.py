"""The notebook of the documents runs, and the repository has it without outputs."""

import nbclient
import nbformat
import pytest
from kit import PATIENCE, SOURCE

NOTEBOOK = SOURCE / "docs" / "guide" / "links" / "python.ipynb"


@pytest.fixture(scope="module")
def executed():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    return notebook


def shown(notebook, begin):
    """The forms in which the cell shows its value."""
    cell = next(c for c in notebook.cells if c.cell_type == "code" and begin in c.source)
    values = [out for out in cell.outputs if out.output_type == "execute_result"]
    return values[0]["data"] if values else {}


def test_it_has_no_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_every_cell_runs(executed):
    for cell in executed.cells:
        if cell.cell_type == "code":
            assert cell.execution_count
            assert not [out for out in cell.outputs if out.output_type == "error"]
            assert cell.outputs, cell.source
            assert not [out for out in cell.outputs if out.get("name") == "stderr"], cell.outputs


def test_what_is_a_picture_is_shown_as_one(executed):
    for begin in ("result.curve()", "first_failure("):
        assert shown(executed, begin)["image/svg+xml"].startswith("<svg ")
    assert "image/svg+xml;base64," in shown(executed, 'rule="literal"')["text/html"]
    assert "(b'2121', b'2121'," in shown(executed, "client = ")["text/plain"]
