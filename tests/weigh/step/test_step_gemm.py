"""Matrix products: the roofline's two sides, and interpolation between measured shapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.facts.gemm import load_gemm_curves
from weighbridge.schema.measured_curves import GemmPoint
from weighbridge.weigh.step.gemm import Rate, gemm_seconds
from weighbridge.weigh.step.gemm_curve import interpolate_gemm

RATE = Rate(flops=250e12, bytes=1.7e12, multiprocessors=108, ramp_depth=0.0, width=2.0)


def test_a_large_square_product_runs_at_the_best_rate_but_for_the_last_wave() -> None:
    # 64 x 32 tiles of 128 x 256 on 108 multiprocessors: 18.96 waves and half of one more.
    ideal = 2 * 8192**3 / 250e12
    assert gemm_seconds(8192, 8192, 8192, RATE) == pytest.approx(ideal * (2048 / 108 + 0.5) / (2048 / 108))


def test_a_single_row_is_bound_by_the_bytes_of_the_matrix() -> None:
    assert gemm_seconds(1, 8192, 8192, RATE) == pytest.approx((8192 + 8192 * 8192 + 8192) * 2 / 1.7e12)


def test_nothing_takes_no_time() -> None:
    assert gemm_seconds(0, 8192, 8192, RATE) == 0.0


@given(st.integers(1, 20000), st.integers(64, 20000), st.integers(64, 20000))
def test_no_product_is_faster_than_the_best_rate(m: int, n: int, k: int) -> None:
    assert gemm_seconds(m, n, k, RATE) >= 2.0 * m * n * k / 250e12 * (1 - 1e-9)


def test_a_measured_shape_is_nearly_returned() -> None:
    points = [GemmPoint(m, 1024, 1024, m * 1e-6) for m in (256, 512, 1024, 2048, 4096)]
    assert interpolate_gemm(points, 1024, 1024, 1024) == pytest.approx(1024e-6, rel=0.05)


def test_a_power_law_is_followed_between_shapes() -> None:
    # At constant rate the time of the shape between is the geometric mean.
    points = [
        GemmPoint(m, n, 2048, 2.0 * m * n * 2048 / 100e12) for m in (2048, 8192) for n in (1024, 4096, 16384)
    ]
    assert interpolate_gemm(points, 4096, 4096, 2048) == pytest.approx(
        2.0 * 4096 * 4096 * 2048 / 100e12, rel=0.1
    )


def test_without_points_it_says_so() -> None:
    with pytest.raises(ValueError, match="no measured products"):
        interpolate_gemm([], 1, 1, 1)


def test_shipped_curves_leave_one_point_out_within_a_tenth() -> None:
    (curve,) = [c for c in load_gemm_curves() if (c.gpu, c.dtype) == ("V100-SXM2-16GB", "fp16")]
    errors = []
    for at, point in enumerate(curve.points):
        others = [*curve.points[:at], *curve.points[at + 1 :]]
        said = interpolate_gemm(others, point.m, point.n, point.k, point.layout, point.groups)
        errors.append(abs(said / point.seconds - 1))
    assert sorted(errors)[len(errors) // 2] < 0.10
