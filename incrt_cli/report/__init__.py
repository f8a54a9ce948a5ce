"""Tables over run folders: results, heads predicted and grown, seeds, published figures."""
