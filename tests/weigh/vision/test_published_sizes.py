"""Parameters and MACs counted by the walk equal the published ones."""

from __future__ import annotations

import pytest

from weighbridge.estimate.describe.vision import Asked, describe_vision
from weighbridge.estimate.describe.vision_networks import convolutional, transformers
from weighbridge.estimate.describe.vision_networks.table import from_table
from weighbridge.weigh.vision import Walk


def backbone(build, height: int = 224):
    walk = Walk("test")
    build(walk, walk.image(height, height))
    return walk


@pytest.mark.parametrize(
    ("depth", "classifier", "published"),
    [(18, 512_000 + 1000, 11_689_512), (34, 513_000, 21_797_672), (50, 2_049_000, 25_557_032),
     (101, 2_049_000, 44_549_160), (152, 2_049_000, 60_192_808)],
)  # fmt: skip
def test_resnet_has_the_parameters_torchvision_publishes(depth, classifier, published):
    walk = backbone(lambda w, x: convolutional.resnet(w, x, convolutional.Residual(depth=depth)))
    assert walk.parameters + classifier == published


def test_resnet_50_does_4_09_billion_macs_on_one_image_of_224():
    walk = backbone(lambda w, x: convolutional.resnet(w, x, convolutional.Residual()))
    macs = sum(operator.macs for operator in walk.operators) + 2048 * 1000
    assert macs == pytest.approx(4.089e9, rel=1e-3)


@pytest.mark.parametrize(
    ("groups", "width", "depth", "published"),
    [(32, 4, 50, 25_028_904), (32, 8, 101, 88_791_336), (64, 4, 101, 83_455_272)],
)
def test_resnext_has_the_parameters_torchvision_publishes(groups, width, depth, published):
    spec = convolutional.Residual(depth=depth, groups=groups, group_width=width)
    walk = backbone(lambda w, x: convolutional.resnet(w, x, spec))
    assert walk.parameters + 2_049_000 == published


def test_vgg_16_has_14_7_million_parameters_before_its_classifier():
    assert backbone(lambda w, x: convolutional.vgg(w, x, 16)).parameters == 14_714_688


@pytest.mark.parametrize(
    ("size", "width", "published"),
    [("tiny", 768, 28_589_128), ("small", 768, 50_223_688), ("base", 1024, 88_591_464)],
)
def test_convnext_has_the_parameters_its_paper_publishes(size, width, published):
    walk = backbone(lambda w, x: convolutional.convnext(w, x, size))
    assert walk.parameters + 2 * width + 1000 * width + 1000 == published


@pytest.mark.parametrize(
    ("size", "width", "published"),
    [("base", 768, 86_567_656), ("large", 1024, 304_326_632), ("small", 384, 22_050_664)],
)
def test_vit_of_patch_16_has_the_published_parameters(size, width, published):
    walk = backbone(lambda w, x: transformers.vit(w, x, size))
    assert walk.parameters + 2 * width + 1000 * width + 1000 == published


def test_mobilenet_v2_has_the_published_parameters():
    walk = backbone(lambda w, x: convolutional.mobilenet2(w, x))
    last = 320 * 1280 + 2 * 1280 + 1280 * 1000 + 1000
    assert walk.parameters + last == 3_504_872


@pytest.mark.parametrize(
    ("size", "published_millions"),
    [("3.2gf", 15.3), ("1.6gf", 9.2), ("6.4gf", 26.2), ("8gf", 39.6), ("12gf", 46.1)],
)
def test_regnetx_has_the_size_of_its_paper(size, published_millions):
    walk = backbone(lambda w, x: convolutional.regnet(w, x, size))
    width = convolutional.regnet_widths(size)[-1][0]
    assert (walk.parameters + width * 1000 + 1000) / 1e6 == pytest.approx(published_millions, abs=0.06)


def test_swin_tiny_has_28_million_parameters():
    walk = backbone(lambda w, x: transformers.swin(w, x, "tiny"))
    assert (walk.parameters + 769_000) / 1e6 == pytest.approx(28.29, rel=0.003)


@pytest.mark.parametrize(
    ("name", "published_millions"),
    [
        ("faster-rcnn_r50_fpn_1x_coco", 41.53),
        ("mask-rcnn_r50_fpn_1x_coco", 44.17),
        ("retinanet_r50_fpn_1x_coco", 37.74),
        ("fcos_r50-caffe_fpn_gn-head_1x_coco", 32.02),
        ("yolov3_d53_8xb8-ms-608-273e_coco", 61.95),
        ("pspnet_r50-d8_4xb2-40k_cityscapes-512x1024", 48.97),
    ],
)
def test_detectors_and_segmenters_have_the_size_their_zoos_print(name, published_millions):
    network = describe_vision(name, Asked(height=800, width=1344, framework="mmdet"))
    assert network is not None
    assert network.parameters / 1e6 == pytest.approx(published_millions, rel=0.012)


@pytest.mark.parametrize(
    ("name", "parameters", "gigamacs"),
    [("resnet50", 25_557_032, 4.089), ("vit_base_patch16_224", 86_567_656, 17.56), ("efficientnet_b0",
    5_288_548, 0.386),
     ("swin_tiny_patch4_window7_224", 28_288_354, 4.49)],
)  # fmt: skip
def test_the_table_holds_the_published_sizes(name, parameters, gigamacs):
    network = from_table(name)
    assert network is not None
    assert network.parameters == parameters
    assert network.macs / 1e9 == pytest.approx(gigamacs, rel=2e-3)


def test_the_walk_and_the_table_agree_on_what_a_resnet_50_computes():
    walk = backbone(lambda w, x: convolutional.resnet(w, x, convolutional.Residual()))
    listed = from_table("resnet50")
    assert listed is not None
    convolutions = sum(o.macs for o in listed.operators if o.kind == "conv")
    assert sum(o.macs for o in walk.operators) == pytest.approx(convolutions)
