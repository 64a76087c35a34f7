"""Figures: rows and a declaration in, SVG, PNG and PDF out."""
