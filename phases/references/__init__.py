"""Other people's code: find what the paper stands on, fetch it safely, index it, search it. No model decides anything here."""
