"""Between which numbers parameters lie, and which texts attributes are: made by fixtures/learned.

A line is an attribute, the least and the greatest number that the library declares, and texts that it may be.
"""

TABLE = r"""
booster dart gblinear gbtree
device cpu
eval_metric auc aucpr error error@0.6 logloss mae map mape merror mlogloss mphe ndcg ndcg@3 rmse rmsle
grow_policy depthwise lossguide
importance_type gain total_gain weight
multi_strategy multi_output_tree one_output_per_tree
objective binary:hinge binary:logistic binary:logitraw count:poisson multi:softmax multi:softprob rank:map
  rank:ndcg rank:pairwise reg:absoluteerror reg:gamma reg:logistic reg:pseudohubererror reg:squarederror
  reg:squaredlogerror reg:tweedie survival:cox
sampling_method uniform
tree_method approx exact hist
"""
