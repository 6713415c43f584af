"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is a class, its bases, the parameters of its constructor (`name=`), and what else its methods store.
"""

TABLE = r"""
# versions: lightgbm 4.7.0
LGBMClassifier(LGBMModel) boosting_type= class_weight= colsample_bytree= importance_type= learning_rate=
  max_depth= min_child_samples= min_child_weight= min_split_gain= n_estimators= n_jobs= num_leaves= objective=
  random_state= reg_alpha= reg_lambda= subsample= subsample_for_bin= subsample_freq= _class_map _class_weight
  _classes _le _n_classes _objective
LGBMModel() boosting_type= class_weight= colsample_bytree= importance_type= learning_rate= max_depth=
  min_child_samples= min_child_weight= min_split_gain= n_estimators= n_jobs= num_leaves= objective=
  random_state= reg_alpha= reg_lambda= subsample= subsample_for_bin= subsample_freq= _Booster _best_iteration
  _best_score _class_map _class_weight _classes _evals_result _fitted_with_feature_names _n_classes
  _n_features _n_features_in _objective _other_params fitted_ n_features_in_
LGBMRanker(LGBMModel) boosting_type= class_weight= colsample_bytree= importance_type= learning_rate=
  max_depth= min_child_samples= min_child_weight= min_split_gain= n_estimators= n_jobs= num_leaves= objective=
  random_state= reg_alpha= reg_lambda= subsample= subsample_for_bin= subsample_freq= _eval_at
LGBMRegressor(LGBMModel) boosting_type= class_weight= colsample_bytree= importance_type= learning_rate=
  max_depth= min_child_samples= min_child_weight= min_split_gain= n_estimators= n_jobs= num_leaves= objective=
  random_state= reg_alpha= reg_lambda= subsample= subsample_for_bin= subsample_freq=
"""
