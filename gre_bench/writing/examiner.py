"""Opens an LM of the models file as an examiner, and gives it an identity for signatures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import LMIdentity, Sampling, digest
from gre_bench.prompts.library import load
from gre_bench.writing.catalog import WriterContext

if TYPE_CHECKING:
    from gre_bench.writing.http_writer import HttpWriter, LogprobWriter


@dataclass(frozen=True, slots=True)
class ExaminerLM:
    """An LM that grades texts.

    - *writer*: sends prompts to the LM.
    - *sampling*: the LM's sampling options.
    """

    writer: HttpWriter
    sampling: Sampling

    def identity(self, prompt: str) -> LMIdentity:
        """Returns the identity of this LM and of the prompt named *prompt*, for use in signatures."""
        return LMIdentity(
            self.writer.identity, "as its endpoint states", f"sampling {digest(asdict(self.sampling))[:8]}",
            dtype="not stated", quantisation="not stated", attention="not stated",
            template_digest=f"prompt {load(prompt).sha256}",
        )  # fmt: skip


def open_examiner(name: str | None, writer_context: WriterContext) -> ExaminerLM:
    """Opens the LM *name* of the models file as an examiner; sends nothing to the LM yet.

    Raises `SettingsError` if *name* is None or unknown.
    """
    from gre_bench.catalogs.models import load as load_models
    from gre_bench.writing.http_writer import HttpWriter

    models = load_models(writer_context.models)
    if name is None or name not in models:
        wrong = "grading needs an LM" if name is None else f"no LM {name!r} in the models file"
        raise SettingsError(f"{wrong}: --set scoring.examiner=NAME; known: {', '.join(models)}")
    model = models[name]
    return ExaminerLM(writer_context.writer(model, HttpWriter), model.sampling)


def open_logprobs(name: str | None, writer_context: WriterContext) -> LogprobWriter:
    """Opens the LM *name* of the models file as a writer that also returns the log-probabilities of tokens.

    Raises `SettingsError` if *name* is None or unknown.
    """
    from gre_bench.catalogs.models import load as load_models
    from gre_bench.writing.http_writer import LogprobWriter

    open_examiner(name, writer_context)
    model = load_models(writer_context.models)[str(name)]
    return writer_context.writer(model, LogprobWriter)
