"""Names that drivers, frameworks, schedulers and people write, and the card they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.facts import GpuFact, candidates, find_gpu, gpu_memory, load_gpus

GIB = 2**30
MIB = 2**20

ONE_CARD = {
    # torch.cuda.get_device_name and nvidia-smi
    "NVIDIA L40": "L40",
    "NVIDIA L40S": "L40S",
    "NVIDIA L4": "L4",
    "NVIDIA L20": "L20",
    "NVIDIA A10": "A10",
    "NVIDIA A10G": "A10G",
    "NVIDIA A2": "A2",
    "NVIDIA A30": "A30",
    "NVIDIA A40": "A40",
    "Tesla T4": "T4",
    "Tesla P4": "P4",
    "Tesla P40": "P40",
    "Tesla K80": "K80",
    "Tesla K40m": "K40m",
    "Tesla M60": "M60",
    "Tesla P100-SXM2-16GB": "P100-SXM2-16GB",
    "Tesla P100-PCIE-16GB": "P100-PCIE-16GB",
    "Tesla V100-SXM2-32GB": "V100-SXM2-32GB",
    "Tesla V100-SXM2-16GB": "V100-SXM2-16GB",
    "Tesla V100-PCIE-16GB": "V100-PCIE-16GB",
    "Tesla V100-SXM3-32GB": "V100-SXM3-32GB",
    "Tesla V100-DGXS-32GB": "V100-DGXS-32GB",
    "Tesla V100S-PCIE-32GB": "V100S-PCIE-32GB",
    "NVIDIA A100-SXM4-40GB": "A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB",
    "NVIDIA A100-PCIE-40GB": "A100-PCIE-40GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIE-80GB",
    "NVIDIA A100-PG509-200": "A100-SXM4-40GB",
    "NVIDIA A800-SXM4-80GB": "A800-SXM4-80GB",
    "NVIDIA A800 80GB PCIe": "A800-PCIE-80GB",
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H100 PCIe": "H100-PCIE-80GB",
    "NVIDIA H100 NVL": "H100-NVL-94GB",
    "NVIDIA H200": "H200-SXM-141GB",
    "NVIDIA H200 NVL": "H200-NVL-141GB",
    "NVIDIA H800 PCIe": "H800-PCIE-80GB",
    "NVIDIA H20-3e": "H20-141GB",
    "NVIDIA GH200 480GB": "GH200-96GB",
    "NVIDIA GH200 144G HBM3e": "GH200-144GB",
    "NVIDIA B200": "B200-SXM-180GB",
    "NVIDIA B300 SXM6 AC": "B300-SXM-288GB",
    "NVIDIA GB200": "GB200",
    "NVIDIA GeForce RTX 3090": "RTX-3090",
    "NVIDIA GeForce RTX 3090 Ti": "RTX-3090-Ti",
    "NVIDIA GeForce RTX 4090": "RTX-4090",
    "NVIDIA GeForce RTX 4090 D": "RTX-4090-D",
    "NVIDIA GeForce RTX 5090": "RTX-5090",
    "NVIDIA GeForce RTX 4070 Ti SUPER": "RTX-4070-Ti-SUPER",
    "GeForce RTX 2080 Ti": "RTX-2080-Ti",
    "GeForce GTX 1080 Ti": "GTX-1080-Ti",
    "TITAN Xp": "TITAN-Xp",
    "TITAN X (Pascal)": "TITAN-X-Pascal",
    "TITAN V": "TITAN-V",
    "NVIDIA TITAN RTX": "TITAN-RTX",
    "NVIDIA RTX A6000": "RTX-A6000",
    "NVIDIA RTX A5000": "RTX-A5000",
    "Quadro RTX 6000": "Quadro-RTX-6000",
    "Quadro RTX 8000": "RTX-8000",
    "Quadro GV100": "Quadro-GV100",
    "NVIDIA RTX 6000 Ada Generation": "RTX-6000-Ada",
    "NVIDIA RTX 4000 SFF Ada Generation": "RTX-4000-SFF-Ada",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX-PRO-6000-Blackwell-WS",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000-Blackwell-Server",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "RTX-PRO-6000-Blackwell-MaxQ",
    # rocm-smi and torch on ROCm
    "AMD Instinct MI100": "MI100",
    "AMD Instinct MI210": "MI210",
    "AMD Instinct MI300X": "MI300X",
    "AMD Instinct MI300X VF": "MI300X",
    "AMD Radeon PRO W7900": "W7900",
    "AMD Radeon RX 7900 XTX": "RX-7900-XTX",
    # npu-smi, cnmon, hy-smi and the other makers' tools
    "910B3": "Ascend-910B3",
    "Ascend910B4": "Ascend-910B4",
    "Ascend 910B4-1": "Ascend-910B4-1",
    "310P3": "Ascend-310P3",
    "MLU370-X8": "Cambricon-MLU370-X8",
    "K100_AI": "Hygon-K100-AI",
    "Iluvatar BI-V100": "Iluvatar-BI-V100",
    "MTT S4000": "MTT-S4000",
    "MXC550": "MetaX-C550",
    "HL-225": "Gaudi2",
    "Intel Gaudi 3": "Gaudi3",
    # Schedulers, lspci, nvidia-smi -L, tables of results, people
    "A100-SXM-80GB": "A100-SXM4-80GB",
    "NVIDIA-A100-SXM4-80GB": "A100-SXM4-80GB",
    "Tesla_V100-SXM2-16GB": "V100-SXM2-16GB",
    "NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)": "A100-SXM4-80GB",
    "TU104GL [Tesla T4]": "T4",
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-000000000000)": "A100-SXM4-40GB",
    "8x A100-SXM4-80GB": "A100-SXM4-80GB",
    "H200": "H200-SXM-141GB",
    "rtx 3090": "RTX-3090",
    "RTX4090": "RTX-4090",
    "4090D": "RTX-4090-D",
    "NVIDIA 1080Ti": "GTX-1080-Ti",
    "TitanXp": "TITAN-Xp",
    "H100-SXM-80GB": "H100-SXM5-80GB",
    "RTX Pro 6000 SE PCIe 96GB": "RTX-PRO-6000-Blackwell-Server",
    "A100 SXM4 40 GB": "A100-SXM4-40GB",
    "Tesla V100-SXM2 (32510MiB)": "V100-SXM2-32GB",
    "B200-SXM (power limited)": "B200-SXM-180GB",
    "NVIDIA(R) GeForce(TM) RTX 3090": "RTX-3090",
}

LEFT_OPEN = {
    "A100": {"A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "A100-PCIE-80GB"},
    "A100 80G": {"A100-SXM4-80GB", "A100-PCIE-80GB"},
    "V100-SXM2": {"V100-SXM2-16GB", "V100-SXM2-32GB"},
    "NVIDIA H20": {"H20-96GB", "H20-141GB"},
    "H100 80GB": {"H100-SXM5-80GB", "H100-PCIE-80GB"},
    "RTX 6000": {"RTX-6000-Ada", "Quadro-RTX-6000"},
    "NVIDIA GeForce RTX 3080": {"RTX-3080-10GB", "RTX-3080-12GB"},
    "AMD Instinct MI250X/MI250": {"MI250", "MI250X"},
    "Ascend910B": {"Ascend-910B1", "Ascend-910B2", "Ascend-910B3", "Ascend-910B4", "Ascend-910B4-1"},
    "RTX PRO 6000 Blackwell": {"RTX-PRO-6000-Blackwell-WS", "RTX-PRO-6000-Blackwell-Server"},
}

NOT_IN_THE_CATALOGUE = [
    "NVIDIA Graphics Device",
    "GPU 0",
    "cuda:0",
    "cpu",
    "",
    "NVIDIA",
    "NVIDIA Corporation Device 2330",
    "A100X",
    "L40SX",
    "NVIDIA GeForce RTX 3080 Laptop GPU",
    "GeForce RTX 2080 with Max-Q Design",
    "RTX 2080 Ti 22GB",
    "V100-SXM4-32GB",
    "A100-SXM4-80GB MIG 3g.40gb",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "GRID A100-40C",
    "NVIDIA A40-48Q",
    "NVIDIA CMP 170HX",
    "Apple M2 Ultra",
    "GTX 3090",
]


@pytest.mark.parametrize(("name", "id"), ONE_CARD.items())
def test_a_name_finds_its_card(name: str, id: str) -> None:
    gpu = find_gpu(name)

    assert gpu is not None
    assert gpu.id == id


@pytest.mark.parametrize(("name", "ids"), LEFT_OPEN.items())
def test_a_name_that_fits_several_cards_is_not_guessed(name: str, ids: set[str]) -> None:
    assert find_gpu(name) is None
    assert {gpu.id for gpu in candidates(name)} == ids


@pytest.mark.parametrize("name", NOT_IN_THE_CATALOGUE)
def test_a_name_of_another_thing_finds_nothing_and_has_no_memory(name: str) -> None:
    assert find_gpu(name) is None
    assert gpu_memory(name) is None


def test_an_unknown_variant_is_answered_with_its_nearest_relatives() -> None:
    assert {gpu.id for gpu in candidates("NVIDIA GeForce RTX 4090 Laptop GPU")} == {"RTX-4090", "RTX-4090-D"}


def test_the_printed_total_decides_between_cards_of_one_name() -> None:
    small = find_gpu("Tesla V100-SXM2", memory_bytes=16160 * MIB)
    large = find_gpu("Tesla V100-SXM2", memory_bytes=32510 * MIB)

    assert (small and small.id, large and large.id) == ("V100-SXM2-16GB", "V100-SXM2-32GB")


def test_the_printed_total_never_overrules_the_name() -> None:
    # An H20-3e prints the same total as an H200.
    gpu = find_gpu("NVIDIA H200", memory_bytes=97871 * MIB)

    assert gpu is not None
    assert gpu.id == "H200-SXM-141GB"


def test_memory_is_what_the_driver_reports_with_source_and_date() -> None:
    memory = gpu_memory("NVIDIA H100 80GB HBM3")

    assert memory is not None
    assert (memory.value, memory.unit, memory.origin) == (81559 * MIB, "bytes", "catalogue")
    assert memory.source is not None
    assert memory.source.startswith("H100-SXM5-80GB: ")
    assert memory.date == "2026-12-01"


def test_memory_falls_back_to_the_sheet_and_says_how_large_it_may_be() -> None:
    memory = gpu_memory("NVIDIA L40")

    assert memory is not None
    assert (memory.value, memory.high) == (48e9, 48 * GIB)


def test_memory_is_that_of_one_device_where_a_card_shows_two() -> None:
    memory = gpu_memory("AMD Instinct MI250X")

    assert memory is not None
    assert memory.value == 65520 * MIB


def test_memory_is_known_when_all_cards_that_fit_agree() -> None:
    memory = gpu_memory("A100-80GB")

    assert find_gpu("A100-80GB") is None
    assert memory is not None
    assert memory.value == 80 * GIB


def test_memory_stays_unknown_when_the_size_is_left_open() -> None:
    assert gpu_memory("NVIDIA A100") is None


def test_a_doubtful_figure_carries_its_mark() -> None:
    memory = gpu_memory("NVIDIA GH200 144G HBM3e")

    assert memory is not None
    assert memory.confidence == "C"


def test_every_id_finds_its_own_entry() -> None:
    missed = [gpu.id for gpu in load_gpus() if gpu not in candidates(gpu.id)]

    assert missed == []


@given(name=st.text(max_size=60) | st.text(alphabet="NVIDIA RTXSMPCGB0123456789-_[]()/ ", max_size=40))
def test_any_text_is_a_name_or_not_but_never_an_error(name: str) -> None:
    gpu = find_gpu(name)

    assert gpu is None or gpu in candidates(name)


@given(
    gpu=st.sampled_from(load_gpus(())), suffix=st.sampled_from(["X", "Z", "-Q7", " Mobile", " Laptop GPU"])
)
def test_a_suffix_that_nobody_knows_is_never_the_plain_card(gpu: GpuFact, suffix: str) -> None:
    assert find_gpu(gpu.id + suffix) != gpu


def test_a_line_of_something_else_is_no_name() -> None:
    assert find_gpu("NVIDIA L40S " + "x" * 10_000) is None
