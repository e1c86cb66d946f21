"""Importing many files on all cores, with progress and resumption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from mango_trace.errors import MangoTraceError, UsageError
from mango_trace.store import Dataset, DatasetWriter
from mango_trace.store.layout import DATASET_FILE, DatasetInfo
from mango_trace.workers import KILLED, each
from recorder.importing.episode import Source, SourceEpisode, SourceTask
from recorder.importing.errors import reason, untrusted
from recorder.importing.formats import open_source
from recorder.importing.model_text import asset_roots
from recorder.importing.scenes import Placed, SceneBook
from recorder.importing.storing import failed_trace, trace_of


@dataclass(frozen=True, slots=True)
class Choice:
    """What is taken of the files, and how.

    Attributes:
        file_format: One of :data:`recorder.importing.formats.FORMATS`, or ``auto``.
        filter_key: Take only the episodes that this filter of the file keeps.
        numbers: Take only the episodes with these numbers.
        policy: Name of the policy that acted.
        assets: Folders with assets, asked before those of installed packages.
    """

    file_format: str = "auto"
    filter_key: str | None = None
    numbers: frozenset[int] | None = None
    policy: str = "unknown"
    assets: tuple[Path, ...] = ()


@dataclass(slots=True)
class FileReport:
    """What came of one file.

    Attributes:
        path: The file.
        total: Episodes in it.
        chosen: Episodes that were to be imported.
        imported: Episodes that were imported now.
        skipped: Episodes that were there already.
        errors: Episodes that could not be imported: name and reason.
        problem: Why nothing of the file could be imported, if so.
    """

    path: Path
    total: int = 0
    chosen: int = 0
    imported: int = 0
    skipped: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    problem: str | None = None


@dataclass(slots=True)
class ImportReport:
    """What came of all files."""

    files: list[FileReport] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, or 3 when anything could not be imported."""
        return 3 if any(report.problem or report.errors for report in self.files) else 0


@dataclass(frozen=True, slots=True)
class _Job:
    file: int
    path: Path
    key: str


@dataclass(frozen=True, slots=True)
class _Done:
    job: _Job
    skipped: bool
    error: str | None


def import_files(
    paths: Sequence[Path],
    out: Path,
    choice: Choice | None = None,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Import the episodes of some files into a dataset.

    What comes out does not depend on workers or order. Episodes that the dataset holds with the same
    content are not imported again, so an interrupted import goes on where it stopped. An episode that
    cannot be imported is a row with its error; a file that cannot be read leaves nothing, nor does an
    episode that kills its process twice.

    Args:
        paths: Files, or folders of the formats that are folders.
        out: The dataset; created when it does not exist.
        choice: What is taken.
        workers: Processes.
        progress: Called with the number of episodes done and of all.

    Raises:
        UsageError: ``workers`` is less than 1, or a package that a format needs is not installed.
        DatasetError: ``out`` holds something else.
    """
    if workers < 1:
        raise UsageError(f"--workers must be at least 1, not {workers}")
    choice = choice or Choice()
    report = ImportReport([FileReport(path) for path in paths])
    jobs = [
        job for index, path in enumerate(paths) for job in _jobs(index, path, choice, report.files[index])
    ]
    there = _there(out)
    if jobs:
        DatasetWriter(out, DatasetInfo(name=out.name, made_by="mango-trace import")).close()
    for count, done in enumerate(_work(jobs, out, choice, there, workers), start=1):
        file = report.files[done.job.file]
        if done.error is not None:
            file.errors[done.job.key] = done.error
        elif done.skipped:
            file.skipped += 1
        else:
            file.imported += 1
        if progress is not None:
            progress(count, len(jobs))
    return report


def _jobs(index: int, path: Path, choice: Choice, report: FileReport) -> Iterator[_Job]:
    try:
        with untrusted(str(path)), closing(open_source(path, choice.file_format)) as source:
            keys = source.keys()
            report.total = len(keys)
            if choice.filter_key is not None:
                keys = source.filtered(choice.filter_key)
    except UsageError:
        raise
    except MangoTraceError as error:
        report.problem = reason(error)
        return
    if choice.numbers is not None:
        keys = [key for key in keys if int(key.rpartition("_")[2]) in choice.numbers]
    report.chosen = len(keys)
    if not keys:
        report.problem = f"{path}: 0 of {report.total} episodes kept"
        return
    yield from (_Job(index, path, key) for key in keys)


def _there(out: Path) -> frozenset[str]:
    if not (out / DATASET_FILE).exists():
        return frozenset()
    metadata = [record.metadata for record in Dataset(out).records]
    return frozenset(one.source for one in metadata if one.source and one.ended != "error")


def _work(
    jobs: Sequence[_Job], out: Path, choice: Choice, there: frozenset[str], workers: int
) -> Iterator[_Done]:
    take = partial(_import_one, out=out, choice=choice, there=there)
    if workers == 1 or len(jobs) < 2:
        try:
            yield from map(take, jobs)
        finally:
            _close_all()
        return
    # Few are queued, in the order of the files: a scene is slow to make.
    for job, done in each(take, jobs, workers, at_once=workers + 1):
        yield done or _Done(job, False, f"the process that imported it {KILLED}")


@lru_cache(maxsize=1)
def _writer(out: Path) -> DatasetWriter:
    return DatasetWriter(out)


@lru_cache(maxsize=1)
def _book(assets: tuple[Path, ...]) -> SceneBook:
    return SceneBook(asset_roots(assets))


@lru_cache(maxsize=1)
def _source(path: Path, file_format: str) -> Source:
    return open_source(path, file_format)


def _close_all() -> None:
    for cached in (_writer, _book, _source):
        cached.cache_clear()


def _import_one(job: _Job, out: Path, choice: Choice, there: frozenset[str]) -> _Done:
    """Import one episode in this process, which keeps file, scenes and writer for the next."""
    name = f"{job.path.name}#{job.key}"
    where = f"{job.path}: {job.key}"
    try:
        with untrusted(where):
            source = _source(job.path, choice.file_format)
    except UsageError:
        raise
    except MangoTraceError as error:  # it was one a moment ago; nothing is known for a row
        return _Done(job, False, reason(error))
    writer = _writer(out)
    task, number = source.task, int(job.key.rpartition("_")[2])
    try:
        with untrusted(where):
            episode = source.read(job.key)
            name = f"{name}@{episode.digest}"
            if name in there:
                return _Done(job, True, None)
            task = episode.task or task
            placed = _place(source, episode, task, choice, job.key)
            trace = trace_of(episode, task, placed, source=name, policy=choice.policy)
        writer.add_scene(placed.package)
        writer.add(trace)
    except UsageError:
        raise
    except MangoTraceError as error:
        said = reason(error)
        package, trace = failed_trace(
            task, key=job.key, number=number, source=name, policy=choice.policy, reason=said
        )
        writer.add_scene(package)
        writer.add(trace)
        return _Done(job, False, said)
    return _Done(job, False, None)


def _place(source: Source, episode: SourceEpisode, task: SourceTask, choice: Choice, key: str) -> Placed:
    def first_xml() -> str:
        first = source.keys()[0]
        if first == key:
            return episode.xml
        with untrusted(first):  # what is wrong with the first is said where it is imported itself
            return source.read(first).xml

    return _book(choice.assets).place(task, episode.xml, first_xml, key)
