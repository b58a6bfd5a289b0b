"""Memory of vision networks: hand calculations, and what may never happen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.estimate.describe.vision import Asked, describe_vision, image_size, zoo_size
from weighbridge.facts.vision_constants import load_vision_constants
from weighbridge.schema.vision import Unanswered, VisionMemory, VisionRecipe
from weighbridge.weigh.vision import Walk, vision_memory

CONSTANTS = load_vision_constants()
RECIPE = VisionRecipe(framework="mmdet", images=2, precision="fp32", optimizer="sgd", data_parallel=1)
NAMES = (
    "faster-rcnn_r50_fpn_1x_coco", "mask-rcnn_x101-32x4d_fpn_1x_coco", "retinanet_r50_fpn_1x_coco",
    "fcos_r50-caffe_fpn_gn-head_1x_coco", "mask-rcnn_swin-t-p4-w7_fpn_1x_coco",
)  # fmt: skip


def weigh(name: str, height: float = 800, width: float = 1344, **changes) -> VisionMemory:
    recipe = replace(RECIPE, **changes)
    autocast = recipe.precision in ("amp_fp16", "amp_bf16")
    network = describe_vision(name, Asked(height=height, width=width, framework="mmdet", autocast=autocast))
    assert network is not None
    said = vision_memory(network, recipe, CONSTANTS)
    assert isinstance(said, VisionMemory)
    return said


def test_convolution_norm_and_relu_keep_input_input_and_output():
    walk = Walk("one layer")
    x = walk.relu(walk.norm(walk.conv(walk.image(8, 8), 16, 3)))
    # image 3 x 8 x 8 (kept by the convolution), its output 16 x 8 x 8 (by the norm), the ReLU's output: fp32.
    assert x.elements == 16 * 64
    assert walk.network().kept_bytes == 4 * (3 * 64 + 16 * 64 + 16 * 64)


def test_a_frozen_norm_keeps_nothing_of_its_own():
    walk = Walk("one layer", norm="frozen")
    walk.relu(walk.norm(walk.conv(walk.image(8, 8), 16, 3)))
    assert walk.network().kept_bytes == 4 * (3 * 64 + 16 * 64)


def test_frozen_layers_below_everything_keep_nothing():
    walk = Walk("frozen")
    with walk.freeze():
        walk.relu(walk.norm(walk.conv(walk.image(8, 8), 16, 3)))
    assert walk.network().kept_bytes == 0
    assert walk.network().trainable == 0


def test_max_pooling_keeps_its_input_and_an_index_of_8_bytes_per_output():
    walk = Walk("pool")
    x = walk.conv(walk.image(8, 8), 4, 1)
    before = walk.network().kept_bytes
    walk.max_pool(x, 2, 2)
    assert walk.network().kept_bytes - before == 4 * 4 * 64 + 8 * 4 * 16


def test_addition_keeps_nothing_and_a_map_kept_twice_counts_once():
    walk = Walk("add")
    x = walk.relu(walk.conv(walk.image(8, 8), 4, 1))
    before = walk.network().kept_bytes
    walk.add(walk.conv(x, 4, 1), x)
    assert walk.network().kept_bytes == before


def test_under_autocast_a_convolution_keeps_16_bit_maps_and_layer_norm_fp32():
    walk = Walk("half", autocast=True)
    y = walk.conv(walk.image(8, 8), 16, 1)
    assert walk.network().kept_bytes == 2 * 3 * 64
    walk.norm(y, "layer")
    assert walk.network().kept_bytes == 2 * 3 * 64 + 4 * 16 * 64


def test_a_checkpointed_block_keeps_its_input_alone_and_brings_the_rest_back():
    def build(checkpointing: bool):
        walk = Walk("block", checkpointing=checkpointing)
        x = walk.relu(walk.conv(walk.image(8, 8), 4, 1))
        with walk.checkpoint(x):
            for _ in range(3):
                x = walk.relu(walk.norm(walk.conv(x, 4, 3)))
        return walk.network()

    plain, saved = build(False), build(True)
    # Without: x, and three times the norm's input and the ReLU's output.
    assert plain.kept_bytes - saved.kept_bytes == 6 * 4 * 4 * 64
    assert sum(operator.inner_bytes for operator in saved.operators) == 6 * 4 * 4 * 64


def test_winograd_asks_for_two_and_a_quarter_maps_beside_its_own():
    walk = Walk("winograd")
    walk.conv(walk.relu(walk.conv(walk.image(8, 8), 16, 1)), 32, 3)
    assert walk.operators[-1].workspace_bytes == 36 / 16 * 4 * (16 + 32) * 64
    assert walk.operators[-1].workspace_fixed_bytes == 36 * 16 * 32 * 4


def test_a_search_over_kernels_tries_fourier_transforms_where_they_fit_the_card():
    walk = Walk("search")
    walk.searches = True
    walk.conv(walk.image(30, 30), 16, 3)
    # 30 + 2 on the next power of two is 32 a side, complex numbers of 8 bytes.
    assert walk.operators[-1].searched_bytes == 32 * 32 * 8 * (3 + 16)
    assert walk.operators[-1].searched_fixed_bytes == 32 * 32 * 8 * 3 * 16
    network, recipe = walk.network(), replace(RECIPE, images=1)
    small, large = (vision_memory(network, recipe, CONSTANTS, card_bytes=size) for size in (1e5, 1e9))
    assert isinstance(small, VisionMemory)
    assert isinstance(large, VisionMemory)
    assert large.allocated.value > 32 * 32 * 8 * 3 * 16 > small.allocated.value


def test_guided_anchors_are_sought_targets_for_three_times_as_many_boxes():
    plain, guided = (
        describe_vision(name, Asked(height=800, width=1344, framework="mmdet-0"))
        for name in ("rpn R-50-FPN", "guided-anchoring R-50-FPN GA-RPN")
    )
    assert plain is not None
    assert guided is not None
    most = [max(o.workspace_fixed_bytes for o in n.operators if o.kind == "copy") for n in (plain, guided)]
    assert most[1] == pytest.approx(3 * most[0])


def test_states_of_fp32_sgd_are_12_bytes_a_parameter_and_16_with_ddp():
    network = describe_vision("retinanet_r50_fpn_1x_coco", Asked(height=800, width=1344))
    assert network is not None
    one, many = weigh("retinanet_r50_fpn_1x_coco"), weigh("retinanet_r50_fpn_1x_coco", data_parallel=8)
    frozen = network.parameters - network.trainable
    assert one.phases["step"] == pytest.approx(4 * frozen + 12 * network.trainable)
    assert many.phases["step"] == pytest.approx(4 * frozen + 16 * network.trainable)


def test_faster_rcnn_needs_about_four_gibibytes_where_its_zoo_measured_4_0():
    assert weigh("faster-rcnn_r50_fpn_1x_coco", data_parallel=8).allocated.value / 2**30 == pytest.approx(
        4.0, rel=0.05
    )


def test_a_counter_of_another_allocator_is_refused():
    network = describe_vision("faster-rcnn R50-FPN", Asked(height=800, width=1344))
    assert network is not None
    said = vision_memory(network, replace(RECIPE, framework="caffe2"), CONSTANTS)
    assert said == Unanswered(("counter not comparable",))


def test_without_a_batch_the_missing_field_is_named():
    network = describe_vision("faster-rcnn R50-FPN", Asked(height=800, width=1344))
    assert network is not None
    assert vision_memory(network, replace(RECIPE, images=None), CONSTANTS) == Unanswered(("images",))


@pytest.mark.parametrize("name", ["a network nobody knows", "cascade-rcnn_r50-rfp_1x_coco"])
def test_a_name_that_is_not_understood_has_no_network(name):
    assert describe_vision(name, Asked(height=800, width=800)) is None


def test_an_unstated_optimizer_is_assumed_aloud_with_a_wider_interval():
    stated, silent = weigh(NAMES[0]), weigh(NAMES[0], optimizer=None)
    assert silent.assumed == ("optimizer",)
    assert silent.allocated.high - silent.allocated.low > stated.allocated.high - stated.allocated.low


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(NAMES), images=st.integers(1, 15), side=st.integers(8, 40))
def test_memory_never_falls_with_the_batch_or_the_image(name, images, side):
    small = weigh(name, 32 * side, 32 * side, images=images).allocated.value
    assert weigh(name, 32 * side, 32 * side, images=images + 1).allocated.value >= small
    assert weigh(name, 32 * side + 32, 32 * side, images=images).allocated.value >= small


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(NAMES), images=st.integers(1, 16))
def test_the_counters_are_ordered_and_the_peak_holds_every_phase(name, images):
    said = weigh(name, images=images)
    assert said.allocated.value <= said.reserved.value <= said.device.value
    assert said.allocated.value == max(said.phases.values())
    assert sum(said.parts.values()) == pytest.approx(said.allocated.value)


@pytest.mark.parametrize(
    ("text", "most"),
    [("(1333, 800)", (800, 1344)), ("short side 640-800 (multi-scale), max 1333", (800, 1344)),
     ("[(1333, 640), (1333, 800)]", (800, 1344)), ("512x1024", (512, 1024)), ("224", (224, 224))],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text, most):
    size = image_size(text)
    assert size is not None
    assert size.most == most


def test_the_average_image_is_no_larger_than_the_largest():
    size = image_size("short side 640-800 (multi-scale), max 1333")
    assert size is not None
    assert size.mean[0] <= size.most[0]
    assert size.mean[1] <= size.most[1]


def test_a_crop_named_in_a_config_wins_over_the_size_before_it():
    assert zoo_size("unet-s5-d16_fcn_4xb4-40k_drive-64x64", image_size("(584, 565)"), "mmseg") == image_size(
        "64x64"
    )
