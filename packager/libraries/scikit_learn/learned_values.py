"""Between which numbers parameters lie, and which texts attributes are: made by fixtures/learned.

A line is an attribute, the least and the greatest number that the library declares, and texts that it may be.
"""

TABLE = r"""
C 0..inf
Cs 1..2147483648
_algorithm SAMME SAMME.R arpack auto ball_tree balltree brute deflation deprecated elkan kd_tree kdtree lloyd
  nipals parallel randomized svd
_alphas warn
_batch_size auto
_beta_loss frobenius itakura-saito kullback-leibler
_effective_probability deprecated
_fit_algorithm SAMME SAMME.R arpack auto ball_tree balltree brute cd deflation deprecated elkan kd_tree kdtree
  lars lasso_lars lloyd nipals parallel randomized svd
_fit_method ball_tree barnes_hut bistochastic box-cox brute cd decision_function exact fit hessian
  inverse_transform isotonic kd_tree lars log ltsa modified partial_fit predict predict_log_proba
  predict_proba scale score sigmoid split standard temperature transform yeo-johnson
_fit_svd_solver arpack auto covariance_eigh full randomized
_gamma auto scale
_init auto classical_mds custom identity k-means++ lda nndsvd nndsvda nndsvdar pca random warn zero
_max_features log2 sqrt
_max_samples auto
_metric braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming haversine infinity
  jaccard l1 l2 mahalanobis manhattan matching minkowski nan_euclidean p precomputed pyfunc rbf rogerstanimoto
  russellrao seuclidean sokalmichener sokalsneath sqeuclidean wminkowski yule
_n_components auto mle warn
_n_init auto warn
_response_method auto decision_function predict predict_proba
_sparse auto
_strategy constant kmeans mean median most_frequent prior quantile stratified uniform
accept_sparse 0..1
activation identity logistic relu tanh
add_indicator 0..1
affinity additive_chi2 chi2 cosine euclidean laplacian linear nearest_neighbors poly polynomial precomputed
  precomputed_nearest_neighbors rbf sigmoid
aggressive_elimination 0..1
algorithm SAMME SAMME.R arpack auto ball_tree balltree brute deflation deprecated elkan kd_tree kdtree lloyd
  nipals parallel randomized svd
allow_single_cluster 0..1
alpha 0..inf
alpha_1 0..inf
alpha_2 0..inf
alpha_H 0..inf same
alpha_W 0..inf
alpha_init 0..inf
alpha_per_target 0..1
alphas 0..inf warn
alternate_sign 0..1
analyzer char char_wb word
angle 0..1
assign_labels cluster_qr discretize kmeans
assume_centered 0..1
atol 0..inf
average 0..2147483648
bandwidth 0..inf scott silverman
bandwidth_ scott silverman
base_estimator deprecated
batch_size 1..2147483648 auto
batch_size_ auto
beta_1 0..1
beta_2 0..1
beta_loss frobenius itakura-saito kullback-leibler
bin_seeding 0..1
binarize 0..inf
binary 0..1
bisecting_strategy biggest_inertia largest_cluster
block_size 1..2147483648
bootstrap 0..1
bootstrap_features 0..1
branching_factor 2..2147483648
breadth_first 0..1
break_ties 0..1
cache_size 0..inf
categorical_features from_dtype warn
categories auto
ccp_alpha 0..inf
chain_method decision_function predict predict_log_proba predict_proba
chain_method_ decision_function predict predict_log_proba predict_proba
check_inverse 0..1
class_weight balanced balanced_subsample
clip 0..1
cluster_all 0..1
cluster_method dbscan xi
cluster_selection_epsilon 0..inf
cluster_selection_method eom leaf
code_size 0..inf
compute_distances 0..1
compute_full_tree 0..1 auto
compute_inverse_components 0..1
compute_labels 0..1
compute_score 0..1
constant_value_bounds fixed
contamination 0..0.5 auto
convergence_iter 1..2147483648
copy 0..1 deprecated warn
copy_X 0..1 deprecated
copy_X_train 0..1
copy_x 0..1
covariance precomputed
covariance_prior 0..inf
covariance_type diag full spherical tied
criterion absolute_error aic bic deprecated entropy friedman_mse gini k_best log_loss poisson squared_error
  threshold
cv 0..2147483648 prefit
damping 0.5..1
decision_function_shape ovo ovr
decode_error ignore replace strict
deflation_mode canonical regression
degree 0..inf
degrees_of_freedom_prior 0..inf
dense_output 0..1
density 0..1 auto
density_ auto
direction backward forward
dissimilarity deprecated euclidean precomputed
distance_threshold 0..inf
doc_topic_prior 0..1
drop first if_binary
dtype numeric
dual 0..1 auto
early_exaggeration 1..inf
early_stopping 0..1 auto
effective_metric_ braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming haversine
  infinity jaccard l1 l2 mahalanobis manhattan matching minkowski nan_euclidean p precomputed pyfunc rbf
  rogerstanimoto russellrao seuclidean sokalmichener sokalsneath sqeuclidean wminkowski yule
eigen_solver amg arpack auto dense lobpcg randomized
eigen_tol 0..inf auto
encode onehot onehot-dense ordinal
encoding latin-1 utf-8
enet_tol 0..inf
ensemble 0..1 auto
eps 0..inf
error_on_new 0..1
error_score raise
eta0 0..inf
evaluate_every -2147483648..2147483648
extrapolation constant continue error linear periodic
factor 0..inf
feature_name_combiner concat
feature_names_out one-to-one
features all missing-only
fit_algorithm SAMME SAMME.R arpack auto ball_tree balltree brute cd deflation deprecated elkan kd_tree kdtree
  lars lloyd nipals parallel randomized svd
fit_intercept 0..1
fit_inverse_transform 0..1
fit_path 0..1
fit_prior 0..1
flatten_transform 0..1
force_alpha 0..1
force_int_remainder_cols 0..1 deprecated
forget_factor 0..1
fresh_restarts 0..1
fresh_restarts_max_iter 1..2147483648
fun cube exp logcosh
gamma 0..inf auto scale
gamma_ auto scale
gcv_mode auto eigen svd
handle_missing error zeros
handle_unknown error ignore infrequent_if_exist use_encoded_value warn
hessian_tol 0..inf
hidden_layer_sizes 1..2147483648
ignore_implicit_zeros 0..1
importance_getter auto
imputation_order arabic ascending descending random roman
include_bias 0..1
increasing 0..1 auto
increasing_ auto
init auto classical_mds custom identity k-means++ lda nndsvd nndsvda nndsvdar pca random warn zero
init_ auto classical_mds custom identity k-means++ lda nndsvd nndsvda nndsvdar pca random warn zero
init_params k-means++ kmeans random random_from_data
init_size 1..2147483648
initial_strategy constant mean median most_frequent
input_type dict pair string
interaction_cst no_interactions pairwise
interaction_only 0..1
intercept_scaling 0..inf
iterated_power 0..2147483648 auto
jitter 0..inf
k 0..2147483648 all
k_best 1..2147483648
keep_empty_features 0..1
kernel additive_chi2 chi2 cosine epanechnikov exponential gaussian knn laplacian linear poly polynomial
  precomputed rbf sigmoid tophat
knots quantile uniform
l1_ratio 0..1
l1_ratios warn
l2_regularization 0..inf
lambda_1 0..inf
lambda_2 0..inf
lambda_init 0..inf
leaf_size 1..2147483648
learning_decay 0..1
learning_method batch online
learning_offset 1..inf
learning_rate 0..inf adaptive auto constant invscaling optimal pa1 pa2
learning_rate_ adaptive auto constant invscaling optimal pa1 pa2
learning_rate_init 0..inf
length_scale_bounds fixed
link auto identity log
linkage average complete single ward
loss absolute_error epsilon_insensitive exponential gamma hinge huber linear log_loss modified_huber
  perceptron poisson quantile square squared_epsilon_insensitive squared_error squared_hinge
loss_ absolute_error epsilon_insensitive exponential gamma hinge huber linear log_loss modified_huber
  perceptron poisson quantile square squared_epsilon_insensitive squared_error squared_hinge
lowercase 0..1
lr_schedule constant
max_bins 2..255
max_categories 1..2147483648
max_cluster_size 1..2147483648
max_depth 1..2147483648
max_df 0..2147483648
max_doc_update_iter 0..2147483648
max_eps 0..inf
max_features -inf..2147483648 log2 sqrt
max_features_ log2 sqrt
max_fun 1..2147483648
max_iter -1..2147483648
max_iter_predict 1..2147483648
max_leaf_nodes 2..2147483648
max_n_alphas 1..2147483648
max_no_improvement 0..2147483648
max_patches 0..2147483648
max_resources 1..2147483648 auto
max_resources_ auto
max_samples 0..inf auto
max_samples_ auto
max_skips 0..inf
max_subpopulation 1..inf
max_trials 0..inf
mean_change_tol 0..inf
mean_precision_prior 0..inf
method barnes_hut bistochastic box-cox cd decision_function exact fit hessian inverse_transform isotonic lars
  log ltsa modified partial_fit predict predict_log_proba predict_proba scale score sigmoid split standard
  temperature transform yeo-johnson
metric 0..1 braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming haversine
  infinity jaccard l1 l2 mahalanobis manhattan matching minkowski nan_euclidean p precomputed pyfunc rbf
  rogerstanimoto russellrao seuclidean sokalmichener sokalsneath sqeuclidean wminkowski yule
metric_mds 0..1
min_bin_freq 1..2147483648
min_categories 1..2147483648
min_cluster_size 0..2147483648
min_df 0..2147483648
min_features_to_select 1..2147483648
min_frequency 0..2147483648
min_grad_norm 0..inf
min_impurity_decrease 0..inf
min_resources 1..2147483648 exhaust smallest
min_resources_ exhaust smallest
min_samples 0..2147483648
min_samples_leaf 0..2147483648
min_samples_split 0..2147483648
min_weight_fraction_leaf 0..0.5
mini_batch 0..1
mode A B cd connectivity distance fdr fpr fwe k_best lars percentile
modified_tol 0..inf
momentum 0..1
multi_class auto crammer_singer deprecated multinomial one_vs_one one_vs_rest ovr
n_alphas 1..2147483648 deprecated
n_best 1..2147483648
n_bins 2..2147483648
n_candidates 1..2147483648 exhaust
n_clusters 1..2147483648
n_components 0..2147483648 auto mle warn
n_components_ auto mle warn
n_estimators 1..2147483648
n_features 1..2147483647
n_features_to_select 0..2147483648 auto
n_features_to_select_ auto
n_init 1..2147483648 auto warn
n_iter 0..2147483648 deprecated
n_iter_ deprecated
n_iter_no_change 1..inf
n_iter_without_progress -1..2147483648
n_jobs -2147483648..2147483648
n_knots 2..2147483648
n_nearest_features 1..2147483648
n_neighbors 1..2147483648
n_nonzero_coefs 1..2147483648
n_oversamples 1..2147483648
n_quantiles 1..2147483648
n_refinements 1..2147483648
n_restarts_optimizer 0..2147483648
n_subsamples -2147483648..2147483648
n_svd_vecs 0..2147483648
n_targets 1..2147483648
neg_label -2147483648..2147483648
neighbors_algorithm auto ball_tree brute kd_tree
nesterovs_momentum 0..1
noise_variance 0..inf
norm 0..1 l1 l2 max
norm_order -2147483648..inf
normalize_y 0..1
normalized_stress 0..1 auto
novelty 0..1
nu 0..1
oob_score 0..1
optimizer fmin_l_bfgs_b
order C F random
out_activation_ exp identity logistic softmax
out_of_bounds clip nan raise
outlier_label -2147483648..2147483648
outlier_label_ most_frequent
output_distribution normal uniform
p 0..inf
param 0..inf all
passthrough 0..1
path_method D FW auto
penalty deprecated elasticnet l1 l2
percentile 0..100
perp_tol 0..inf
perplexity 0..inf
positive 0..1
positive_code 0..1
positive_dict 0..1
power_iteration_normalizer LU OR QR auto none
pre_dispatch -2147483648..2147483648 2*n_jobs
precompute 0..1 auto
predecessor_correction 0..1
prefit 0..1
priors empirical uniform
probability 0..1 deprecated
quantile 0..1
quantile_method averaged_inverted_cdf closest_observation hazen interpolated_inverted_cdf inverted_cdf linear
  median_unbiased normal_unbiased warn weibull
radius 0..inf
random_state 0..2147483648 deprecated
reassignment_ratio 0..inf
refit 0..1
reg 0..inf
reg_covar 0..inf
reg_param 0..1
remove_zero_eig 0..1
residual_threshold 0..inf
resource n_samples
response_method auto decision_function predict_proba
return_train_score 0..1
ridge_alpha 0..inf
rotation quartimax varimax
rtol 0..inf
sample_interval 0..inf
sample_posterior 0..1
sample_steps 1..2147483648
scale 0..1
scoring accuracy adjusted_mutual_info_score adjusted_rand_score average_precision balanced_accuracy
  completeness_score d2_absolute_error_score d2_brier_score d2_log_loss_score explained_variance f1 f1_macro
  f1_micro f1_samples f1_weighted fowlkes_mallows_score homogeneity_score jaccard jaccard_macro jaccard_micro
  jaccard_samples jaccard_weighted loss matthews_corrcoef max_error mutual_info_score neg_brier_score
  neg_log_loss neg_max_error neg_mean_absolute_error neg_mean_absolute_percentage_error
  neg_mean_gamma_deviance neg_mean_poisson_deviance neg_mean_squared_error neg_mean_squared_log_error
  neg_median_absolute_error neg_negative_likelihood_ratio neg_root_mean_squared_error
  neg_root_mean_squared_log_error normalized_mutual_info_score positive_likelihood_ratio precision
  precision_macro precision_micro precision_samples precision_weighted r2 rand_score recall recall_macro
  recall_micro recall_samples recall_weighted roc_auc roc_auc_ovo roc_auc_ovo_weighted roc_auc_ovr
  roc_auc_ovr_weighted top_k_accuracy v_measure_score warn
selection cyclic random
shrink_threshold 0..inf
shrinkage 0..1 auto
shrinkage_ auto
shrinking 0..1
shuffle 0..1 deprecated
skip_complete 0..1
smooth 0..inf auto
smooth_idf 0..1
solver adam auto cd cholesky eigen highs highs-ds highs-ipm interior-point lbfgs liblinear lsqr mu newton-cg
  newton-cholesky revised%20simplex sag saga sgd sparse_cg svd
solver_ adam auto cd cholesky eigen highs highs-ds highs-ipm interior-point lbfgs liblinear lsqr mu newton-cg
  newton-cholesky revised%20simplex sag saga sgd sparse_cg svd
sort 0..1
sparse 0..1 auto
sparse_output 0..1
sparse_threshold 0..1
split_sign 0..1
splitter best random
stack_method auto decision_function predict predict_proba
stack_method_ auto decision_function predict predict_proba
standardize 0..1
step 0..2147483648
stop_n_inliers 0..inf
stop_probability 0..1
stop_words english
store_centers both centroid medoid
store_covariance 0..1
store_cv_results 0..1
store_cv_values 0..1 deprecated
store_precision 0..1
strategy constant kmeans mean median most_frequent prior quantile stratified uniform
strip_accents ascii unicode
sublinear_tf 0..1
subsample 0..2147483648
support_fraction 0..1
svd_method arpack lapack randomized
svd_solver arpack auto covariance_eigh full randomized
target_type auto binary continuous multiclass
target_type_ auto binary continuous multiclass
termination_condition_ all_labeled max_iter no_change
threshold_lambda 0..inf
thresholds 1..2147483648
topic_word_prior 0..1
total_samples 0..inf
transform_algorithm lars lasso_cd lasso_lars omp threshold
transform_alpha 0..inf
transform_max_iter 0..2147483648
transform_n_nonzero_coefs 1..2147483648
unit_variance 0..1
use_idf 0..1
use_legacy_attributes 0..1 warn
validate 0..1
validation_fraction 0..2147483648
var_smoothing 0..inf
verbose 0..2147483648
verbose_feature_names_out 0..1
verbose_interval 1..2147483648
voting hard soft
warm_start 0..1
weight_concentration_prior 0..inf
weight_concentration_prior_type dirichlet_distribution dirichlet_process
weights distance uniform
whiten 0..1 arbitrary-variance unit-variance
whiten_solver eigh svd
with_centering 0..1
with_mean 0..1
with_scaling 0..1
with_std 0..1
xi 0..1
y_type_ binary multiclass multilabel-indicator
"""
