"""Object code of loops, by numba. Importing this module imports numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, NoneType
from typing import Any, Final

import llvmlite.binding as llvm
from numba import carray, njit, types

from mango_trace.jit.linking import target_machine
from mango_trace.jit.signature import Array, Group, Part, Signature, Value

_Function = Callable[..., Any]

_OPTIONS: Final = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_ENTRY: Final = types.void(
    types.CPointer(types.int64),
    types.CPointer(types.int64),
    types.CPointer(types.voidptr),
    types.CPointer(types.float64),
)
"""Where the result goes, and the words of the arguments: as integers, as addresses and as numbers."""

_MATHEMATICS: Final = frozenset({"cos", "sin", "sqrt"})
"""What a loop may call outside of it: functions of the C library, which every process has."""

_EXTERNAL: Final = llvm.Linkage.external


def object_code(
    function: _Function, signature: Signature, parts: Mapping[_Function, Part], symbol: str
) -> bytes:
    """Compile a loop.

    Args:
        function: The plain function.
        signature: What it takes and gives.
        parts: What it may call.
        symbol: Name that the machine code has in the object file.

    Returns:
        An object file for the processor of this machine.

    Raises:
        TypeError: If it calls what a process without numba may lack.
        numba.core.errors.NumbaError: If it cannot be compiled, or allocates.
    """
    entry = njit(_ENTRY, **_OPTIONS)(_entry(_translated(Part(function), parts, {}), signature))
    module = llvm.parse_assembly(entry.inspect_llvm(_ENTRY.args))
    machine = target_machine()
    _leave(module, symbol, machine)
    outside = {
        one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")
    }
    if unknown := outside - _MATHEMATICS:
        raise TypeError(
            f"{function.__qualname__} calls {', '.join(sorted(unknown))}, which loops do not know"
        )
    return bytes(machine.emit_object(module))


def _translated(part: Part, parts: Mapping[_Function, Part], known: dict[Part, Any]) -> Any:
    """A function as numba knows it, with what it calls as numba knows these."""
    if part not in known:
        plain = part.function
        found = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
        called = {
            name: _translated(parts[one], parts, known)
            for name, one in found.items()
            if isinstance(one, FunctionType) and one in parts
        }
        copy = FunctionType(plain.__code__, {**plain.__globals__, **called}, plain.__name__)
        inline = "always" if part.inlined else "never"
        known[part] = njit(_nrt=False, inline=inline, **_OPTIONS)(copy)
    return known[part]


def _entry(function: Any, signature: Signature) -> _Function:
    """A function of words that calls one with arrays, tuples and numbers.

    numba has no functions of any number of arguments of several types, so it is written out.
    """
    names: dict[str, Any] = {"carray": carray, "function": function}
    n_words = 0

    def read(value: Value) -> str:
        nonlocal n_words
        place = n_words
        n_words += value.words
        if isinstance(value, Array):
            names[value.dtype.name] = value.dtype.type
            shape = "".join(f"integers[{place + 1 + axis}], " for axis in range(value.axes))
            return f"carray(addresses[{place}], ({shape}), {value.dtype.name})"
        if value.kind is float:
            return f"floats[{place}]"
        return f"integers[{place}]" + (" != 0" if value.kind is bool else "")

    arguments = []
    for number, parameter in enumerate(signature.parameters):
        if isinstance(parameter, Group):
            names[f"group_{number}"] = parameter.kind
            arguments.append(f"group_{number}({', '.join(map(read, parameter.fields))})")
        else:
            arguments.append(read(parameter))
    target = {NoneType: "", int: "result[0] = ", bool: "result[0] = 0 != "}[signature.gives]
    text = f"def entry(result, integers, addresses, floats): {target}function({', '.join(arguments)})"
    exec(text, names)  # noqa: S102  nothing in it comes from outside
    made: _Function = names["entry"]
    return made


def _leave(module: Any, symbol: str, machine: Any) -> None:
    """Leave nothing but a module's one entry, which is given a name, and what it needs."""
    (entry,) = [one for one in module.functions if not one.is_declaration and one.linkage == _EXTERNAL]
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration:
            one.linkage = "internal"
    entry.linkage, entry.name = "external", symbol
    # What takes away all that is not called has other names in other versions; the pipelines have one.
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
