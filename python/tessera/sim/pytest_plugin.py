# A pytest plug-in: Triton tests run on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pytest -p tessera.sim.pytest_plugin --sim-arch sm_80 [--sim-check]`

Without --sim-arch the plug-in does nothing. The `sim_driver` fixture gives
access to the driver and its last_report."""

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("tessera-sim")
    group.addoption("--sim-arch", default=None,
                    help="run Triton kernels on the simulator as this "
                         "architecture, e.g. sm_80")
    group.addoption("--sim-check", action="store_true",
                    help="report races, uninitialised reads and misuse")
    group.addoption("--sim-seed", type=int, default=None,
                    help="adversarial schedules with this seed")


def pytest_configure(config):
    arch = config.getoption("--sim-arch")
    if not arch:
        return
    from . import triton as sim_triton
    seed = config.getoption("--sim-seed")
    config._tessera_sim = sim_triton.activate(
        arch, check=config.getoption("--sim-check"), seed=seed or 0,
        adversarial=seed is not None)


@pytest.fixture
def sim_driver(request):
    driver = getattr(request.config, "_tessera_sim", None)
    if driver is None:
        pytest.skip("give --sim-arch to run on the simulator")
    return driver
