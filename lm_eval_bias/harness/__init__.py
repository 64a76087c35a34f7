"""Everything that touches lm_eval: compatibility, tasks, conversations, sampling, templates, data
sets."""
