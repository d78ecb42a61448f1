"""Softmax in its forms, and the loss functions with every reduction."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case

INF = math.inf


def hinge(prediction, target):
    return torch.mean(torch.clamp(1 - prediction * target, min=0))


def gaussian_nll_by_hand(mean, target, variance):
    variance = variance.clamp(min=1e-6)
    return (0.5 * (torch.log(variance) + (mean - target) ** 2 / variance)).mean()


def focal(logits, target):
    nll = F.cross_entropy(logits, target, reduction="none")
    return ((1 - torch.exp(-nll)) ** 2 * nll).mean()


def contrastive(first, second):
    """InfoNCE: each row's partner is the row of the same number."""
    logits = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).t() / 0.1
    return F.cross_entropy(logits, torch.arange(first.size(0)))


def dice(logits, target):
    probability = torch.sigmoid(logits)
    overlap = (probability * target).sum((1, 2))
    return 1 - ((2 * overlap + 1) / (probability.sum((1, 2)) + target.sum((1, 2)) + 1)).mean()


def cases():
    generator = torch.Generator().manual_seed(110)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x, y = normal(4, 5), normal(4, 5)
    probability = torch.rand(4, 5, generator=generator) * 0.9 + 0.05
    target_probability = torch.softmax(normal(4, 5), dim=1)
    log_probability = torch.log_softmax(normal(4, 5), dim=1)
    classes = torch.tensor([2, 0, 4, 2])
    some_ignored = torch.tensor([2, -100, 4, 1])
    class_weight = torch.rand(5, generator=generator) + 0.5
    signs = torch.tensor([1.0, -1.0, -1.0, 1.0])
    masked = torch.tensor([[0.5, -INF, 1.0], [-INF, -INF, 2.0], [1.0, 2.0, 3.0]])
    pixels, pixel_classes = normal(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5), generator=generator)
    frames = torch.log_softmax(normal(7, 3, 5), dim=-1)
    words, frame_lengths, word_lengths = torch.tensor([[1, 2, 2, 4], [3, 3, 3, 3], [4, 9, 9, 9]]), torch.tensor([7, 5, 2]), torch.tensor([4, 3, 0])
    table = {
        "ctc": (lambda x: F.ctc_loss(x, words, frame_lengths, word_lengths), frames),
        "ctc_of_inputs": (lambda x, y, n, m: F.ctc_loss(x, y, n, m, blank=4, reduction="none", zero_infinity=True), frames, words, frame_lengths, torch.tensor([2, 4, 1])),
        "ctc_impossible": (lambda x: F.ctc_loss(x, words, (7, 3, 0), (4, 3, 0), reduction="none"), frames),
        "ctc_one_behind_the_other": (nn.CTCLoss(reduction="sum"), frames, torch.tensor([1, 2, 4, 4, 1, 3]), frame_lengths, torch.tensor([2, 3, 1])),
        "ctc_unbatched": (lambda x: F.ctc_loss(x[:, 0], torch.tensor([2, 2, 1]), torch.tensor(6), torch.tensor(3)), frames),
        "gaussian_nll": (lambda x, y, v: (F.gaussian_nll_loss(x, y, v), F.gaussian_nll_loss(x, y, v[:, 0], full=True, reduction="none")), x, y, probability),
        "softmax_last_dim": (lambda x: F.softmax(x, dim=-1), x),
        "softmax_first_dim": (lambda x: torch.softmax(x, dim=0), x),
        "softmax_channels": (lambda x: x.softmax(1), pixels),
        "softmax_of_large": (lambda x: torch.softmax(200 * x, dim=1), x),
        "softmax_with_minus_infinity": (lambda x: torch.softmax(x, dim=1), masked),
        "softmax_of_all_minus_infinity_is_nan": (lambda x: torch.softmax(x, dim=1), torch.tensor([[-INF, -INF], [0.0, 1.0]])),
        "softmax_of_one": (lambda x: torch.softmax(x, dim=1), normal(3, 1)),
        "softmax_of_rank_zero": (lambda x: torch.softmax(x, dim=0), torch.tensor(2.5)),
        "softmax_of_empty": (lambda x: torch.softmax(x, dim=1), torch.zeros(0, 3)),
        "softmax_of_transposed": (lambda x: torch.softmax(x.t(), dim=-1), x),
        "softmax_long_row": (lambda x: torch.softmax(x, dim=-1), normal(2, 2053)),
        "softmax_module_2d": (nn.Softmax2d(), pixels),
        "softmin": (lambda x: F.softmin(x, dim=1), x),
        "softmax_temperature": (lambda x: torch.softmax(x / 0.3, dim=-1), x),
        "log_softmax": (lambda x: F.log_softmax(x, dim=1), x),
        "log_softmax_first_dim": (lambda x: F.log_softmax(x, dim=0), x),
        "log_softmax_with_minus_infinity": (lambda x: F.log_softmax(x, dim=1), masked),
        "masked_softmax": (lambda x, y: torch.softmax(x.masked_fill(y > 0.5, -INF), dim=1), x, y),
        "mse": (F.mse_loss, x, y),
        "mse_none": (lambda x, y: F.mse_loss(x, y, reduction="none"), x, y),
        "mse_sum": (lambda x, y: F.mse_loss(x, y, reduction="sum"), x, y),
        "mse_by_hand": (lambda x, y: torch.mean((x - y) ** 2), x, y),
        "l1": (F.l1_loss, x, y),
        "l1_sum": (lambda x, y: F.l1_loss(x, y, reduction="sum"), x, y),
        "smooth_l1": (F.smooth_l1_loss, x, y),
        "smooth_l1_beta_none": (lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.3), x, y),
        "smooth_l1_beta_zero": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.0), x, y),
        "huber": (F.huber_loss, x, y),
        "huber_delta_sum": (lambda x, y: F.huber_loss(x, y, reduction="sum", delta=0.4), x, y),
        "cross_entropy": (F.cross_entropy, x, classes),
        "cross_entropy_none": (lambda x, t: F.cross_entropy(x, t, reduction="none"), x, classes),
        "cross_entropy_sum": (lambda x, t: F.cross_entropy(x, t, reduction="sum"), x, classes),
        "cross_entropy_ignored": (F.cross_entropy, x, some_ignored),
        "cross_entropy_ignored_none": (lambda x, t: F.cross_entropy(x, t, reduction="none"), x, some_ignored),
        "cross_entropy_ignore_index": (lambda x, t: F.cross_entropy(x, t, ignore_index=2), x, classes),
        "cross_entropy_weight": (lambda x, t, w: F.cross_entropy(x, t, weight=w), x, classes, class_weight),
        "cross_entropy_weight_ignored": (lambda x, t, w: F.cross_entropy(x, t, weight=w), x, some_ignored, class_weight),
        "cross_entropy_weight_none": (lambda x, t, w: F.cross_entropy(x, t, weight=w, reduction="none"), x, classes, class_weight),
        "cross_entropy_smoothing": (lambda x, t: F.cross_entropy(x, t, label_smoothing=0.2), x, classes),
        "cross_entropy_smoothing_weight_ignored": (lambda x, t, w: F.cross_entropy(x, t, weight=w, label_smoothing=0.2), x, some_ignored, class_weight),
        "cross_entropy_smoothing_none": (lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="none"), x, some_ignored),
        "cross_entropy_probabilities": (F.cross_entropy, x, target_probability),
        "cross_entropy_probabilities_weight_smoothing": (lambda x, t, w: F.cross_entropy(x, t, weight=w, label_smoothing=0.1), x, target_probability, class_weight),
        "cross_entropy_pixels": (F.cross_entropy, pixels, pixel_classes),
        "cross_entropy_pixels_none": (lambda x, t: F.cross_entropy(x, t, reduction="none"), pixels, pixel_classes),
        "cross_entropy_without_batch": (F.cross_entropy, normal(5), torch.tensor(3)),
        "cross_entropy_of_tokens": (lambda x, t: F.cross_entropy(x.view(-1, 5), t.view(-1)), normal(2, 4, 5), torch.randint(0, 5, (2, 4), generator=generator)),
        "nll": (F.nll_loss, log_probability, classes),
        "nll_weight_sum": (lambda x, t, w: F.nll_loss(x, t, weight=w, reduction="sum"), log_probability, classes, class_weight),
        "nll_ignored_none": (lambda x, t: F.nll_loss(x, t, reduction="none"), log_probability, some_ignored),
        "nll_pixels": (lambda x, t: F.nll_loss(F.log_softmax(x, 1), t), pixels, pixel_classes),
        "bce": (F.binary_cross_entropy, probability, target_probability),
        "bce_weight_none": (lambda x, t, w: F.binary_cross_entropy(x, t, weight=w, reduction="none"), probability, target_probability, class_weight),
        "bce_at_zero_and_one": (F.binary_cross_entropy, torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 1.0, 1.0])),
        "bce_logits": (F.binary_cross_entropy_with_logits, x, target_probability),
        "bce_logits_large": (F.binary_cross_entropy_with_logits, 50 * x, target_probability),
        "bce_logits_pos_weight": (lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w), x, target_probability, class_weight),
        "bce_logits_weight_pos_weight_none": (lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, weight=w, pos_weight=p, reduction="none"), x, target_probability, probability, class_weight),
        "kl_div_batchmean": (lambda x, t: F.kl_div(x, t, reduction="batchmean"), log_probability, target_probability),
        "kl_div_mean": (lambda x, t: F.kl_div(x, t, reduction="mean"), log_probability, target_probability),
        "kl_div_sum": (lambda x, t: F.kl_div(x, t, reduction="sum"), log_probability, target_probability),
        "kl_div_none": (lambda x, t: F.kl_div(x, t, reduction="none"), log_probability, target_probability),
        "kl_div_log_target": (lambda x, t: F.kl_div(x, t, reduction="batchmean", log_target=True), log_probability, torch.log_softmax(normal(4, 5), 1)),
        "kl_div_of_log": (lambda x, t: F.kl_div(torch.log(x), t, reduction="batchmean"), torch.softmax(normal(4, 5), 1), target_probability),
        "kl_div_zero_target": (lambda x, t: F.kl_div(x, t, reduction="sum"), torch.tensor([-1.0, -2.0]), torch.tensor([0.0, 1.0])),
        "hinge_by_hand": (hinge, normal(4), signs),
        "hinge_broadcast": (hinge, normal(4, 3), signs.unsqueeze(1)),
        "hinge_embedding": (F.hinge_embedding_loss, normal(4), signs),
        "cosine_embedding": (lambda x, y, t: F.cosine_embedding_loss(x, y, t, margin=0.2), x, y, signs),
        "cosine_embedding_none": (lambda x, y, t: F.cosine_embedding_loss(x, y, t, reduction="none"), x, y, signs),
        "margin_ranking": (lambda x, y, t: F.margin_ranking_loss(x, y, t, margin=0.3), normal(4), normal(4), signs),
        "triplet": (F.triplet_margin_loss, x, y, normal(4, 5)),
        "triplet_swap_p_one": (lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=2.0, p=1.0, swap=True, reduction="none"), x, y, normal(4, 5)),
        "triplet_module": (nn.TripletMarginLoss(margin=1.5, reduction="sum"), x, y, normal(4, 5)),
        "triplet_with_distance": (lambda a, p, n: F.triplet_margin_with_distance_loss(a, p, n, margin=0.8), x, y, normal(4, 5)),
        "gaussian_nll_by_hand": (gaussian_nll_by_hand, x, y, probability),
        "poisson_nll": (F.poisson_nll_loss, x, probability),
        "poisson_nll_not_log_full": (lambda x, t: F.poisson_nll_loss(x, t, log_input=False, full=True, reduction="none"), probability, 3 * probability),
        "soft_margin": (lambda x, t: F.soft_margin_loss(x, t), normal(4), signs),
        "multilabel_soft_margin": (F.multilabel_soft_margin_loss, x, target_probability.round()),
        "multi_margin": (F.multi_margin_loss, x, classes),
        "multi_margin_p_two_weight": (lambda x, t, w: F.multi_margin_loss(x, t, p=2, margin=0.7, weight=w), x, classes, class_weight),
        "focal_by_hand": (focal, x, classes),
        "contrastive_by_hand": (contrastive, x, y),
        "dice_by_hand": (dice, normal(2, 4, 4), torch.randint(0, 2, (2, 4, 4), generator=generator).float()),
        "distillation": (lambda s, t: F.kl_div(F.log_softmax(s / 2, -1), F.softmax(t / 2, -1), reduction="batchmean") * 4, x, y),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"loss_{name}" if "softm" not in name else name, run, tuple(inputs))
