"""The harness tasks: one folder of YAML files and a README per benchmark."""
