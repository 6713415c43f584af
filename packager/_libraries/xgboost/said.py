"""What is said of XGBoost's wrappers by hand: threads are bounded, under each name that they have."""

from __future__ import annotations

from typing import Final

from packager._archive import MAX_STORED_THREADS
from packager._libraries.learned.learned_rows import Said

_THREADS: Final = ("n_jobs", "nthread")

# Further parameters, which stand in `kwargs`, and those of them that are texts.
_TEXTS: Final = """
    updater process_type predictor sample_type normalize_type feature_selector aft_loss_distribution
    lambdarank_pair_method
""".split()
_MORE: Final = """
    eta alpha lambda min_split_loss seed seed_per_iteration num_class silent gpu_id use_label_encoder
    tweedie_variance_power quantile_alpha expectile_alpha huber_slope disable_default_eval_metric refresh_leaf
    rate_drop one_drop skip_drop top_k lambdarank_num_pair_per_sample lambdarank_normalization
    lambdarank_score_normalization lambdarank_unbiased lambdarank_bias_norm ndcg_exp_gain
    aft_loss_distribution_scale single_precision_histogram max_cached_hist_node sketch_eps
""".split()

SAID: Final = Said(
    groups={"XGBModel": "estimator"},
    # Metrics have numbers in them ("ndcg@10"), and constraints are lists as JSON spells them.
    free=frozenset({"_sklearn_version", "eval_metric", "interaction_constraints", *_TEXTS})
    | {"monotone_constraints"},
    also=frozenset({*_THREADS, *_MORE, *_TEXTS}),
    # As the library's own page of parameters has them.
    words={
        "objective": frozenset(
            """
            reg:squarederror reg:squaredlogerror reg:logistic reg:pseudohubererror reg:absoluteerror
            reg:quantileerror reg:expectileerror reg:gamma reg:tweedie binary:logistic binary:logitraw
            binary:hinge count:poisson survival:cox survival:aft multi:softmax multi:softprob rank:ndcg
            rank:map rank:pairwise
            """.split()
        ),
        "device": frozenset({"cpu", "cuda", "gpu", "cuda:0"}),
        "tree_method": frozenset({"auto", "exact", "approx", "hist", "gpu_hist"}),
        "sampling_method": frozenset({"uniform", "gradient_based"}),
        "importance_type": frozenset({"gain", "weight", "cover", "total_gain", "total_cover"}),
    },
    limits=dict.fromkeys(_THREADS, (-MAX_STORED_THREADS, MAX_STORED_THREADS)),
    worded=frozenset({"objective"}),
    options=frozenset({"kwargs"}),
)
