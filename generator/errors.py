"""Errors of talking to language models, one class for each thing that goes wrong.

::

    MangoTraceError
    ├── NotAcceptedError              exit 3  the budget of rounds is spent, and a library is still refused
    ├── UnwrittenError                exit 3  some items have none; says which, and why
    └── ModelError                    exit 3  no usable answer; says what was spent on it
        ├── SetupError                exit 2  the call itself is wrong
        │   ├── MissingKeyError       no key in the environment
        │   ├── MissingPackageError   the extra ``generate`` is not installed
        │   ├── ReplyTypeError        a reply type that no response schema can say
        │   └── RequestRefusedError   the server refuses the request: key, model name, parameter
        ├── BlockedError              the provider's filters said no; asking again changes nothing
        │   ├── PromptBlockedError    the question was blocked
        │   └── SafetyBlockError      the reply was
        ├── TokenLimitError           the reply was cut off; says how much went into thinking
        ├── BadReplyError             an answer came, but not what was asked for
        │   ├── EmptyReplyError       nothing in it
        │   ├── UnfinishedReplyError  the model stopped for a reason of its own
        │   ├── OversizedAnswerError  larger than any reply that is taken
        │   ├── ProseError            words around the answer
        │   └── MalformedReplyError   not the JSON that was asked for, with paths
        ├── TransportError            the server may do better later
        │   ├── RateLimitedError      429
        │   ├── ServerError           5xx, or no answer of that API
        │   └── ConnectionFailedError nobody there, or the connection broke
        ├── DeadlineError             no answer in time
        ├── BudgetSpentError          the run may not call, read or pay any more
        ├── StoppedError              the run was stopped; nothing more is asked
        ├── CassetteError             a recorded call cannot be read
        └── NoRecordedCallError       a request that was not recorded

What a server or a model wrote is quoted shortly and escaped; a key is never in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mango_trace.errors import MangoTraceError, Problem, quote

if TYPE_CHECKING:
    from generator.models.base import Usage


class NotAcceptedError(MangoTraceError):
    """No library was accepted within the budget of rounds.

    Args:
        what: What was to be written.
        why: What was still wrong with it.
        kept: Where the candidate is that came nearest, if there is one.
    """

    exit_code = 3

    def __init__(self, what: str, why: str, kept: Path | None) -> None:
        where = f"; what came nearest is {kept}" if kept else ""
        super().__init__(f"no library of {what} was accepted: {why or 'nobody said why'}{where}")


class UnwrittenError(MangoTraceError):
    """A model could not be asked about some of the items of a library.

    Args:
        what: What was to be written.
        errors: What went wrong, by item.
        n_all: How many items there are.
    """

    exit_code = 3

    def __init__(self, what: str, errors: Mapping[str, MangoTraceError], n_all: int) -> None:
        self.errors = dict(errors)
        lines = "\n".join(f"  {item}: {error}" for item, error in errors.items())
        super().__init__(f"{what}: {n_all - len(errors)} of {n_all} written\n{lines}")


class ModelError(MangoTraceError):
    """A language model gave no usable answer.

    Attributes:
        usage: What was spent all the same, retries included; ``None`` if nothing was sent.
    """

    exit_code = 3

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.usage: Usage | None = None

    def __str__(self) -> str:
        calls = self.usage.calls if self.usage else 0
        return super().__str__() + (f" (after {calls} calls)" if calls > 1 else "")


class SetupError(ModelError):
    """The call itself is wrong."""

    exit_code = 2


class MissingKeyError(SetupError):
    """No key in the environment.

    Args:
        variable: The environment variable that would hold it.
        model: The model that needs it.
    """

    def __init__(self, variable: str, model: str) -> None:
        self.variable = variable
        super().__init__(f"no key for {model}: set the environment variable {variable}")


class MissingPackageError(SetupError):
    """An SDK is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; the extra mango-trace[generate] brings it")


class ReplyTypeError(SetupError):
    """A reply type that no response schema can say.

    Args:
        name: Name of the reply type.
        where: Path of the field.
        reason: Why not, and what to write instead.
    """

    def __init__(self, name: str, where: str, reason: str) -> None:
        self.where = where
        super().__init__(f"reply type {name}, {where or 'as a whole'}: {reason}")


class RequestRefusedError(SetupError):
    """The server refuses the request as it is.

    Args:
        model: The model that was asked.
        status: HTTP status.
        text: What the server says.
    """

    def __init__(self, model: str, status: int, text: str) -> None:
        self.status = status
        hint = {401: "; is the key right?", 403: "; is the key right?", 404: "; is the model's name right?"}
        redirect = " (redirects are not followed)" if 300 <= status < 400 else ""
        super().__init__(f"{model}: refused with {status}{redirect}: {quote(text)}{hint.get(status, '')}")


class BlockedError(ModelError):
    """The provider's filters said no.

    Args:
        model: The model that was asked.
        reason: What the provider calls it.
        details: What it says beyond that.
    """

    what = "blocked"

    def __init__(self, model: str, reason: str, details: str = "") -> None:
        self.reason = reason
        super().__init__(
            f"{model}: {self.what}: {quote(reason)[1:-1]}" + (f", {quote(details)}" if details else "")
        )


class PromptBlockedError(BlockedError):
    """The question was blocked before the model saw it."""

    what = "the prompt was blocked"


class SafetyBlockError(BlockedError):
    """The reply was blocked or refused."""

    what = "the reply was blocked"


class TokenLimitError(ModelError):
    """The reply was cut off at its limit of tokens.

    Args:
        model: The model that was asked.
        limit: The limit.
        thinking_tokens: How many tokens went into thinking.
        reply_tokens: How many went into the reply.
    """

    def __init__(self, model: str, limit: int, thinking_tokens: int, reply_tokens: int) -> None:
        self.thinking_tokens = thinking_tokens
        self.reply_tokens = reply_tokens
        super().__init__(
            f"{model}: cut off at the limit of {limit} tokens: {thinking_tokens} went into thinking, "
            f"{reply_tokens} into the reply; raise reply_tokens or lower thinking_tokens"
        )


class BadReplyError(ModelError):
    """An answer came, but not what was asked for. A model that samples may do better when asked again."""


class EmptyReplyError(BadReplyError):
    """The model ended normally and said nothing."""

    def __init__(self, model: str) -> None:
        super().__init__(f"{model}: the reply is empty")


class UnfinishedReplyError(BadReplyError):
    """The model stopped for a reason of its own.

    Args:
        model: The model that was asked.
        reason: What the provider calls it.
    """

    def __init__(self, model: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{model}: stopped early: {quote(reason)[1:-1]}")


class OversizedAnswerError(BadReplyError):
    """The answer is larger than any reply that is taken; the rest was not read.

    Args:
        model: The model that was asked.
        limit: How many bytes were read.
    """

    def __init__(self, model: str, limit: int) -> None:
        super().__init__(f"{model}: the answer is larger than {limit >> 20} MiB")


class ProseError(BadReplyError):
    """There are words around the answer; nothing is cut out of them."""

    def __init__(self, model: str, before: str, after: str) -> None:
        words = " and ".join(
            f"{quote(text[:60])} {where}"
            for text, where in ((before, "before"), (after, "after"))
            if text.strip()
        )
        super().__init__(f"{model}: JSON alone was asked for, but there is {words} it")


class MalformedReplyError(BadReplyError):
    """The reply is not the JSON that was asked for.

    Args:
        model: The model that was asked.
        reply: Name of the reply type.
        problems: What is wrong, with paths such as ``args[1].args[0].op``.
    """

    def __init__(self, model: str, reply: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{model}: the reply is no {reply}:\n{lines}")


class TransportError(ModelError):
    """The server may do better later.

    Attributes:
        wait_s: Seconds that the server asks to wait; 0 if it does not say.
    """

    wait_s: float = 0.0


class RateLimitedError(TransportError):
    """Too many requests, or a quota is spent.

    Args:
        model: The model that was asked.
        text: What the server says.
        wait_s: Seconds that the server asks to wait.
    """

    def __init__(self, model: str, text: str, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        wait = f", asks to wait {wait_s:g} s" if wait_s else ""
        super().__init__(f"{model}: rate limited (429){wait}: {quote(text)}")


class ServerError(TransportError):
    """The server failed.

    Args:
        model: The model that was asked.
        status: HTTP status.
        text: What the server says.
        wait_s: Seconds that the server asks to wait.
    """

    def __init__(self, model: str, status: int, text: str, wait_s: float = 0.0) -> None:
        self.status = status
        self.wait_s = wait_s
        super().__init__(f"{model}: the server failed with {status}: {quote(text)}")


class ConnectionFailedError(TransportError):
    """Nobody is there, or the connection broke.

    Args:
        model: The model that was asked.
        url: Where.
        reason: Name of what happened.
    """

    def __init__(self, model: str, url: str, reason: str) -> None:
        super().__init__(f"{model}: no connection to {url}: {reason}")


class DeadlineError(ModelError):
    """No answer in time.

    Args:
        model: The model that was asked.
        seconds: How long it had.
    """

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(f"{model}: no answer within {seconds:.3g} s")


class BudgetSpentError(ModelError):
    """The run may not spend more.

    Args:
        what: ``"calls"``, ``"tokens"`` or ``"usd"``.
        limit: The budget.
        spent: What is spent, calls in flight at their most.
        needed: What the call could take at most.
    """

    def __init__(self, what: str, limit: float, spent: float, needed: float) -> None:
        self.what = what
        super().__init__(
            f"the run's budget of {limit:g} {what} is spent: {spent:g} are used or in use, "
            f"and this call may take {needed:g}"
        )


class StoppedError(ModelError):
    """The run was stopped.

    Args:
        what: What would have been asked.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"the run was stopped before {what} was asked")


class CassetteError(ModelError):
    """A recorded call cannot be read.

    Args:
        path: The file.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class NoRecordedCallError(ModelError):
    """A request was not recorded.

    Args:
        model: Name of the model.
        role: Who asked.
        task: What was asked.
        prompt_version: Version of the prompt.
        digest: Digest of the request.
    """

    def __init__(self, model: str, role: str, task: str, prompt_version: str, digest: str) -> None:
        self.digest = digest
        super().__init__(
            f"no recorded call of {model} by {role} for {task}, prompt version {prompt_version} "
            f"(digest {digest[:12]}): prompt, inputs, reply type, settings and model must all be as recorded"
        )
