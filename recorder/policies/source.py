"""Policies that are not the recorder's own: where they are, and under which name they are recorded.

A source is resolved once, before the recording, and every worker makes the policy from it. Its name and
version say which episodes are there already.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from mango_trace.errors import UnknownNameError, UsageError
from recorder.policies.chunks import ChunkedPolicy, Model
from recorder.policies.lerobot import LerobotModel, check_installed, digest
from recorder.policies.python import PythonModel, find
from recorder.policies.registry import POLICIES
from recorder.policies.wire.deadlines import Deadlines

Kind = Literal["openpi", "gr00t", "python", "lerobot"]

FORMS: Final = ("ws://host:port", "gr00t://host:port", "package.module:name", "lerobot:FOLDER")
"""Forms of sources, as the command line takes them."""

REPLAN_STEPS: Final = {"openpi": 5, "gr00t": 8}
"""Actions of a served chunk that are played where nothing else is said, as in the projects' own loops."""

IMAGE_SIZE: Final = 256
"""Pixels a side of rendered images where nothing else is said, as in those loops."""

_LEROBOT: Final = "lerobot:"
_PYTHON: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """What the command line says of a policy besides its address.

    Attributes:
        name: Name under which it is recorded; its address by default.
        version: Its version; by default what it says of itself, or a digest of its weights.
        replan_steps: Actions of each chunk that are played.
        image_size: Pixels a side at which cameras are rendered.
        deadlines: How long it is waited for.
    """

    name: str | None = None
    version: str | None = None
    replan_steps: int | None = None
    image_size: int | None = None
    deadlines: Deadlines = field(default_factory=Deadlines)


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A policy that every worker makes for itself.

    Attributes:
        kind: How it is spoken to.
        address: Where it is.
        name: Name under which it is recorded.
        version: Changes whenever the same episode would give other actions, as far as that is known.
        replan_steps: Actions of each chunk that are played; ``None`` plays all of them.
        image_size: Pixels a side at which cameras are rendered; ``None`` renders nothing.
        deadlines: How long it is waited for.
        expected: Digest of what its server must say of itself; ``None`` takes anything.
    """

    kind: Kind
    address: str
    name: str
    version: str
    replan_steps: int | None
    image_size: int | None
    deadlines: Deadlines
    expected: str | None = None

    @property
    def served(self) -> bool:
        """Whether a server answers for it."""
        return self.kind in REPLAN_STEPS

    def make(self) -> ChunkedPolicy:
        """Make the policy; it connects, or loads its weights, when its first episode begins."""
        return ChunkedPolicy(self.name, self.version, self._model(), self.replan_steps)

    def _model(self) -> Model:
        if self.kind == "python":
            return PythonModel(self.address)
        if self.kind == "lerobot":
            return LerobotModel(Path(self.address))
        model: Model = _wire(self.kind)[0](self.address, self.deadlines, self.expected)
        return model


def resolve(text: str, options: PolicyOptions) -> PolicySource | None:
    """Find out what ``--policy`` stands for.

    Args:
        text: A policy of the recorder's own, or one of :data:`FORMS`.
        options: What else is said of it.

    Returns:
        The source; ``None`` for a policy of the recorder's own.

    Raises:
        UnknownNameError: It is neither.
        UsageError: A name or options that do not go with it; or an extra that is missing.
        PolicyError: The server does not answer.
    """
    if options.name in POLICIES:
        raise UsageError(f"--policy-name {options.name} is the name of a policy of the recorder's own")
    if text in POLICIES:
        if options != PolicyOptions(deadlines=options.deadlines):
            raise UsageError(f"policy {text} takes no name, version, chunks or images")
        return None
    if text.startswith(("ws://", "wss://")):
        return _served("openpi", text, options)
    if text.startswith("gr00t://"):
        return _served("gr00t", text, options)
    if text.startswith(_LEROBOT):
        return _lerobot(text, options)
    if _PYTHON.fullmatch(text):
        return _python(text, options)
    raise UnknownNameError("policy", text, (*POLICIES, *FORMS))


def _served(kind: Kind, url: str, options: PolicyOptions) -> PolicySource:
    connection, shown = _wire(kind)
    name: str = shown(url)
    model = connection(url, options.deadlines)
    try:
        expected, metadata = model.connect()
    finally:
        model.close()
    version = options.version
    if version is None:
        version = f"served-{expected}" if metadata else "0"
        if not metadata:
            _LOG.warning(
                "%s says nothing of its policy: another model at this address would count as the same one; "
                "--policy-version and --policy-name tell them apart",
                name,
            )
    source = PolicySource(
        kind=kind,
        address=url,
        name=name,
        version=version,
        replan_steps=REPLAN_STEPS[kind],
        image_size=IMAGE_SIZE,
        deadlines=options.deadlines,
        expected=expected,
    )
    return _asked(source, options)


def _python(address: str, options: PolicyOptions) -> PolicySource:
    found = find(address)
    version, image_size = getattr(found, "version", "0"), getattr(found, "image_size", None)
    source = PolicySource(
        kind="python",
        address=address,
        name=address,
        version=options.version or (version if isinstance(version, str) else "0"),
        replan_steps=None,
        image_size=image_size if isinstance(image_size, int) else None,
        deadlines=options.deadlines,
    )
    return _asked(source, options)


def _lerobot(text: str, options: PolicyOptions) -> PolicySource:
    if options.replan_steps is not None:
        raise UsageError("--replan-steps is a matter of the policy's own n_action_steps in LeRobot")
    folder = Path(text.removeprefix(_LEROBOT))
    check_installed()
    source = PolicySource(
        kind="lerobot",
        address=str(folder.absolute()),
        name=f"{_LEROBOT}{folder.name}",
        version=options.version or digest(folder),
        replan_steps=None,
        image_size=IMAGE_SIZE,
        deadlines=options.deadlines,
    )
    return _asked(source, options)


def _asked(source: PolicySource, options: PolicyOptions) -> PolicySource:
    """The source as the options want it; its version also says how it is asked."""
    replan_steps = options.replan_steps or source.replan_steps
    image_size = options.image_size or source.image_size
    version = source.version
    if replan_steps is not None:
        version += f"+replan{replan_steps}"
    if image_size != source.image_size:
        version += f"+images{image_size}"
    return replace(
        source,
        name=options.name or source.name,
        version=version,
        replan_steps=replan_steps,
        image_size=image_size,
    )


def _wire(kind: Kind) -> tuple[Any, Any]:
    """What speaks the protocol of a served policy, and what shows its address."""
    try:
        if kind == "gr00t":
            from recorder.policies.wire import gr00t

            return gr00t.Gr00tModel, gr00t.shown
        from recorder.policies.wire import openpi
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a served policy needs the extra 'wire' ({error}); pip install 'mango-trace[wire]' brings it"
        ) from error
    return openpi.OpenpiModel, openpi.shown
