"""Charts: SVG as text, for the page, the printed document and a file of its own alike.

Pure functions: records and numbers in, a string out. In each chart one function places the numbers in pixels
(tested by hand-worked figures) and another draws them. No script, no style sheet of its own: colours are
plain attributes that ``chart_css`` may override, see ``palette``.
"""

from __future__ import annotations

from weighbridge.report.charts.breakdown import breakdown_svg
from weighbridge.report.charts.busy import Strip, busy_svg
from weighbridge.report.charts.draw import standalone
from weighbridge.report.charts.lines import Bar, bar_svg, line_svg
from weighbridge.report.charts.memory import memory_svg
from weighbridge.report.charts.palette import chart_css
from weighbridge.report.charts.timeline import timeline_svg

__all__ = [
    "Bar",
    "Strip",
    "bar_svg",
    "breakdown_svg",
    "busy_svg",
    "chart_css",
    "line_svg",
    "memory_svg",
    "standalone",
    "timeline_svg",
]
