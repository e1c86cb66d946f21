"""Object files as functions of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any, Final

import llvmlite.binding as llvm

_POINTERS: Final = [ctypes.c_void_p] * 6
_libraries: Final[list[Any]] = []
"""What was linked; it stays as long as the process."""
_numbers: Final = count()
"""Of libraries: the name of one that could not be linked is taken, too."""


def processor() -> str:
    """The processor of this machine, with all that it can do: code for another one may not run on it."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


@cache
def target_machine() -> Any:
    """What compiles for the processor of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(target_machine(), suppress_errors=True)


def link(object_file: bytes, symbol: str) -> Callable[..., int]:
    """Make a function of an object file callable; a call holds no lock of Python's.

    Args:
        object_file: The object file.
        symbol: Name of the function.

    Returns:
        A function of six addresses, whose result is 0, or else it raised something.

    Raises:
        RuntimeError: If the file is broken, or something in it is not to be found.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(object_file).add_current_process().export_symbol(symbol)
    library = builder.link(_linker(), f"{symbol}-{next(_numbers)}")
    _libraries.append(library)
    function: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, *_POINTERS)(library[symbol])
    return function
