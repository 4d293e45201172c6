"""How the model is called and how it acts."""
