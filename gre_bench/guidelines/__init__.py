"""Guidelines for LMs that review papers.

The modules serve three studies: ratings by LMs under a guideline, the quality of human reviews, and guidelines made
from reviews. *The guideline paper* is "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer
Review".
"""
