"""Of which kinds and values attributes are: made by fixtures/learned from fits of every class.

A line is a kind, with the attributes that had it, or may have it as the library declares; or the least and
the greatest number that it declares, or texts, with the attributes that may be these.
"""

KINDS = r"""
collections.mapping: _best_score
dict: _best_score _evals_result
dict by number: _class_map _class_weight class_weight
dict by text: _class_map _evals_result _other_params
dict of collections.mapping: _evals_result
dict of list of number: _other_params
dict of list of text: _other_params
dict of number: _class_map _class_weight _other_params class_weight
dict of text: _other_params
estimator: _le
generator: random_state
labels: _classes
lightgbm.booster: _Booster
list of number: _eval_at categorical_feature monotone_constraints
list of text: metric
number: _best_iteration _fitted_with_feature_names _n_classes _n_features _n_features_in bagging_fraction
  colsample_bytree extra_trees feature_fraction fitted_ learning_rate linear_tree max_bin max_depth
  min_child_samples min_child_weight min_split_gain n_estimators n_jobs num_leaves random_state reg_alpha
  reg_lambda subsample subsample_for_bin subsample_freq verbose
text: _class_weight _objective
"""

VALUES = r"""
None auc average_precision binary_error binary_logloss l1 l2 mae map mse multi_error multi_logloss ndcg rmse:
  metric
balanced: class_weight
binary fair huber l1 l2 lambdarank mae mape mean_absolute_error mean_squared_error mse multiclass
  multiclassova poisson quantile rank_xendcg regression regression_l1 rmse tweedie: objective
dart gbdt: boosting_type
gain split: importance_type
"""
