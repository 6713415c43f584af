"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is a class, its bases, the parameters of its constructor (`name=`), and what else its methods store.
"""

TABLE = r"""
# versions: xgboost-cpu 3.4.1
XGBClassifier(XGBClassifierMixIn,XGBModel) objective= _Booster n_classes_
XGBClassifierMixIn()
XGBModel() base_score= booster= callbacks= colsample_bylevel= colsample_bynode= colsample_bytree= device=
  early_stopping_rounds= enable_categorical= eval_metric= feature_types= feature_weights= gamma= grow_policy=
  importance_type= interaction_constraints= learning_rate= max_bin= max_cat_threshold= max_cat_to_onehot=
  max_delta_step= max_depth= max_leaves= min_child_weight= missing= monotone_constraints= multi_strategy=
  n_estimators= n_jobs= num_parallel_tree= objective= random_state= reg_alpha= reg_lambda= sampling_method=
  scale_pos_weight= subsample= tree_method= validate_parameters= verbosity= _Booster evals_result_ kwargs
  n_classes_
XGBRFClassifier(XGBClassifier) colsample_bynode= learning_rate= reg_lambda= subsample=
XGBRFRegressor(XGBRegressor) colsample_bynode= learning_rate= reg_lambda= subsample=
XGBRanker(XGBRankerMixIn,XGBModel) objective= _Booster
XGBRankerMixIn()
XGBRegressor(XGBRegressorMixIn,XGBModel) objective=
XGBRegressorMixIn()
"""
