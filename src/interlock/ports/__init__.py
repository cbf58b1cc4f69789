"""All that the product can touch, as Protocols, with the values that cross them, a module for each thing they are about; implementations are adapters."""
