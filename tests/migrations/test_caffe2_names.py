"""Names of Caffe2 as detectron2 takes them over: its renames in order, rows cut and rolled, ends matched."""

import numpy as np
import pytest

from packager._migrations import (
    Migration,
    Roll,
    Slice,
    format_migration,
    migrate,
    parse_migration,
    plan_migration,
    rename,
    rename_pattern,
)

HEAD = "proposal_generator.rpn_head"
RENAMES = [
    (r"^pred_([bw])$", r"linear_\1"),
    ("_", "."),
    (r"\.b$", ".bias"),
    (r"\.w$", ".weight"),
    (r"bn\.s$", "norm.weight"),
    (r"bn\.bias$", "norm.bias"),
    (r"bn\.rm", "norm.running_mean"),
    (r"bn\.running.mean$", "norm.running_mean"),
    (r"bn\.riv$", "norm.running_var"),
    (r"bn\.running.var$", "norm.running_var"),
    (r"bn\.gamma$", "norm.weight"),
    (r"bn\.beta$", "norm.bias"),
    (r"gn\.s$", "norm.weight"),
    (r"gn\.bias$", "norm.bias"),
    (r"^res\.conv1\.norm\.", "conv1.norm."),
    (r"^conv1\.", "stem.conv1."),
    (r"\.branch1\.", ".shortcut."),
    (r"\.branch2a\.", ".conv1."),
    (r"\.branch2b\.", ".conv2."),
    (r"\.branch2c\.", ".conv3."),
    (r"^body.conv.fcn", "body_conv_fcn"),
    (r"AnnIndex\.lowres", "ann_index_lowres"),
    (r"Index\.UV\.lowres", "index_uv_lowres"),
    (r"U\.lowres", "u_lowres"),
    (r"V\.lowres", "v_lowres"),
    (r"conv\.rpn\.fpn2", f"{HEAD}.conv"),
    (r"conv\.rpn", f"{HEAD}.conv"),
    (r"rpn\.bbox\.pred\.fpn2", f"{HEAD}.anchor_deltas"),
    (r"rpn\.cls\.logits\.fpn2", f"{HEAD}.objectness_logits"),
    (r"rpn\.bbox\.pred", f"{HEAD}.anchor_deltas"),
    (r"rpn\.cls\.logits", f"{HEAD}.objectness_logits"),
    (r"^bbox\.pred", "bbox_pred"),
    (r"^cls\.score", "cls_score"),
    (r"^fc6\.", "box_head.fc1."),
    (r"^fc7\.", "box_head.fc2."),
    (r"^head\.conv", "box_head.conv"),
    (r"^fpn\.inner\.res([0-9]+)(?:\..*)?\.norm\.([a-z_]+)$", r"fpn_lateral\1.norm.\2"),
    (r"^fpn\.inner\.res([0-9]+)\..*\.([a-z_]+)$", r"fpn_lateral\1.\2"),
    (r"^fpn\.res([0-9]+)(?:\..*)?\.norm\.([a-z_]+)$", r"fpn_output\1.norm.\2"),
    (r"^fpn\.res([0-9]+)\..*\.([a-z_]+)$", r"fpn_output\1.\2"),
    (r"\.\[mask\]\.fcn", "mask_head.mask_fcn"),
    (r"^\.mask\.fcn", "mask_head.mask_fcn"),
    (r"mask\.fcn\.logits", "mask_head.predictor"),
    (r"conv5\.mask", "mask_head.deconv"),
    (r"conv\.fcn", "roi_heads.keypoint_head.conv_fcn"),
    (r"kps\.score\.lowres", "roi_heads.keypoint_head.score_lowres"),
    (r"kps\.score\.", "roi_heads.keypoint_head.score."),
]
CAFFE2 = Migration(
    "caffe2",
    [
        *(rename_pattern(*pair) for pair in RENAMES),
        rename("bbox_pred.{leaf}", "bbox_pred.{leaf}", Slice(0, 4)),
        rename("mask_head.predictor.{leaf}", "mask_head.predictor.{leaf}", Slice(0, 1)),
        rename("cls_score.{leaf}", "cls_score.{leaf}", Roll(0, -1)),
    ],
)

# Key of Caffe2 -> key of detectron2, and what the model puts before it.
KEYS = {
    "conv1_w": ("stem.conv1.weight", "backbone.bottom_up."),
    "res_conv1_bn_s": ("stem.conv1.norm.weight", "backbone.bottom_up."),
    "res_conv1_bn_b": ("stem.conv1.norm.bias", "backbone.bottom_up."),
    "res_conv1_bn_rm": ("stem.conv1.norm.running_mean", "backbone.bottom_up."),
    "res_conv1_bn_riv": ("stem.conv1.norm.running_var", "backbone.bottom_up."),
    "res2_0_branch1_w": ("res2.0.shortcut.weight", "backbone.bottom_up."),
    "res2_0_branch1_bn_gamma": ("res2.0.shortcut.norm.weight", "backbone.bottom_up."),
    "res2_0_branch1_bn_beta": ("res2.0.shortcut.norm.bias", "backbone.bottom_up."),
    "res2_0_branch1_bn_running_mean": ("res2.0.shortcut.norm.running_mean", "backbone.bottom_up."),
    "res2_0_branch1_bn_running_var": ("res2.0.shortcut.norm.running_var", "backbone.bottom_up."),
    "res2_0_branch2a_w": ("res2.0.conv1.weight", "backbone.bottom_up."),
    "res2_0_branch2a_bn_s": ("res2.0.conv1.norm.weight", "backbone.bottom_up."),
    "res2_0_branch2b_w": ("res2.0.conv2.weight", "backbone.bottom_up."),
    "res2_0_branch2b_gn_s": ("res2.0.conv2.norm.weight", "backbone.bottom_up."),
    "res2_0_branch2c_gn_b": ("res2.0.conv3.norm.bias", "backbone.bottom_up."),
    "res5_2_branch2c_w": ("res5.2.conv3.weight", "backbone.bottom_up."),
    "fpn_inner_res2_2_sum_lateral_w": ("fpn_lateral2.weight", "backbone."),
    "fpn_inner_res3_3_sum_lateral_gn_s": ("fpn_lateral3.norm.weight", "backbone."),
    "fpn_res2_2_sum_w": ("fpn_output2.weight", "backbone."),
    "fpn_res5_2_sum_gn_b": ("fpn_output5.norm.bias", "backbone."),
    "conv_rpn_fpn2_w": (f"{HEAD}.conv.weight", ""),
    "rpn_bbox_pred_fpn2_b": (f"{HEAD}.anchor_deltas.bias", ""),
    "rpn_cls_logits_fpn2_w": (f"{HEAD}.objectness_logits.weight", ""),
    "fc6_w": ("box_head.fc1.weight", "roi_heads."),
    "fc7_b": ("box_head.fc2.bias", "roi_heads."),
    "head_conv1_w": ("box_head.conv1.weight", "roi_heads."),
    "head_conv4_gn_s": ("box_head.conv4.norm.weight", "roi_heads."),
    "bbox_pred_w": ("bbox_pred.weight", "roi_heads.box_predictor."),
    "cls_score_b": ("cls_score.bias", "roi_heads.box_predictor."),
    "_[mask]_fcn1_w": ("mask_head.mask_fcn1.weight", "roi_heads."),
    "mask_fcn_logits_b": ("mask_head.predictor.bias", "roi_heads."),
    "conv5_mask_w": ("mask_head.deconv.weight", "roi_heads."),
    "conv_fcn3_w": ("roi_heads.keypoint_head.conv_fcn3.weight", ""),
    "kps_score_lowres_w": ("roi_heads.keypoint_head.score_lowres.weight", ""),
    "kps_score_b": ("roi_heads.keypoint_head.score.bias", ""),
    "body_conv_fcn1_w": ("body_conv_fcn1.weight", "roi_heads.densepose_head."),
    "AnnIndex_lowres_w": ("ann_index_lowres.weight", "roi_heads.densepose_predictor."),
    "Index_UV_lowres_b": ("index_uv_lowres.bias", "roi_heads.densepose_predictor."),
    "U_lowres_w": ("u_lowres.weight", "roi_heads.densepose_predictor."),
    "V_lowres_b": ("v_lowres.bias", "roi_heads.densepose_predictor."),
    "pred_w": ("linear.weight", ""),
    "pred_b": ("linear.bias", ""),
}
CUT = {"bbox_pred_w": slice(4, None), "mask_fcn_logits_b": slice(1, None)}


def old_state():
    return {key: np.arange(8.0) + 100 * at for at, key in enumerate(KEYS)}


@pytest.mark.parametrize(
    "migration", [CAFFE2, parse_migration(format_migration(CAFFE2))], ids=["made", "read"]
)
def test_all_renames_one_after_the_other_with_rows_cut_and_rolled(migration):
    old = old_state()
    migrated = migrate(migration, old)
    expected = {new: old[key][CUT.get(key, slice(None))] for key, (new, _) in KEYS.items()}
    expected["cls_score.bias"] = np.roll(old["cls_score_b"], -1)
    assert {key: value.tolist() for key, value in migrated.items()} == {
        key: value.tolist() for key, value in expected.items()
    }


def test_the_longest_end_that_fits_is_a_suggestion_and_nothing_more():
    migrated = migrate(CAFFE2, old_state())
    target = {before + new: migrated[new] for new, before in KEYS.values()}
    plan = plan_migration(CAFFE2, old_state())
    fit = plan.against(target)
    assert {near.missing: near.unexpected for near in fit.suggestions} == {
        before + new: new for new, before in KEYS.values() if before
    }
    assert set(plan.values) == {new for new, _ in KEYS.values()}
    assert set(fit.missing) == {before + new for new, before in KEYS.values() if before}


def test_a_whole_name_at_the_end_comes_before_one_that_is_as_long():
    old = ["old.conv1.weight", "conv1.weight", "net.stem.top.conv1.weight"]  # the last one has more words
    plan = plan_migration(Migration("none"), dict.fromkeys(old, np.ones(2)))
    fit = plan.against(dict.fromkeys(["net.stem.conv1.weight", "body.old.conv1.weight"], np.ones(2)))
    assert {near.missing: near.unexpected for near in fit.suggestions} == {
        "net.stem.conv1.weight": "conv1.weight",
        "body.old.conv1.weight": "old.conv1.weight",
    }
