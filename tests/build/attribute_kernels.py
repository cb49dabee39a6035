"""Kernels whose launches carry attributes, and how they are exported."""

from __future__ import annotations

from tvmffi_cubin import Launch

__all__ = ["ATTRIBUTE_FUNCTIONS", "ATTRIBUTE_KERNELS"]

ATTRIBUTE_KERNELS = r"""
extern "C" __global__ void k(float* x, int n) {}
extern "C" __global__ void __cluster_dims__(2, 2, 1) fixed(int n) {}
"""


def _launch(**fields: object) -> Launch:
    return Launch(kernel="k", grid=fields.pop("grid", 16), block=32, **fields)


_PARAMS = "float* x, int n, int cx, int cy, int cz, int policy, bool early, bool together"

ATTRIBUTE_FUNCTIONS = {
    "plain": _launch(),
    "k_free": Launch(kernel="k"),
    "cluster": _launch(cluster=4),
    "largest": _launch(cluster=16),
    "cluster_3d": _launch(grid=(8, 4, 2), cluster=(2, 4, 2)),
    "preferred": _launch(cluster=2, preferred_cluster=8),
    "early": _launch(programmatic_dependent_launch=True),
    "together": _launch(cooperative=True),
    "urgent": _launch(priority=-5),
    "remote": _launch(mem_sync_domain="remote"),
    "events": _launch(
        params="float* x, int n, int64_t one, int64_t two",
        programmatic_event="one",
        launch_completion_event="two",
    ),
    "carveout": _launch(attributes={14: (50).to_bytes(4, "little")}),
    "computed": _launch(
        grid=("cx * 4", "cy", "cz"),
        params=_PARAMS + ", int urgency, int domain",
        cluster=("cx", "cy", "cz"),
        cluster_scheduling_policy="policy",
        programmatic_dependent_launch="early",
        cooperative="together and n > 0",
        priority="-urgency",
        mem_sync_domain="domain",
    ),
    "fixed": Launch(grid="n", block=32),
    "resident": _launch(grid="max_cooperative_blocks", cooperative=True),
    "resident_clusters": _launch(grid="max_cooperative_blocks", cluster=4, cooperative=True),
}
