"""Step time of vision networks: hand calculations and directions that must hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weighbridge.estimate.describe.vision_networks.table import from_table
from weighbridge.facts.vision_constants import load_vision_constants, vision_card
from weighbridge.schema.vision import Network, Operator, Unanswered, VisionCard, VisionRecipe, VisionTime
from weighbridge.weigh.vision import vision_step_time

CONSTANTS = load_vision_constants()
CARD = VisionCard("test", bytes_per_second=1e12, fp32_flops=1e13, tf32_flops=5e13, half_flops=1e14)
RECIPE = VisionRecipe(images=64, precision="amp_fp16", data_parallel=1, channels_last=True)


def seconds(network: Network, card: VisionCard = CARD, **changes) -> VisionTime:
    said = vision_step_time(network, replace(RECIPE, **changes), card, CONSTANTS)
    assert isinstance(said, VisionTime)
    return said


def test_a_large_product_takes_six_operations_a_mac_at_the_rate_of_the_card():
    network = Network("one", 0, 0, (Operator("linear", macs=1e12, inputs=1, outputs=1, narrowest=4096),))
    expected = 64 * 6e12 / (1e14 * CONSTANTS["efficiency.tensor.linear"])
    assert seconds(network).parts["matrix"] == pytest.approx(expected)


def test_a_batch_norm_moves_its_map_eight_times():
    network = Network("one", 0, 0, (Operator("batch_norm", inputs=1e8, outputs=1e8),))
    passes = 8 * CONSTANTS["norm_passes.default"]
    expected = 64 * passes * 2e8 / (1e12 * CONSTANTS["memory_efficiency"])
    assert seconds(network).parts["normalisation"] == pytest.approx(expected)


def test_frozen_layers_only_run_forward():
    operator = Operator("conv", macs=1e12, inputs=1, outputs=1, narrowest=512)
    trained, frozen = (Network("one", 0, 0, (replace(operator, backward=b),)) for b in (True, False))
    assert seconds(trained).parts["matrix"] == pytest.approx(3 * seconds(frozen).parts["matrix"])


def test_parts_add_up_to_the_step():
    network = from_table("resnet50")
    assert network is not None
    said = seconds(network)
    assert sum(said.parts.values()) == pytest.approx(said.seconds.value)
    assert said.images_per_second == pytest.approx(64 / said.seconds.value)
    assert said.seconds.low < said.seconds.value < said.seconds.high


@pytest.mark.parametrize(
    "name", ["resnet50", "efficientnet_b0", "vit_base_patch16_224", "swin_tiny_patch4_window7_224"]
)
def test_a_step_never_gets_faster_with_more_images_or_a_slower_card(name):
    network = from_table(name)
    assert network is not None
    base = seconds(network).seconds.value
    assert seconds(network, images=65).seconds.value >= base
    assert seconds(network, replace(CARD, bytes_per_second=9e11)).seconds.value >= base
    assert seconds(network, replace(CARD, half_flops=9e13)).seconds.value >= base


def test_fp32_is_slower_than_16_bits_and_channels_first_than_last():
    network = from_table("resnet50")
    assert network is not None
    assert seconds(network, precision="fp32").seconds.value > seconds(network).seconds.value
    assert seconds(network, channels_last=False).seconds.value > seconds(network).seconds.value


def test_a_larger_image_scales_convolution_with_its_pixels_and_attention_with_their_square():
    small, large = from_table("vit_base_patch16_224"), from_table("vit_base_patch16_224", 448, 448)
    assert small is not None
    assert large is not None

    def macs(network: Network, kind: str) -> float:
        return sum(operator.macs for operator in network.operators if operator.kind == kind)

    assert macs(large, "linear") == pytest.approx(4 * macs(small, "linear"))
    assert macs(large, "attention_matmul") == pytest.approx(16 * macs(small, "attention_matmul"))


def test_a_card_without_the_rate_is_refused_by_that_name():
    network = from_table("resnet50")
    assert network is not None
    said = vision_step_time(network, RECIPE, replace(CARD, half_flops=None), CONSTANTS)
    assert said == Unanswered(("dense rate of the card at this precision",))


def test_the_catalogue_gives_a_card_its_rates():
    card = vision_card("RTX-3090-24GB")
    assert card is not None
    assert card.bytes_per_second == pytest.approx(936e9, rel=0.01)
    assert vision_card("a card nobody makes") is None


def test_resnet_50_on_an_rtx_3090_takes_what_timm_measured_within_a_fifth():
    network, card = from_table("resnet50"), vision_card("RTX-3090-24GB")
    assert network is not None
    assert card is not None
    said = vision_step_time(network, replace(RECIPE, framework="timm", images=512), card, CONSTANTS)
    assert isinstance(said, VisionTime)
    # timm benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv prints about 1,220 images a second.
    assert said.images_per_second == pytest.approx(1220, rel=0.2)
