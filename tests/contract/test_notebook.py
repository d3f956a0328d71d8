"""The notebook runs in the checkout; that it runs of the wheel alone is held where the wheel is installed."""

from notebook import run_notebook


def test_the_notebook_runs() -> None:
    run_notebook()
