"""Of which kinds attributes are: made by fixtures/learned from fits of every class in every version.

A line is a kind of value, with the attributes that had it, or may have it as the library declares.
"""

TABLE = r"""
array: feature_weights
dict by text: evals_result_ kwargs
dict of collections.mapping: evals_result_
dict of list of number: kwargs
dict of number: kwargs
generator: random_state
list of number: feature_weights monotone_constraints
list of text: eval_metric feature_types
number: base_score colsample_bylevel colsample_bynode colsample_bytree early_stopping_rounds
  enable_categorical gamma learning_rate max_bin max_cat_threshold max_cat_to_onehot max_delta_step max_depth
  max_leaves min_child_weight missing n_classes_ n_estimators n_jobs num_parallel_tree random_state reg_alpha
  reg_lambda scale_pos_weight subsample validate_parameters verbosity
text: booster device eval_metric grow_policy importance_type interaction_constraints monotone_constraints
  multi_strategy objective sampling_method tree_method
xgboost.booster: _Booster
"""
