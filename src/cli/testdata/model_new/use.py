"""use.py TASK PACKAGE: calls the package's ModelNew as the task calls its Model, with keywords turned round, and compares."""
import importlib.util
import sys

import torch


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def leaves(value):
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, dict):
        value = vars(value)
    if isinstance(value, dict):
        return [(key, *leaf) for key, item in value.items() for leaf in leaves(item)]
    if isinstance(value, (list, tuple)):
        return [(type(value).__name__, *leaf) for item in value for leaf in leaves(item)]
    return [(value,)]


task_file, package = sys.argv[1:]
new = load("model_new", package + "/model_new.py")  # first: the task's folder is not on the path yet
assert package not in open(package + "/model_new.py").read(), "an absolute path"
new._require_gpu, new._current_stream = lambda device: None, lambda index: None  # the library is for the emulated GPU
sys.path.insert(0, task_file.rpartition("/")[0])
task = load("task", task_file)
torch.manual_seed(42)
model = task.Model(*task.get_init_inputs()).eval()
candidate = new.ModelNew(*task.get_init_inputs())
candidate.load_state_dict(model.state_dict())
inputs = task.get_inputs()
arguments, keywords = ([], inputs) if isinstance(inputs, dict) else (inputs, {})
with torch.no_grad():
    expected = model(*arguments, **keywords)
    seen = candidate(*arguments, **dict(reversed(keywords.items())))
assert type(seen).__name__ == type(expected).__name__, type(seen)
for a, b in zip(leaves(seen), leaves(expected), strict=True):
    assert a[:-1] == b[:-1], (a, b)
    if isinstance(b[-1], torch.Tensor):
        torch.testing.assert_close(a[-1], b[-1], rtol=1e-3, atol=1e-4)
    else:
        assert a[-1] == b[-1], (a, b)
for wrong in ({**keywords, "surely_not_there": 1},):
    try:
        candidate(*arguments, **wrong)
    except TypeError as error:
        assert "surely_not_there" in str(error), error
    else:
        raise AssertionError("an unknown keyword was taken")
