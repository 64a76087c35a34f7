"""Figures: rows and a declaration in, SVG and PNG out."""
