"""The Python API: run experiments, load and report runs, compare them, step a task by hand.

    import assay

    run = assay.run("pro", policy="python:mine:Policy", tasks="libero_goal", seeds=range(10))
    for finding in run.diagnose():
        print(finding)

running     execute experiments: run, evaluate, duel, search, audit; judge a run against a baseline: gate
recorded    recorded runs: load_run, compare, Run
stepping    single tasks: load_task, make_env
tracking    experiment trackers
"""
