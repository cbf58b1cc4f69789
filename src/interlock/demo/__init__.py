"""The repository, cards and scripted agents of interlock demo; the product does not import it."""
