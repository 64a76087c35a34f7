"""Model types for the harness. They reach into private parts of lm_eval and transformers, each
place with what happens when it is gone."""
