"""Weighbridge: weigh a training load before the machine is bought.

Importing this package loads nothing but the standard library; each room loads what it needs. The kernel's
package answers when it is called, so that ``weighbridge.weigh("llama-3.1-8b", gpu="L40S", batch=1,
sequence=2048)`` is the whole of the Python interface; see ``estimate.weigh`` for its options.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from weighbridge import weigh

if TYPE_CHECKING:
    from weighbridge.schema.fit import Fit

__version__ = "0.1.0"


class _CallableKernel(ModuleType):
    """A package and the one question it is there for, under one name."""

    def __call__(self, task: Any, gpu: Any, **options: Any) -> Fit:
        from weighbridge.estimate.weigh import weigh as answer

        return answer(task, gpu, **options)


weigh.__class__ = _CallableKernel
