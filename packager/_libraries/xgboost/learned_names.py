"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is classes, their bases, and what they assign that these do not, below the module that archives name.
"""

NAMES = r"""
# versions: xgboost-cpu 3.4.1
xgboost:
XGBClassifier,XGBRanker,XGBRegressor(XGBModel)
XGBModel() _Booster base_score booster callbacks colsample_bylevel colsample_bynode colsample_bytree device
  early_stopping_rounds enable_categorical eval_metric evals_result_ feature_types feature_weights gamma
  grow_policy importance_type interaction_constraints kwargs learning_rate max_bin max_cat_threshold
  max_cat_to_onehot max_delta_step max_depth max_leaves min_child_weight missing monotone_constraints
  multi_strategy n_classes_ n_estimators n_jobs num_parallel_tree objective random_state reg_alpha reg_lambda
  sampling_method scale_pos_weight subsample tree_method validate_parameters verbosity
XGBRFClassifier(XGBClassifier)
XGBRFRegressor(XGBRegressor)
"""
