"""What is said of LightGBM's wrappers by hand.

Their parameters become attributes and go to the library as a text of its own, under any of the names that
its table of aliases has. Of these, threads are bounded, and nothing names a file or another machine.
"""

from __future__ import annotations

from typing import Final

from packager._archive import MAX_STORED_THREADS
from packager._libraries.learned.learned_rows import Said

_THREADS: Final = "n_jobs num_threads num_thread nthread nthreads n_thread n_threads".split()
# Parameters that name files and machines, with their aliases.
_OUTSIDE: Final = """
    config config_file data train train_data train_data_file data_filename valid test valid_data
    valid_data_file test_data test_data_file valid_filenames input_model model_input model_in output_model
    model_output model_out output_result predict_result prediction_result predict_name pred_name
    name_pred save_binary is_save_binary is_save_binary_file forcedsplits_filename fs forced_splits_filename
    forced_splits_file forced_splits forcedbins_filename parser_config_file convert_model convert_model_file
    convert_model_language snapshot_freq save_period machine_list_filename machine_list_file machine_list
    mlist machines workers nodes num_machines num_machine local_listen_port local_port port time_out
    pre_partition is_pre_partition tree_learner tree tree_type tree_learner_type initscore_filename
    init_score_filename init_score_file init_score input_init_score valid_data_initscores
    valid_data_init_scores valid_init_score_file valid_init_score task task_type
""".split()
# The library's own aliases of what trains a model: its parameters become attributes of the wrapper.
_TRAINING: Final = """
    verbose metric metrics metric_types num_class num_classes extra_trees extra_tree extra_seed
    categorical_feature cat_feature categorical_column cat_column categorical_features
    monotone_constraints mc monotone_constraint monotonic_cst linear_tree linear_trees max_bin max_bins
    bagging_fraction sub_row bagging bagging_freq bagging_seed bagging_fraction_seed feature_fraction
    sub_feature feature_fraction_bynode sub_feature_bynode colsample_bynode feature_fraction_seed
    num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round
    max_iter early_stopping_round early_stopping_rounds early_stopping n_iter_no_change
    early_stopping_min_delta min_data_in_leaf min_data_per_leaf min_data min_samples_leaf
    min_sum_hessian_in_leaf min_sum_hessian_per_leaf min_sum_hessian min_hessian lambda_l1
    l1_regularization lambda_l2 lambda l2_regularization linear_lambda min_gain_to_split drop_rate
    rate_drop max_drop skip_drop xgboost_dart_mode uniform_drop drop_seed top_rate other_rate
    min_data_per_group max_cat_threshold cat_l2 cat_smooth max_cat_to_onehot top_k topk monotone_penalty
    feature_contri path_smooth monotone_constraints_method interaction_constraints verbosity
    is_unbalance unbalance unbalanced_sets scale_pos_weight sigmoid boost_from_average reg_sqrt alpha
    fair_c poisson_max_delta_step tweedie_variance_power lambdarank_truncation_level lambdarank_norm
    label_gain seed random_seed data_random_seed data_seed deterministic force_col_wise force_row_wise
    histogram_pool_size max_bin_by_feature min_data_in_bin bin_construct_sample_cnt enable_bundle
    is_enable_bundle bundle use_missing zero_as_missing feature_pre_filter header has_header two_round
    device_type device data_sample_strategy use_quantized_grad num_grad_quant_bins
    quant_train_renew_leaf stochastic_rounding pred_early_stop pred_early_stop_freq
    pred_early_stop_margin predict_disable_shape_check start_iteration_predict num_iteration_predict
    metric_freq output_freq is_provide_training_metric eval_at ndcg_eval_at ndcg_at map_eval_at map_at
    multi_error_top_k auc_mu_weights boosting boost boosting_type objective objective_type app
    application loss learning_rate shrinkage_rate eta num_leaves num_leaf max_leaves max_leaf
    max_leaf_nodes
""".split()

# As the library's own page of parameters has them.
_OBJECTIVES: Final = frozenset(
    """
    regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse regression_l1 l1
    mean_absolute_error mae huber fair poisson quantile mape mean_absolute_percentage_error gamma tweedie
    binary multiclass softmax multiclassova multiclass_ova ova ovr cross_entropy xentropy
    cross_entropy_lambda xentlambda lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart
    """.split()
)
_METRICS: Final = frozenset(
    """
    None na null custom gamma_deviance ndcg map mean_average_precision auc average_precision binary_logloss
    binary_error auc_mu multi_logloss multi_error kullback_leibler kldiv r2
    """.split()
)

SAID: Final = Said(
    groups={"LGBMModel": "estimator"},
    also=frozenset(_TRAINING) | frozenset(_THREADS),
    refused=dict.fromkeys(_OUTSIDE, "which names a file or a machine, and data must not choose these"),
    free=frozenset({"_sklearn_version"}),
    words={
        "objective": _OBJECTIVES,
        "_objective": _OBJECTIVES,
        "metric": _OBJECTIVES | _METRICS,
        "boosting_type": frozenset({"gbdt", "dart", "rf", "goss"}),
        "device_type": frozenset({"cpu", "gpu", "cuda"}),
        "data_sample_strategy": frozenset({"bagging", "goss"}),
        "monotone_constraints_method": frozenset({"basic", "intermediate", "advanced"}),
        "categorical_feature": frozenset({"auto"}),
    },
    limits={
        **dict.fromkeys(_THREADS, (-MAX_STORED_THREADS, MAX_STORED_THREADS)),
        "random_state": (0, 2.0**32 - 1),
    },
    worded=frozenset("metric objective _objective _other_params".split()),
    options=frozenset({"_other_params"}),
)
