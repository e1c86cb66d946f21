"""The models of a run by role, and the transcript of everything they were asked."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from generator.errors import ModelError, StoppedError
from generator.models.base import LanguageModel, Request, Settings, Usage, Value
from generator.models.pace import CONCURRENCY
from generator.prompting import LATEST, check_version, mentions, prompts
from mango_trace.errors import UsageError

_BLOCK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """Who answers for a role.

    Attributes:
        model: The model.
        settings: How it is to answer.
        prompt_version: Which texts it is asked with.

    Raises:
        UnknownNameError: There is no such version.
    """

    model: LanguageModel
    settings: Settings = field(default_factory=Settings)
    prompt_version: str = LATEST

    def __post_init__(self) -> None:
        """Refuse a version that does not exist, before anything is asked."""
        check_version(self.prompt_version)


class Transcript:
    """Calls as JSON lines, one after the other as they are answered.

    Args:
        path: The file; lines are added at its end. A last one that was cut off is removed. ``None`` keeps
            nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        if path is not None:
            _end_at_line(path)
        self._file = None if path is None else path.open("a", encoding="utf-8")

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write one line."""
        if self._file is None:
            return
        line = json.dumps(entry, ensure_ascii=False, sort_keys=True)
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class Team:
    """Asks the model of a role, and writes down what was said.

    Args:
        members: Who answers, by role.
        transcript: Where calls are written down.
        about: What every question is about, beside its own data.
        concurrency: Most items (atomic tasks, instructions) that are negotiated about at once.

    Raises:
        UsageError: The texts of a member do not say what to make of that.
    """

    def __init__(
        self,
        members: Mapping[str, Member],
        transcript: Transcript,
        about: Mapping[str, Any] | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self.concurrency = concurrency
        self._members, self._transcript, self._about = members, transcript, dict(about or {})
        for role, member in members.items():
            if unknown := [name for name in self._about if not mentions(member.prompt_version, name)]:
                raise UsageError(
                    f"version {member.prompt_version} of the prompts, which the {role} is asked with, "
                    f"knows no {' and no '.join(unknown)}; version {LATEST} does"
                )
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._usage: dict[str, Usage] = {}

    def ask(self, what: str, inputs: Mapping[str, Any], reply: type[Value], turn: int = 1) -> Value:
        """Ask a question.

        Args:
            what: Name of its prompt.
            inputs: What it is about: JSON data.
            reply: Type of the reply.
            turn: Which time it is asked in a negotiation.

        Returns:
            The reply, validated.

        Raises:
            ModelError: See :meth:`LanguageModel.ask`; the call is in the transcript with its error.
            StoppedError: The run was stopped; nothing is asked.
        """
        if self._stopped.is_set():
            raise StoppedError(what)
        member, inputs = self._members[prompts()[what].role], {**inputs, **self._about}
        prompt = prompts(member.prompt_version)[what]
        request = Request(
            role=prompt.role,
            task=what,
            prompt_version=member.prompt_version,
            system=prompt.system,
            question=prompt.question,
            inputs=inputs,
            reply=reply,
            settings=member.settings,
            turn=turn,
        )
        entry: dict[str, Any] = {
            "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "role": prompt.role,
            "what": what,
            "prompt_version": member.prompt_version,
            "model": member.model.name,
            "inputs": inputs,
        }
        try:
            answer = member.model.ask(request)
        except Exception as error:
            spent = error.usage if isinstance(error, ModelError) else None
            if spent is not None:
                entry["usage"] = asdict(spent)
                self._count(what, spent)
            self._transcript.add({**entry, "error": f"{type(error).__name__}: {error}"})
            raise
        said = {"reply": answer.text, "usage": asdict(answer.usage), "replayed": answer.replayed}
        self._transcript.add({**entry, **said})
        if not answer.replayed:  # else it was paid when it was recorded
            self._count(what, answer.usage)
        return answer.value

    def _count(self, what: str, usage: Usage) -> None:
        with self._lock:
            self._usage[what] = self._usage.get(what, Usage()) + usage

    def stop(self) -> None:
        """Ask nothing more: what others are about to ask is refused."""
        self._stopped.set()

    def usage(self) -> dict[str, Usage]:
        """What was used so far, by what was asked; recorded calls use nothing."""
        with self._lock:
            return dict(self._usage)


def _end_at_line(path: Path) -> None:
    """Cut a file after its last whole line."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            whole = file.read(end - start).rfind(b"\n")
            if whole >= 0:
                file.truncate(start + whole + 1)
                return
            end = start
        file.truncate(0)
