"""The toy review of Xu et al. 2025, D.3 and D.4, as printed."""

from __future__ import annotations

TOY = """Summary Of The Paper:
This is the first sentence. This is the second sentence. This is the third sentence.
Strengths And Weaknesses:
This is the first sentence. This is the second sentence. This is the third sentence. This is the fourth sentence.
Clarity, Quality, Novelty And Reproducibility:
This is the first sentence.
Summary Of The Review:
This is the first sentence. This is the second sentence."""

DELETED = """Summary Of The Paper:
This is the first sentence. This is the third sentence.
Strengths And Weaknesses:
This is the first sentence. This is the third sentence.
Clarity, Quality, Novelty And Reproducibility:
This is the first sentence.
Summary Of The Review:
This is the first sentence."""

BLANKED_AS_PRINTED = """Summary Of The Paper:
This is the first sentence. [There is one missing sentence] This is the third sentence
Strengths And Weaknesses:
This is the first sentence. [There is one missing sentence] This is the third sentence. [There is one missing sentence]
Clarity, Quality, Novelty And Reproducibility:
This is the first sentence.
Summary Of The Review:
This is the first sentence. [There is one missing sentence]"""
"""The paper drops the full stop of the first section's third sentence: a misprint, for no rule of it could."""

BLANKED = BLANKED_AS_PRINTED.replace("third sentence\n", "third sentence.\n")

ELONGATED = """Summary Of The Paper:

This section provides an overview of the key contributions, methodologies, and findings presented in the paper. It summarizes the main arguments and highlights the scope and significance of the research conducted. Specifically, This is the first sentence. This is the second sentence. This is the third sentence.

Strengths And Weaknesses:

In this section, I will discuss the strengths and weaknesses of the paper, focusing on its contributions to the field, methodological rigor, and areas where improvements could be made. The aim is to provide constructive feedback that can help enhance the quality of the work. This paper has several notable strengths, including {Strength Summary}. However, there are some areas that could be improved, such as {Weakness Summary}. Specifically, I discuss the strengths and weaknesses of the paper as following.

This is the first sentence. This is the second sentence. This is the third sentence. This is the fourth sentence.

Clarity, Quality, Novelty And Reproducibility:

I will evaluate the clarity of the paper’s presentation, the quality of the research, the novelty of the findings, and the reproducibility of the experiments. This assessment will address whether the research is presented in a clear and coherent manner, offers new insights, and can be replicated based on the provided information. This is the first sentence.

Summary Of The Review:

This summary encapsulates the main points of the review, reflecting on the paper’s contributions, strengths, and areas for improvement. It provides a balanced overview of the paper’s impact and offers final recommendations for the authors. This is the first sentence. This is the second sentence."""

SPACED = TOY.replace(":\n", ":\n\n").replace(".\n", ".\n\n")
"""The toy review as D.4.2 prints it: blank lines around the headings."""
