"""torchvision's models with random weights, narrowed where their constructors allow, on small images.

Train mode where every batch norm sees at least 16 values of a channel and no dropout is on; eval mode elsewhere.
"""
import torch
from torch import nn
from torchvision import models as tv
from torchvision.models import segmentation, video
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.efficientnet import MBConvConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig
from torchvision.models.regnet import BlockParams
from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformerBlockV2
from torchvision.ops import FeaturePyramidNetwork

from stitchcuda_torch.cases.case import Case


def trained(model):
    """Batch norms away from their initial ones and zeros.

    With shifts of zero, a running mean behind two of them is zero but for rounding, and compares with nothing.
    """
    for norm in model.modules():
        if isinstance(norm, nn.modules.batchnorm._BatchNorm):
            for tensor, center in ((norm.weight, 1.0), (norm.bias, 0.0), (norm.running_mean, 0.0), (norm.running_var, 1.0)):
                tensor.data.uniform_(center - 0.4, center + 0.4)
    return model


def convnext():
    stages = [CNBlockConfig(8, 12, 1), CNBlockConfig(12, 16, 2), CNBlockConfig(16, None, 1)]
    return tv.ConvNeXt(stages, layer_scale=0.5, num_classes=10)


def efficientnet():
    stages = [MBConvConfig(1, 3, 1, 16, 8, 1, 1, 1), MBConvConfig(6, 3, 2, 8, 12, 2, 1, 1), MBConvConfig(6, 5, 2, 12, 16, 1, 1, 1)]
    return tv.EfficientNet(stages, dropout=0.0, stochastic_depth_prob=0.0, num_classes=10, last_channel=48)


def mobilenet_v3():
    stages = [
        InvertedResidualConfig(16, 3, 16, 8, True, "RE", 2, 1, 1),
        InvertedResidualConfig(8, 3, 24, 12, False, "RE", 2, 1, 1),
        InvertedResidualConfig(12, 5, 32, 12, True, "HS", 1, 1, 1),
    ]
    return tv.MobileNetV3(stages, last_channel=48, num_classes=10, dropout=0.0)


def regnet(squeeze):
    parameters = BlockParams(depths=[1, 2], widths=[16, 24], group_widths=[8, 8], bottleneck_multipliers=[1.0, 1.0], strides=[2, 2], se_ratio=squeeze)
    return tv.RegNet(parameters, num_classes=10)


def swin(version):
    options = dict(patch_size=[4, 4], embed_dim=12, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], stochastic_depth_prob=0.0, num_classes=10)
    if version == 2:
        options.update(block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2)
    return tv.SwinTransformer(**options)


def vgg(batch_norm):
    layers = tv.vgg.make_layers([16, "M", 32, "M", 48, 48, "M", 64, 64, "M"], batch_norm=batch_norm)
    model = tv.VGG(layers, init_weights=False, dropout=0.0)
    model.avgpool = nn.AdaptiveAvgPool2d(2)
    model.classifier = nn.Sequential(nn.Linear(64 * 4, 32), nn.ReLU(True), nn.Linear(32, 10))
    return model


def alexnet():
    model = tv.alexnet()
    model.avgpool = nn.AdaptiveAvgPool2d(2)
    model.classifier = nn.Sequential(nn.Linear(256 * 4, 32), nn.ReLU(inplace=True), nn.Linear(32, 10))
    return model


def densenet():
    return tv.DenseNet(growth_rate=8, block_config=(2, 3, 2), num_init_features=16, bn_size=2, num_classes=10)


def first_layers(model, count):
    return nn.Sequential(*list(model.children())[:count])


class Pyramid(nn.Module):
    """A feature pyramid over three levels, coarsest upsampled and added to the finer ones."""

    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in ((3, 8), (8, 12), (12, 16)))
        self.pyramid = FeaturePyramidNetwork([8, 12, 16], 10)

    def forward(self, x):
        features = {}
        for number, level in enumerate(self.levels):
            x = torch.relu(level(x))
            features[str(number)] = x
        return tuple(self.pyramid(features).values())


def segmenter(head):
    """A two-level backbone, a head, and the logits resized to the image."""
    backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=4, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))

    class Segmenter(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = backbone, head

        def forward(self, x):
            logits = self.head(self.backbone(x))
            return nn.functional.interpolate(logits, size=x.shape[-2:], mode="bilinear", align_corners=False)

    return Segmenter()


def cases():
    torch.manual_seed(301)
    generator = torch.Generator().manual_seed(302)

    def images(batch, side):
        return torch.rand(batch, 3, side, side, generator=generator)

    clip = torch.rand(1, 3, 4, 32, 32, generator=generator)
    aspp = segmentation.deeplabv3.DeepLabHead(16, 5, atrous_rates=(2, 4, 6))
    train = {
        "resnet18": (tv.resnet18(num_classes=10), images(4, 64)),
        "resnet_bottleneck": (tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=16), images(4, 64)),
        "resnext": (tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, groups=4, width_per_group=8), images(4, 64)),
        "densenet": (densenet(), images(4, 64)),
        "mobilenet_v2": (tv.MobileNetV2(num_classes=10, width_mult=0.25, dropout=0.0, inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]]), images(2, 40)),
        "mobilenet_v3": (mobilenet_v3(), images(2, 48)),
        "efficientnet": (efficientnet(), images(2, 40)),
        "shufflenet_v2": (tv.ShuffleNetV2([1, 2, 1], [8, 16, 24, 32, 48], num_classes=10), images(4, 64)),
        "squeezenet": (tv.SqueezeNet("1_1", num_classes=10, dropout=0.0), images(1, 64)),
        "regnet_x": (regnet(None), images(2, 40)),
        "regnet_y": (regnet(0.25), images(2, 40)),
        "convnext": (convnext(), images(1, 32)),
        "swin": (swin(1), images(1, 32)),
        "swin_padded": (swin(1), images(1, 40)),
        "swin_v2": (swin(2), images(1, 32)),
        "vit": (tv.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=24, mlp_dim=48, num_classes=10), images(2, 32)),
        "vgg": (vgg(False), images(1, 32)),
        "vgg_bn": (vgg(True), images(4, 64)),
        "alexnet": (alexnet(), images(1, 96)),
        "feature_pyramid": (Pyramid(), images(1, 40)),
    }
    for name, (model, image) in train.items():
        yield Case(name, trained(model), (image,))
    frozen = {
        "resnet_bottleneck_eval": (tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=16), images(1, 40)),
        "mnasnet": (tv.MNASNet(0.25, num_classes=10), images(1, 40)),
        "googlenet": (tv.GoogLeNet(num_classes=10, aux_logits=False, init_weights=False), images(1, 48)),
        "inception_v3_first_half": (first_layers(tv.Inception3(num_classes=10, aux_logits=False, init_weights=False), 12), images(1, 80)),
        "mobilenet_v3_small": (tv.mobilenet_v3_small(num_classes=10), images(1, 48)),
        "maxvit": (tv.MaxVit(input_size=(32, 32), stem_channels=8, partition_size=4, block_channels=[8, 16], block_layers=[1, 1], head_dim=4, stochastic_depth_prob=0.0, num_classes=10), images(1, 32)),
        "fcn_head": (segmenter(segmentation.fcn.FCNHead(16, 5)), images(1, 48)),
        "deeplab_head": (segmenter(aspp), images(1, 48)),
        "r3d_first_half": (first_layers(video.r3d_18(), 3), clip),
        "mc3_first_half": (first_layers(video.mc3_18(), 3), clip),
        "r2plus1d_first_half": (first_layers(video.r2plus1d_18(), 3), clip),
    }
    for name, (model, image) in frozen.items():
        yield Case(name, trained(model), (image,), eval=True)
