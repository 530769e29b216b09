"""Language models: the protocol, conversations, the journal and the ledger of what was asked, and the adapters."""
