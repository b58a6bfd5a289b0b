"""One fixed colour for each phase, everywhere; readable with the common colour-vision deficiencies.

The hues are those of Okabe and Ito (2008) and of Tol's "muted" scheme. Every shape carries its light colour
as a plain attribute, so a drawing is right in any viewer; ``chart_css`` overrides it through variables, so a
page can be dark. Colours are never the only sign: bars have labels and the unattributed part is hatched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Colour:
    """A role's colour on a light and on a dark ground."""

    light: str
    dark: str


PHASES: Final[dict[str, Colour]] = {
    "data_wait": Colour("#d55e00", "#f0813a"),
    "host_to_device": Colour("#e69f00", "#f0b429"),
    "forward": Colour("#56b4e9", "#7cc7f2"),
    "backward": Colour("#1f4e8c", "#4f7fc0"),
    "compute": Colour("#0072b2", "#3d9bdc"),
    "communication": Colour("#009e73", "#2fc39a"),
    "optimizer": Colour("#e4d83a", "#efe46b"),
    "unattributed": Colour("#8b929c", "#8f98a5"),
    "start_up": Colour("#aa9cc4", "#b9abd6"),
    "steps": Colour("#5566b5", "#8d9be6"),
    "evaluation": Colour("#cc79a7", "#e29ac2"),
    "checkpoints": Colour("#882255", "#c4507f"),
    "gaps": Colour("#b7bcc4", "#6b7380"),
}

ROLES: Final[dict[str, Colour]] = {
    "ink": Colour("#1c2430", "#e8ecf2"),
    "quiet": Colour("#596273", "#a8b1bf"),
    "line": Colour("#c9cfd8", "#3d4654"),
    "ground": Colour("#ffffff", "#161b22"),
    "track": Colour("#eceff3", "#262d38"),
    "band": Colour("#b9c6d8", "#46566d"),
    "step": Colour("#33475f", "#c3d0e2"),
    "alarm": Colour("#b3261e", "#ff8a80"),
    "good": Colour("#17703f", "#5fd08f"),
}

# The same thing under the names that events and other records use.
SAME_AS: Final[dict[str, str]] = {
    "checkpoint": "checkpoints",
    "exposed_communication": "communication",
    "wait": "data_wait",
    "compute_undivided": "compute",
    "undivided": "unattributed",
    "startup": "start_up",
    "gap": "gaps",
    "training": "steps",
    "restart": "alarm",
    "out_of_memory": "alarm",
}


def role_of(name: str) -> str:
    """The palette entry of a phase, an event kind or a role; an unknown name is drawn as unattributed."""
    name = SAME_AS.get(name, name)
    return name if name in PHASES or name in ROLES else "unattributed"


def colour_of(name: str) -> Colour:
    """The colour of ``role_of(name)``."""
    role = role_of(name)
    return PHASES.get(role) or ROLES[role]


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb" (WCAG 2.2)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2), 1..21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def text_on(colour: str) -> str:
    """Black or white, whichever reads better on ``colour``."""
    return "#000000" if contrast(colour, "#000000") >= contrast(colour, "#ffffff") else "#ffffff"


def chart_css() -> str:
    """The rules that give drawings in a page their colours, for light, dark and print."""
    everything = {**ROLES, **PHASES}

    def variables(dark: bool) -> str:
        lines = []
        for name, colour in everything.items():
            value = colour.dark if dark else colour.light
            lines.append(f"--wb-{name}:{value};")
            if name in PHASES:
                lines.append(f"--wb-on-{name}:{text_on(value)};")
        return "".join(lines)

    rules = [
        f":root{{{variables(False)}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(True)}}}}}",
    ]
    for name, colour in everything.items():
        rules.append(f".wb-f-{name}{{fill:var(--wb-{name},{colour.light})}}")
        rules.append(f".wb-s-{name}{{stroke:var(--wb-{name},{colour.light})}}")
        if name in PHASES:
            rules.append(f".wb-o-{name}{{fill:var(--wb-on-{name},{text_on(colour.light)})}}")
    return "\n".join(rules)
