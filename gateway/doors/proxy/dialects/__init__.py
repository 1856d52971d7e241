"""How requests and answers of the three dialects are read; pure, one module each."""
