def tasks_folder():
    import lm_eval_bias.tasks
    return lm_eval_bias.tasks.__path__[0]
def main(): pass
