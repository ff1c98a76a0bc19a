"""Fine-tuning: a linear layer on a model's last layer, and the model with it, trained on a task.

`data` reads tasks, `pieces` makes what a model reads of them, `network` is the model with its layer, `training` the
loop, `scores` and `entities` say how good the result is, `fitting` puts them together.
"""

from limbeck.probing.finetuning.data import TaskData, read_task
from limbeck.probing.finetuning.fitting import Finetuned, FinetuneSettings, finetune_model
from limbeck.probing.finetuning.head import Head, load_head

__all__ = ["FinetuneSettings", "Finetuned", "Head", "TaskData", "finetune_model", "load_head", "read_task"]
