"""Fine-tuning: a linear layer on a model's last layer, and the model with it, trained on a task.

`data` reads tasks, `pieces` makes what a model reads of them, `network` is the model with its layer, `training` the
loop, `scores` and `entities` say how good the result is, `fitting` puts them together.
"""
