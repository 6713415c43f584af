"""Of which kinds and values attributes are: made by fixtures/learned from fits of every class.

A line is a kind, with the attributes that had it, or may have it as the library declares; or the least and
the greatest number that it declares, or texts, with the attributes that may be these.
"""

KINDS = r"""
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
text: interaction_constraints monotone_constraints
xgboost.booster: _Booster
"""

VALUES = r"""
approx exact hist: tree_method
auc aucpr error error@0.6 logloss mae map mape merror mlogloss mphe ndcg ndcg@3 rmse rmsle: eval_metric
binary:hinge binary:logistic binary:logitraw count:poisson multi:softmax multi:softprob rank:map rank:ndcg
  rank:pairwise reg:absoluteerror reg:gamma reg:logistic reg:pseudohubererror reg:squarederror
  reg:squaredlogerror reg:tweedie survival:cox: objective
cpu: device
dart gblinear gbtree: booster
depthwise lossguide: grow_policy
gain total_gain weight: importance_type
multi_output_tree one_output_per_tree: multi_strategy
uniform: sampling_method
"""
