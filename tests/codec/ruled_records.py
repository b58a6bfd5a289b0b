"""One full example of every record that has rules of its own, where random fields would not make a record."""

from __future__ import annotations

from typing import Any

from weighbridge.schema.brief import Brief, BriefItem
from weighbridge.schema.description import Description
from weighbridge.schema.diagnosis import Breakdown, Part
from weighbridge.schema.estimate import Advice, CardFit, Change, Estimate, FitTable, Neighbour
from weighbridge.schema.finding import Finding
from weighbridge.schema.fit import Fit, Headroom, MemoryFit, PartBytes, PhaseMemory, Provenance
from weighbridge.schema.load import ActivationBlock, DataSet, Load, Optimizer, ParameterGroup, Term
from weighbridge.schema.machine import Fabric, Machine, NodeGroup, Rental
from weighbridge.schema.node import Chassis, Cpu, DenseRates, Disk, Gpu, HostMemory, Nic, Node, Power, Slot
from weighbridge.schema.offer import Offer, OfferLine, Service
from weighbridge.schema.prediction import Calibration, Constant, Measurement, Versions
from weighbridge.schema.price import Price
from weighbridge.schema.run import Layout
from weighbridge.schema.share import Share, StoreShare
from weighbridge.schema.site import Cooling, Delivery, Feed, PowerStrip, Rack, Site, Switch
from weighbridge.schema.store import Burst, Store
from weighbridge.schema.task import Growth, Portfolio, StartWindow, Task
from weighbridge.units import Curve, CurvePoint, Operator, Origin, Quantity


def quantity(
    value: float | None, unit: str, *, origin: Origin = "quoted", operator: Operator = "=", **more: Any
) -> Quantity:
    return Quantity(value=value, unit=unit, origin=origin, operator=operator, **more)


def count(value: float) -> Quantity:
    return quantity(value, "count")


def store() -> Store:
    rates = Curve(
        unit="bytes_per_second",
        at_unit="count",
        points=(CurvePoint(at=1, value=4e8), CurvePoint(at=8, value=2e9)),
        origin="measured",
        context={"file_bytes": "131072"},
    )
    return Store(
        name="nas",
        role="archive",
        shared=True,
        kind="nfs",
        capacity_bytes=quantity(2e14, "bytes"),
        read_bytes_per_second=quantity(2e9, "bytes_per_second", operator=">="),
        seconds_per_open=quantity(8e-4, "seconds", origin="measured", source="probe", date="2026-11-03"),
        other_users=count(3),
        burst=Burst(burst_bytes_per_second=quantity(5e9, "bytes_per_second")),
        read_curves=(rates,),
    )


def machine(name: str = "box") -> Machine:
    gpu = Gpu(
        model="H100-SXM5-80GB",
        count=count(8),
        memory_bytes=quantity(8e10, "bytes"),
        usable_memory_bytes=quantity(81559 * 2**20, "bytes", origin="measured"),
        dense=DenseRates(bf16_flops_per_second=quantity(9.89e14, "flops_per_second", origin="catalogue")),
        power_watts=quantity(700, "watts"),
    )
    node = Node(
        gpus=(gpu,),
        gpu_topology="switch",
        cpu=Cpu(model="EPYC 9654", sockets=count(2), cores=count(192)),
        memory=HostMemory(
            capacity_bytes=quantity(2**41, "bytes"),
            transfers_per_second=quantity(4.8e9, "transfers_per_second"),
        ),
        disks=(
            Disk(role="system", count=count(2)),
            Disk(role="hot", count=count(8), capacity_bytes=quantity(3.84e12, "bytes")),
        ),
        nics=(Nic(role="compute", count=count(8), port_bytes_per_second=quantity(5e10, "bytes_per_second")),),
        slots=(Slot(kind="pcie", count=count(10), free=count(2)),),
        chassis=Chassis(
            cooling="air", rack_units=quantity(8, "rack_units"), depth_metres=quantity(0.897, "metres")
        ),
        power=Power(inlet="C19", maximum_watts=quantity(10_200, "watts"), supplies_that_may_fail=count(2)),
    )
    return Machine(
        name=name,
        groups=(NodeGroup(count=count(2), node=node), NodeGroup(role="storage", count=count(1))),
        fabric=Fabric(protocol="infiniband", rails=count(8), oversubscription_ratio=quantity(1, "times")),
        stores=(store(),),
    )


def rented() -> Machine:
    price = Price(amount=12.5, currency="CNY", per="hour", tax="included", date="2026-10-01")
    cap = quantity(1.2e9, "bytes_per_second", operator="<=")
    return Machine(
        name="cloud",
        groups=(NodeGroup(count=count(1)),),
        rental=Rental(hourly_price=price, disk_cap_bytes_per_second=cap),
    )


def load() -> Load:
    return Load(
        name="finetune",
        made_from="description",
        samples_per_step=count(64),
        tokens_per_sample=count(4096),
        steps_per_run=count(3000),
        terms=(
            Term(
                kind="operator",
                per="sample",
                demand=quantity(4.8e13, "flops", origin="estimated", low=4.7e13, high=5e13),
                bound_by="tensor_rate",
                operator="matmul",
                dtype="bf16",
                during="forward",
                shape=(4096, 4096, 14336),
                times=32,
            ),
            Term(
                kind="read",
                per="sample",
                demand=quantity(1.1e5, "bytes"),
                observed=quantity(2e-3, "seconds"),
                reference="old-box",
            ),
        ),
        parameters=(
            ParameterGroup(
                kind="dense",
                parameters=6_738_415_616,
                layers=32,
                dtype="bf16",
                stored_bytes=2,
                gradient_bytes=2,
                master_bytes=0,
                state_bytes=4,
            ),
        ),
        optimizer=Optimizer(name="adamw", implementation="foreach", temporary_bytes=2),
        activations=(
            ActivationBlock(
                name="block", layers=32, input_bytes=quantity(3.4e7, "bytes"), split_by=("tensor", "sequence")
            ),
        ),
        data_set=DataSet(total_bytes=quantity(1e12, "bytes"), files=count(9e6)),
    )


def task(id: str = "t1") -> Task:
    return Task(
        id=id,
        load=load(),
        layout=Layout(data_parallel=8, zero_stage=3),
        share=Share(gpus=2, gpu_indexes=(0, 1), stores=(StoreShare(store="nas", rate_share=0.25),)),
        runs_per_month=count(12),
        deadline_seconds=quantity(36_000, "seconds", origin="agreed"),
        start=StartWindow(
            first_date="2027-01-01", last_date="2027-03-31", probability_share=quantity(0.6, "share")
        ),
        growth=Growth(frequency_factor=quantity(1.5, "times", low=1.0, high=2.0)),
    )


def site() -> Site:
    strip = PowerStrip(feed="A", free_c19=count(4), rated_amperes=quantity(32, "amperes"))
    return Site(
        name="room 2",
        racks=(
            Rack(
                name="r1",
                free_rack_units=quantity(20, "rack_units"),
                load_kilograms=quantity(800, "kilograms"),
                strips=(strip,),
            ),
        ),
        feeds=(
            Feed(name="A", voltage_volts=quantity(220, "volts"), breaker_amperes=quantity(32, "amperes")),
        ),
        cooling=Cooling(spare_watts=quantity(2e4, "watts"), inlet_celsius=quantity(24, "celsius")),
        switches=(
            Switch(
                name="s1", free_ports=count(6), port_bytes_per_second=quantity(2.5e10, "bytes_per_second")
            ),
        ),
        stores=(store(),),
        delivery=Delivery(door_width_metres=quantity(0.9, "metres")),
        noise_limit_decibels=quantity(50, "decibels"),
    )


def offer() -> Offer:
    price = Price(amount=1_400_000, currency="CNY", tax="included", tax_share=0.13, date="2026-11-20")
    return Offer(
        id="q1-a",
        machine=machine(),
        lines=(OfferLine(text="8x H100", price=price, count=count(1), part="gpu"),),
        total=price,
        quoted_on="2026-11-20",
        valid_until="2026-12-20",
        delivery_seconds=quantity(30 * 86_400, "seconds"),
        service=Service(warranty_seconds=quantity(3 * 365 * 86_400, "seconds"), keep_disks=True),
    )


def fit() -> Fit:
    held = quantity(6.2e10, "bytes", origin="estimated", low=5.8e10, high=6.6e10)
    step = quantity(1.4, "seconds", origin="estimated")
    return Fit(
        tier="analytic",
        memory=MemoryFit(
            phases=(
                PhaseMemory(
                    phase="optimizer", alive_bytes=held, parts=(PartBytes(part="states", alive_bytes=held),)
                ),
            ),
            peak_phase="optimizer",
            allocated_bytes=held,
            reserved_bytes=held,
            device_bytes=held,
            card_bytes=quantity(8.5e10, "bytes", origin="catalogue"),
            fits=True,
        ),
        step=Breakdown(total=step, parts=(Part(name="compute", seconds=step, share=1.0),)),
        occupied=None,
        waits_for="tensor_rate",
        headroom=(Headroom(resource="gpu_memory", free_share=quantity(0.22, "share")),),
        provenance=Provenance(
            load_hash="a" * 64,
            machine_hash="b" * 64,
            layout=Layout(data_parallel=8),
            share=Share(),
            versions=Versions(model="1", facts="2026-12-01"),
        ),
        guesses=(Finding(code="x.y", severity="note"),),
    )


def advice() -> Advice:
    change = Change(steps=(Finding(code="x.lora", severity="note", params={"rank": 16}),), batch=2)
    return Advice(largest_batch=0, perhaps_batch=1, longest=0, change=change, smallest_card="B300-SXM-288GB")


def estimate() -> Estimate:
    return Estimate(
        description=Description(name="llama-3.1-8b", kind="language", gpus=8),
        gpu="A100-SXM4-80GB",
        gpus=8,
        counted_parameters=8_030_261_248,
        fit=fit(),
        advice=advice(),
        per_second=quantity(2940.0, "per_second", origin="estimated", low=2050.0, high=3890.0),
        neighbours=(
            Neighbour(
                what="full, batch 1",
                gpu="A100-SXM4-80GB",
                counter="allocated",
                measured=quantity(6.1e10, "bytes", origin="measured", source="a paper"),
                error_share=-0.04,
                source="a paper",
            ),
        ),
    )


def fit_table() -> FitTable:
    why = Finding(code="x.fits", severity="note")
    card = CardFit(
        gpu="L40S",
        memory_bytes=quantity(4.8e10, "bytes", origin="catalogue"),
        verdict="fits_with_change",
        device_bytes=quantity(4.1e10, "bytes", origin="estimated"),
        advice=advice(),
        step_seconds=quantity(0.7, "seconds", origin="estimated"),
        relative_rate=0.6,
        confidence="B",
        why=why,
    )
    description = Description(name="resnet-50", kind="vision", network="resnet-50", image=(224, 224))
    return FitTable(description=description, reference="L40S", cards=(card,), traps=(why,), guesses=(why,))


EXAMPLES: tuple[Any, ...] = (
    estimate(),
    fit_table(),
    Brief(items=(BriefItem(code="a.b", group="time", word="torch 2.5"),), logs=1),
    load(),
    machine(),
    rented(),
    task(),
    Portfolio(name="all", tasks=(task("t1"), task("t2"))),
    site(),
    offer(),
    fit(),
    Measurement(
        quantity="disk.read_bytes_per_second",
        value=quantity(6.8e9, "bytes_per_second", origin="measured"),
        context={"tool": "fio 3.36"},
    ),
    Calibration(
        version="1",
        constants=(
            Constant(
                name="matmul_share", gpu_family="Hopper", value=quantity(0.8, "share"), n=9, spread_share=0.04
            ),
        ),
    ),
)
