"""torchvision's models on small images, in evaluation mode, with random weights."""

import torch

from stitchcuda_torch.cases.case import Case

LARGE = ("vit_h", "vit_l", "regnet_y_128", "regnet_y_32", "regnet_x_32", "regnet_y_16", "regnet_x_16", "convnext_large", "convnext_base", "vgg1",
         "wide_resnet101", "resnext101_64", "efficientnet_v2_l", "efficientnet_v2_m", "efficientnet_b7", "efficientnet_b6", "efficientnet_b5",
         "swin_b", "swin_v2_b", "resnet152", "densenet161", "densenet201", "quantized")
SIZES = {"inception_v3": 96, "vit_b_16": 224, "vit_b_32": 224, "maxvit_t": 224}
VIDEO = ("mc3_18", "mvit", "r2plus1d", "r3d", "s3d", "swin3d")


def cases(samples):
    from torchvision import models
    for name in models.list_models():
        if any(word in name for word in LARGE):
            continue
        yield name, lambda name=name: build(models, name)


def build(models, name):
    more = {"weights_backbone": None} if any(word in name for word in ("rcnn", "retinanet", "fcos", "ssd", "deeplab", "lraspp", "fcn")) else {}
    torch.manual_seed(1)
    model = models.get_model(name, weights=None, **more)
    size = SIZES.get(name, 64)
    g = torch.Generator().manual_seed(2)
    if name.startswith(VIDEO):
        x = torch.rand(1, 3, 16 if "mvit" in name else 8, *((224, 224) if "mvit" in name else (64, 64)), generator=g)
    elif name.startswith("raft"):
        return Case(name, First(model), (torch.rand(1, 3, 128, 128, generator=g), torch.rand(1, 3, 128, 128, generator=g)), eval=True)
    else:
        x = torch.rand(1, 3, size, size, generator=g)
    if any(word in name for word in ("rcnn", "retinanet", "fcos", "ssd")):
        return Case(name, Detection(model), (x[0],), eval=True)
    return Case(name, model, (x,), eval=True, tolerance=1e-8)


class Detection(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        return self.model([image])[0]


class First(Detection):
    def forward(self, a, b):
        return self.model(a, b, num_flow_updates=2)[-1]
