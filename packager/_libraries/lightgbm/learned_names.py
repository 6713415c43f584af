"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is classes, their bases, and what they assign that these do not, below the module that archives name.
"""

NAMES = r"""
# versions: lightgbm 4.7.0
lightgbm:
LGBMClassifier(LGBMModel) _le
LGBMModel() _Booster _best_iteration _best_score _class_map _class_weight _classes _evals_result
  _fitted_with_feature_names _n_classes _n_features _n_features_in _objective _other_params boosting_type
  class_weight colsample_bytree fitted_ importance_type learning_rate max_depth min_child_samples
  min_child_weight min_split_gain n_estimators n_jobs num_leaves objective random_state reg_alpha reg_lambda
  subsample subsample_for_bin subsample_freq
LGBMRanker(LGBMModel) _eval_at
LGBMRegressor(LGBMModel)
"""
