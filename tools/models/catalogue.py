"""Models that people use, by the library they come from: what each is built by, and what it is called with.

A row is (name, code that builds `self.model`, inputs, options). Inputs are shapes of float tensors, or code. Weights
are random. Options: `call` (how forward calls it, `*x` by default), `half` (also in "fp16" or "bf16": as people run
it), `setup` (lines before the class), `small` (the row with as little to compute as its family allows).
"""

IMAGE = "torch.randn({batch}, 3, {size}, {size})"
SMALL_IMAGE = 64
# What a configuration doesn't know it ignores.
SMALL_LANGUAGE = "hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, " \
                 "intermediate_size=128, vocab_size=128, image_size=64"


def image(batch=16, size=224):
    return [IMAGE.format(batch=batch, size=size)]


def tokens(batch, length, vocabulary):
    return [f"torch.randint(0, {vocabulary}, ({batch}, {length}))"]


def row(name, build, inputs, **options):
    return {"name": name, "build": build, "inputs": inputs, **options}


def images(library, name, build, batch, size, small="", small_size=SMALL_IMAGE, call="self.model(x)", **options):
    """small: more arguments, where the family can be smaller."""
    return row(f"{library}_{name}", build + ")", image(batch, size), library=library, call=call,
               small={"build": build + small + ")", "inputs": image(1, small_size)}, **options)


def vision(name, batch=16, size=224, arguments="", **options):
    return images("torchvision", name, f"torchvision.models.{name}(weights=None{arguments}", batch, size, **options)


def from_timm(name, batch=16, size=224, **options):
    return images("timm", name, f'timm.create_model("{name}", pretrained=False', batch, size, **options)


def language(name, family, arguments, inputs, call="self.model(x).last_hidden_state", kind="Model",
             small=SMALL_LANGUAGE, few=None, **options):
    build = f"transformers.{family}{kind}(transformers.{family}Config({{}}))"
    few = few or (tokens(1, 16, 100) if "randint" in inputs[0] else image(1, SMALL_IMAGE) if ", 3, " in inputs[0] else inputs)
    options["small"] = {"build": build.format(f"**{{**dict({arguments}), **dict({small})}}"), "inputs": few}
    return row(f"transformers_{name}", build.format(arguments), inputs, library="transformers", call=call, **options)


TORCHVISION = [
    vision("resnet18", half="fp16"), vision("resnet34"), vision("resnet50", half="fp16"), vision("resnet101"),
    vision("resnext50_32x4d"), vision("wide_resnet50_2"), vision("vgg11"), vision("vgg16_bn", half="fp16"),
    vision("alexnet"), vision("squeezenet1_1"), vision("densenet121", half="fp16"), vision("densenet169"),
    vision("googlenet", arguments=", init_weights=False, aux_logits=False"), vision("mobilenet_v2", half="fp16"),
    vision("inception_v3", size=299, small_size=75, arguments=", init_weights=False, aux_logits=True"),
    vision("mobilenet_v3_small"), vision("mobilenet_v3_large", half="fp16"), vision("shufflenet_v2_x1_0"),
    vision("mnasnet1_0"), vision("efficientnet_b0", half="fp16"), vision("efficientnet_b3", 8, 300),
    vision("efficientnet_v2_s"), vision("regnet_y_400mf"), vision("regnet_x_800mf"), vision("regnet_y_8gf"),
    vision("convnext_tiny", half="bf16"), vision("convnext_small", 8), vision("vit_b_16", half="fp16", small=", image_size=64"),
    vision("vit_b_32", small=", image_size=64"), vision("swin_t", half="fp16"), vision("swin_v2_t"), vision("maxvit_t", 8, small_size=224),
    vision("segmentation.fcn_resnet50", 2, 256, arguments=", weights_backbone=None", call='self.model(x)["out"]'),
    vision("segmentation.deeplabv3_mobilenet_v3_large", 2, 256, arguments=", weights_backbone=None",
           call='self.model(x)["out"]'),
    vision("segmentation.lraspp_mobilenet_v3_large", 2, 256, arguments=", weights_backbone=None",
           call='self.model(x)["out"]'),
    row("torchvision_r3d_18", "torchvision.models.video.r3d_18(weights=None)", ["torch.randn(2, 3, 16, 112, 112)"],
        library="torchvision", call="self.model(x)"),
]

SHALLOW = ", depths=(1, 1, 1, 1)"
BLOCKS = ", layers=(1, 1, 1, 1)"
SIZED = f", img_size={SMALL_IMAGE}"
TIMM = [
    from_timm("resnet50d", small=BLOCKS), from_timm("seresnet50", small=BLOCKS), from_timm("ecaresnet50t", small=BLOCKS),
    from_timm("mobilenetv4_conv_small"), from_timm("efficientnet_lite0"), from_timm("ghostnet_100"),
    from_timm("hrnet_w18_small"), from_timm("mixer_b16_224", small=SIZED), from_timm("resmlp_12_224", small=SIZED),
    from_timm("gmlp_s16_224", small=SIZED), from_timm("poolformer_s12"), from_timm("convmixer_768_32", 8),
    from_timm("coatnet_0_rw_224", 8, small=SIZED + SHALLOW), from_timm("edgenext_small", small=SHALLOW),
    from_timm("fastvit_t8", size=256, small=BLOCKS), from_timm("levit_128", small=SIZED + ", depth=(1, 1, 1)"),
    from_timm("pit_s_224", small=SIZED + ", depth=(1, 1, 1)"), from_timm("xcit_tiny_12_p16_224", small=", depth=2"),
    from_timm("nfnet_l0", 8, small=SHALLOW), from_timm("darknet53"), from_timm("dla34"),
    from_timm("res2net50_26w_4s", small=BLOCKS), from_timm("rexnet_100"),
    from_timm("deit_small_patch16_224", half="fp16", small=SIZED + ", depth=2"),
    from_timm("twins_pcpvt_small", small=SHALLOW), from_timm("convnextv2_atto", small=SHALLOW), from_timm("repvgg_a0"),
    from_timm("caformer_s18"), from_timm("mobileone_s0"), from_timm("visformer_small", small=SIZED + ", depth=2"),
]

SMALL = "hidden_size=768, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=4, " \
        "intermediate_size=2048, vocab_size=32000, use_cache=False"
TRANSFORMERS = [
    language("bert", "Bert", "num_hidden_layers=6", tokens(8, 128, 30000), half="fp16"),
    language("distilbert", "DistilBert", "", tokens(8, 128, 30000)),
    language("roberta", "Roberta", "num_hidden_layers=6, vocab_size=50265", tokens(8, 128, 50000)),
    language("albert", "Albert", "hidden_size=768, num_attention_heads=12, intermediate_size=3072",
             tokens(8, 128, 30000)),
    language("electra", "Electra", "num_hidden_layers=6", tokens(8, 128, 30000)),
    language("deberta_v2", "DebertaV2", "hidden_size=768, num_hidden_layers=4, num_attention_heads=12, "
             "intermediate_size=3072, relative_attention=True, pos_att_type=['p2c', 'c2p']", tokens(4, 128, 120000)),
    language("mpnet", "MPNet", "num_hidden_layers=6", tokens(8, 128, 30000)),
    language("modernbert", "ModernBert", "num_hidden_layers=6", tokens(8, 128, 50000),
             small=SMALL_LANGUAGE + ", pad_token_id=0"),
    language("gpt2", "GPT2", "n_layer=6, use_cache=False", tokens(4, 256, 50000), half="bf16"),
    language("gpt_neox", "GPTNeoX", "hidden_size=768, num_hidden_layers=6, num_attention_heads=12, "
             "intermediate_size=3072, use_cache=False", tokens(4, 256, 50000)),
    language("opt", "OPT", "num_hidden_layers=6, use_cache=False", tokens(4, 256, 50000)),
    language("bloom", "Bloom", "hidden_size=768, n_layer=6, n_head=12, use_cache=False", tokens(4, 256, 50000)),
    language("llama", "Llama", SMALL, tokens(2, 512, 32000), half="bf16"),
    language("mistral", "Mistral", SMALL, tokens(2, 512, 32000)),
    language("qwen2", "Qwen2", SMALL, tokens(2, 512, 32000), half="bf16"),
    language("qwen3", "Qwen3", SMALL + ", head_dim=64", tokens(2, 512, 32000), half="bf16"),
    language("gemma2", "Gemma2", SMALL + ", head_dim=64", tokens(2, 512, 32000), half="bf16"),
    language("phi3", "Phi3", SMALL + ", pad_token_id=0", tokens(2, 512, 32000), half="bf16"),
    language("olmo2", "Olmo2", SMALL, tokens(2, 512, 32000)),
    language("falcon", "Falcon", "hidden_size=768, num_hidden_layers=6, num_attention_heads=12, use_cache=False",
             tokens(2, 512, 32000)),
    language("stablelm", "StableLm", SMALL, tokens(2, 512, 32000)),
    language("mixtral", "Mixtral", SMALL + ", num_local_experts=8", tokens(2, 128, 32000)),
    language("qwen3_moe", "Qwen3Moe", SMALL + ", head_dim=64, num_experts=16, moe_intermediate_size=512",
             tokens(2, 128, 32000)),
    language("t5_encoder", "T5", "num_layers=6, d_model=512", tokens(4, 256, 32000), kind="EncoderModel"),
    language("bart", "Bart", "encoder_layers=4, decoder_layers=4, use_cache=False", tokens(4, 128, 50000)),
    language("clip_vision", "CLIPVision", "", image(16), half="fp16"),
    language("clip_text", "CLIPText", "", tokens(16, 77, 49000)),
    language("siglip_vision", "SiglipVision", "", image(16)),
    language("dinov2", "Dinov2", "", image(8), half="fp16"),
    language("beit", "Beit", "num_hidden_layers=6", image(16)),
    language("swin", "Swin", "", image(16),
             small="image_size=64, embed_dim=32, depths=[1, 1], num_heads=[2, 4], window_size=4"),
    language("segformer", "Segformer", "", image(8, 256),
             small="image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 64]"),
    language("mobilevit", "MobileViT", "", image(8, 256)),
    language("wav2vec2", "Wav2Vec2", "num_hidden_layers=4", ["torch.randn(2, 16000)"], few=["torch.randn(1, 2000)"]),
    language("hubert", "Hubert", "num_hidden_layers=4", ["torch.randn(2, 16000)"], few=["torch.randn(1, 2000)"]),
    language("whisper_encoder", "Whisper", "encoder_layers=4, decoder_layers=1, d_model=384, "
             "encoder_attention_heads=6, encoder_ffn_dim=1536", ["torch.randn(2, 80, 3000)"],
             call="self.model.encoder(x).last_hidden_state", half="fp16", few=["torch.randn(1, 80, 64)"],
             small="encoder_layers=2, d_model=64, encoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, "
             "decoder_attention_heads=4, max_source_positions=32, vocab_size=128, pad_token_id=0"),
    language("mamba", "Mamba", "hidden_size=512, num_hidden_layers=4, use_cache=False", tokens(2, 128, 50000)),
]

DIFFUSERS = [
    row("diffusers_unet", "diffusers.UNet2DModel(sample_size=64, block_out_channels=(64, 128, 256), "
        'down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"), '
        'up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))', ["torch.randn(4, 3, 64, 64)", "torch.tensor([7])"],
        library="diffusers", call="self.model(x, t).sample", arguments="x, t", half="fp16"),
    row("diffusers_dit", "diffusers.DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, "
        "in_channels=4, out_channels=8, num_layers=6, sample_size=32)",
        ["torch.randn(4, 4, 32, 32)", "torch.randint(0, 1000, (4,))", "torch.randint(0, 1000, (4,))"],
        library="diffusers", call="self.model(x, timestep=t, class_labels=c).sample", arguments="x, t, c", half="fp16"),
]

LIBRARIES = TORCHVISION + TIMM + TRANSFORMERS + DIFFUSERS
