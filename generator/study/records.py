"""What runs wrote, on disk: one file a run, written again after each of its parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, field_validator

from mango_trace.errors import UsageError
from mango_trace.oracle.document import AnyModel, FrozenModel, load, read_text, validate
from mango_trace.oracle.model import Name
from mango_trace.store.layout import write_atomically

Count: TypeAlias = Annotated[int, Field(ge=0)]
Amount: TypeAlias = Annotated[float, Field(ge=0)]

_FILE: Final = "run.json"


class Part(FrozenModel):
    """What a module wrote.

    Attributes:
        document: Entries of a library, or an oracle; ``None`` where nothing usable came.
        accepted: Whether it was accepted; what was not is the best that there was.
        rounds: How many rounds it took; of module II those of its judge.
        why: Why there is nothing, or nothing that was accepted.
        calls: Calls of models, retries included.
        tokens: Their tokens.
        usd: Their price.
        seconds: Wall time; ``None`` where the part was interrupted, and answers of before were used again.
    """

    document: Any = None
    accepted: bool
    rounds: Count = 0
    why: str = ""
    calls: Count = 0
    tokens: Count = 0
    usd: Amount = 0.0
    seconds: Amount | None = 0.0

    @field_validator("document")
    @classmethod
    def _as_json(cls, document: Any) -> Any:
        """The same whether it was written just now or read: lists, and no tuples."""
        return json.loads(json.dumps(document))


class Run(FrozenModel):
    """One run of a configuration through the modules.

    Attributes:
        version: Version of this form.
        config: Who answered.
        configuration: What took part.
        number: Which run of it, from 1.
        identity: Digest of everything that the run depends on.
        tasks: Module I.
        oracles: Module II; ``None`` where it is left out.
        plans: Module III by task.
    """

    version: Literal[1] = 1
    config: Name
    configuration: Name
    number: Annotated[int, Field(ge=1)]
    identity: Name
    tasks: Part | None = None
    oracles: Part | None = None
    plans: Mapping[str, Part] = {}


class RunFolder:
    """The folder of one run: what it wrote, the transcript, the calls of models.

    Args:
        path: The folder; it is made when something is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def transcript(self) -> Path:
        """Everything that was asked and answered."""
        return self.path / "transcript.jsonl"

    @property
    def calls(self) -> Path:
        """Answers of models: of this run alone."""
        return self.path / "calls"

    def read(self, empty: Run) -> Run:
        """What the run wrote so far.

        Args:
            empty: The run as it begins.

        Raises:
            UsageError: What is there is of another configuration, or of other tasks.
            SpecificationError: The file is damaged.
        """
        path = self.path / _FILE
        if not path.exists():
            return empty
        found = read_document(path, Run)
        if found.identity != empty.identity:
            raise UsageError(
                f"{path}: a run with other models, switches or tasks than now; choose another --out, "
                "or remove the folder"
            )
        return found

    def write(self, run: Run) -> None:
        """Keep what the run wrote so far."""
        write_document(self.path / _FILE, run)


def read_document(path: Path, model: type[AnyModel]) -> AnyModel:
    """Read a document of the study.

    Raises:
        SpecificationError: With everything that is wrong in it, and where.
    """
    return validate(model, load(read_text(path), str(path)), str(path))


def write_document(path: Path, document: FrozenModel) -> None:
    """Write a document of the study, and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (document.model_dump_json(indent=1) + "\n").encode())
