"""One law a file: what must hold of the history and of the truth, judged apart from the rules that keep it."""
