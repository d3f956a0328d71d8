"""The runs as a person sees them in a browser: columns that answer, a short comparison, and one click to why."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paper_runs import publish_paper_runs
from tworulers.runner.tracking.pages import list_pages

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
STARTS_WITHIN_S = 120
PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("pages")
    publish_paper_runs(project)
    return project


@pytest.fixture(scope="module")
def address(project: Path) -> Iterator[str]:
    """The address of MLflow's pages of a store."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = f"sqlite:///{project / 'mlruns' / 'mlflow.db'}"
    serve = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", store, "--workers", "1"]
    server = subprocess.Popen(
        [*serve, "--port", str(port)], cwd=project, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address, until = f"http://127.0.0.1:{port}", time.monotonic() + STARTS_WITHIN_S
    try:
        while True:
            try:
                with urllib.request.urlopen(f"{address}/health", timeout=5):
                    break
            except OSError:
                assert time.monotonic() < until, "MLflow's pages do not start"
                time.sleep(0.5)
        yield address
    finally:
        os.killpg(server.pid, 15)
        server.wait()


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs chromium, which `apt-get install chromium` brings")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, of the extra dev"
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1900, "height": 1400})
        page.set_default_timeout(PATIENCE_MS)
        yield page
        browser.close()


def open_audits(page: Any, address: str, project: Path) -> None:
    page.goto(f"{address}/{list_pages(project)['toy']}")
    page.get_by_role("link", name="audit · mix by gold", exact=True).wait_for()
    page.get_by_text("no verdict").or_(
        page.get_by_text("differs 5, cannot say 58")
    ).first.wait_for()


def test_the_list_of_audits_answers_for_each(page: Any, address: str, project: Path) -> None:
    open_audits(page, address, project)
    heads = {
        head.inner_text(): (head.bounding_box() or {"x": 0})["x"]
        for head in page.get_by_role("columnheader").all()
    }
    wanted = ["dataset", "regime", "ruler", "dice/macro/mean", "answers", "verdict"]
    assert sorted(wanted, key=heads.__getitem__) == wanted
    rows = page.get_by_role("row").filter(has_text="differs 5, cannot say 58")
    assert rows.count() == 3
    assert page.get_by_role("link", name="details ·").count() == 0


def test_two_rulers_ticked_and_compared_are_read_at_once(
    page: Any, address: str, project: Path
) -> None:
    open_audits(page, address, project)
    for ruler in ("gold", "silver"):
        row = page.get_by_role("row").filter(
            has=page.get_by_role("link", name=f"audit · mix by {ruler}", exact=True)
        )
        identity = row.first.get_attribute("row-id")
        page.locator(f"[row-id='{identity}'] .ag-selection-checkbox input").first.click()
    page.get_by_test_id("runs-compare-button").click()
    page.get_by_text("Run details").wait_for()
    page.get_by_text("runs_version").wait_for()
    rows = page.locator("table.mlflow-compare-table tr").count()
    shown = json.loads(page.evaluate("decodeURIComponent(location.hash.match(/runs=([^&]*)/)[1])"))
    assert len(shown) == 2
    # MLflow draws no more of the numbers than fit; their names stand in a column of their own.
    numbers = page.evaluate(
        "async ids => (await (await fetch(`/ajax-api/2.0/mlflow/runs/get?run_id=${ids[0]}`)).json())"
        ".run.data.metrics.length",
        shown,
    )
    assert numbers >= 30
    assert rows + numbers < 60


def follow(page: Any, name: str) -> Any:
    """Click a link of a description, which MLflow opens in a page of its own."""
    with page.expect_popup() as opened:
        page.get_by_role("link", name=name, exact=True).click()
    return opened.value


def test_one_click_leads_from_an_audit_to_why_rulers_differ_and_back(
    page: Any, address: str, project: Path
) -> None:
    open_audits(page, address, project)
    page.get_by_role("link", name="audit · mix by silver", exact=True).click()
    why = follow(page, "rulers · mix: gold, silver")
    why.get_by_text("The audits compared:").wait_for()
    back = follow(why, "audit · mix by silver")
    back.get_by_text("Why they differ:").wait_for()


def test_a_table_is_shown_in_the_page(page: Any, address: str, project: Path) -> None:
    open_audits(page, address, project)
    page.get_by_role("link", name="audit · mix by gold", exact=True).click()
    page.get_by_role("tab", name="Artifacts").or_(
        page.get_by_role("link", name="Artifacts")
    ).first.click()
    page.get_by_text("groups.csv").first.click()
    page.get_by_role("cell", name="30", exact=True).or_(
        page.get_by_text("30", exact=True)
    ).first.wait_for()
