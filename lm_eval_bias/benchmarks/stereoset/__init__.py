"""StereoSet: overt bias, to stand beside the implicit kind."""
