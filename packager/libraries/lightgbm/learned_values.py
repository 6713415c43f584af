"""Between which numbers parameters lie, and which texts attributes are: made by fixtures/learned.

A line is an attribute, the least and the greatest number that the library declares, and texts that it may be.
"""

TABLE = r"""
_class_weight balanced
_objective binary fair huber l1 l2 lambdarank mae mape mean_absolute_error mean_squared_error mse multiclass
  multiclassova poisson quantile rank_xendcg regression regression_l1 rmse tweedie
boosting_type dart gbdt
class_weight balanced
importance_type gain split
metric None auc average_precision binary_error binary_logloss l1 l2 mae map mse multi_error multi_logloss ndcg
  rmse
objective binary fair huber l1 l2 lambdarank mae mape mean_absolute_error mean_squared_error mse multiclass
  multiclassova poisson quantile rank_xendcg regression regression_l1 rmse tweedie
"""
