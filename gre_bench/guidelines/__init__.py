"""Guidelines for LMs that review: ratings under a guideline, the quality of reviews, guidelines made from reviews.

*The guideline paper* is "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review".
"""
