# The GPU simulator for Python users.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run PTX on the CPU:

    import tessera.sim as sim
    report = sim.launch(ptx, "vadd", grid=4, block=256, args=[a, b, c, n])
    assert report.ok, report.text()
"""

from .device import Device, Module, Report, SimError, launch

__all__ = ["Device", "Module", "Report", "SimError", "launch"]
