"""Of which kinds and values attributes are: made by fixtures/learned from fits of every class.

A line is a kind, with the attributes that had it, or may have it as the library declares; or the least and
the greatest number that it declares, or texts, with the attributes that may be these.
"""

KINDS = r"""
array: C_ Cs_ K_fit_rows_ L_ U_init V_init W_sr_ X_ X_fit_ X_offset_ X_scale_ X_thresholds_ X_train_
  X_transformed_fit_ _A _B _BaseLibSVM__Xfit _X_mean _alphas _average_coef _average_intercept
  _baseline_prediction _components_denominator _components_numerator _counts _distances_fit_X_ _dual_coef_
  _expanded_class_weight _fit_X _intercept_ _is_categorical_remapped _is_empty_feature _lrd _mask_fit_X
  _max_value _min_value _n_support _num_iter _probA _probB _raw_data _sample_weight _seeds
  _single_linkage_tree_ _standard_coef _standard_intercept _subcluster_norms _unmixing _valid_mask _x_mean
  _x_scores _x_std _y_mean _y_scores _y_std _y_train_mean _y_train_std affinity_matrix_ alpha_ alphas_
  binned_left_cat_bitsets bitHash_ center center_ centroid_ centroids_ children_ class_count_ class_log_prior_
  class_prior_ class_weight_ cluster_centers_ cluster_centers_indices_ cluster_hierarchy_ code_book_ code_init
  coef_ coef_path_ coefs_paths_ column_labels_ columns_ component_indices_ components_ constant_
  core_distances_ core_sample_indices_ covariance_ covariance_prior_ covariances_ criterion_ cv_alphas_
  cv_results_ data_max_ data_min_ data_range_ degrees_of_freedom_ deviations_ dict_init dissimilarity_matrix_
  dist_ dist_matrix_ distances_ dual_coef_ dual_gap_ eigenvalues_ eigenvectors_ embedding_ estimator_errors_
  estimator_weights_ exp_dirichlet_component_ explained_variance_ explained_variance_ratio_ f_cached
  feature_all_ feature_count_ feature_log_prob_ features_ h_samples_ idf_ indexHash_ init_centroids_
  init_sq_norm_ inlier_mask_ intercept_ intercept_hidden_ intercept_visible_ inverse_components_
  is_categorical is_categorical_ label_distributions_ labels_ lambda_ lambdas_ length_scale linear_sum_
  location_ lower_bound_ max_abs_ mean_ mean_precision_ mean_prior_ means_ medoids_ min_ mixing_ mse_path_
  n_bins_ n_bins_non_missing_ n_categories_ n_classes_ n_iter_ n_samples_seen_ negative_outlier_factor_ nodes
  noise_variance_ normalization_ offset_ oob_decision_function_ oob_improvement_ oob_prediction_ oob_scores_
  order_ ordering_ outliers_ pi_ precision_ precisions_ precisions_cholesky_ predecessor_ priors_
  probabilities_ pvalues_ quantiles_ random_offset_ random_weights_ ranking_ raw_covariance_
  raw_left_cat_bitsets raw_location_ raw_support_ reachability_ references_ row_labels_ rows_ scale_ scalings_
  scores_ sigma_ singular_ singular_values_ squared_norm_ subcluster_centers_ subcluster_labels_ support_
  support_vectors_ target_mean_ test_fold theta_ train_score_ unique_folds validation_score_ var_ variances_
  weight_concentration_ weights_ whitening_ within_class_std_dev_ x_loadings_ x_rotations_ x_scores_
  x_weights_ xbar_ y_ y_loadings_ y_rotations_ y_scores_ y_thresholds_ y_train_ y_weights_
array of array: bin_edges_
array of estimator: estimators_
array of sparse: classes_
dict: _kwargs _metric_params _missing_indices _requests class_weight effective_metric_params_ fun_args
  inv_kw_args kernel_params kw_args metric_params monotonic_cst param_distributions param_grid scoring
  solver_options transformer_weights
dict by number: _cached_dict _missing_indices class_weight coefs_paths_ scores_
dict by text: _cached_dict _kwargs _requests _sklearn_output_config _transformer_to_input_indices best_params_
  class_weight coefs_paths_ cv_results_ cvargs effective_metric_params_ kernel_params kw_args metric_params
  named_estimators_ output_indices_ param_distributions param_grid scorer_ scores_ scoring transformer_weights
  vocabulary vocabulary_
dict of array: coefs_paths_ cv_results_ effective_metric_params_ metric_params scores_
dict of estimator: best_params_ named_estimators_
dict of list: _transformer_to_input_indices
dict of list of dict by text: cv_results_
dict of list of dict of estimator: cv_results_
dict of list of dict of none: cv_results_
dict of list of dict of number: cv_results_
dict of list of dict of text: cv_results_
dict of list of estimator: param_grid
dict of list of none: param_distributions param_grid
dict of list of number: _transformer_to_input_indices param_distributions param_grid
dict of list of text: param_distributions param_grid
dict of masked array: cv_results_
dict of masked array of estimator: cv_results_
dict of masked array of none: cv_results_
dict of masked array of text: cv_results_
dict of masked labels: cv_results_
dict of none: _kwargs _requests best_params_ effective_metric_params_
dict of number: _cached_dict _missing_indices _requests best_params_ class_weight cvargs
  effective_metric_params_ kernel_params kw_args transformer_weights vocabulary vocabulary_
dict of scorer: scorer_ scoring
dict of slice: output_indices_
dict of text: _kwargs _sklearn_output_config best_params_ kw_args named_estimators_ scoring
dtype: _fill_dtype _fit_dtype dtype solver
estimator: _bin_mapper _centerer _encoder _estimator _label_binarizer _label_encoder _preprocessor _scaler
  _tfidf base_estimator base_estimator_ best_estimator_ covariance_estimator estimator estimator_
  final_estimator final_estimator_ indicator_ init init_ initial_imputer_ kernel_pca_ label_binarizer_ le_
  memory n_clusters nbrs_ nn_fit one_hot_encoder_ owner regressor regressor_ remainder transformer
  transformer_ vocabulary
function: _kmeans_single _score_func affinity analyzer callback connectivity effective_metric_
  feature_name_combiner feature_names_out fun func importance_getter init inverse_func is_data_valid
  is_model_valid kernel loss max_features metric oob_score optimizer pooling_func preprocessor refit
  score_func scoring strategy strip_accents tokenizer verbose_feature_names_out weights
generator: _feature_subsample_rng _random_state _rng random_state random_state_ rng
kernel: k1 k2 kernel kernel_
labels: Cs _drop_idx_after_grouping _transformers_feature_names_out _y alpha alphas categorical_features
  class_prior classes classes_ connectivity constant covariance_prior degree dictionary drop drop_idx_
  feature_names_in_ hidden_layer_sizes init knots l1_ratio l1_ratio_ l1_ratios l1_ratios_ labeled_iter_
  max_value mean_prior means_init min_categories min_value monotonic_cst n_bins noise_variance_init order
  outlier_label precisions_init precompute preference priors seeds statistics_ thresholds transduction_ w_init
  weights weights_init
list: active_ categories chain_method class_weight cluster_centers_indices_ estimator_params estimators
  feature_range imputation_sequence_ interaction_cst n_clusters n_iter_ ngram_range param_distributions
  param_grid patch_size quantile_range scores_ scoring squared_norm_ steps stop_words subclusters_
  transform_input transformers
list of array: _average_path_length_per_tree _best_coefs _best_intercepts _columns _decision_path_lengths
  _default_to_infrequent_mappings _infrequent_indices alphas_ bin_thresholds_ category_count_ class_prior_
  classes_ coef_path_ coefs_ covariance_ encodings_ estimators_features_ feature_log_prob_ intercepts_
  known_categories lower_bounds_ ms rotations_ scalings_ velocities vs weight_concentration_
list of array of sparse: classes_
list of dict by text: param_grid
list of dict of array: param_grid
list of dict of list of none: param_grid
list of dict of list of number: param_grid
list of dict of list of text: param_grid
list of estimator: calibrators estimators_
list of kernel: kernels
list of labels: categories categories_
list of list: _remainder active_
list of list of array: cv transformers transformers_
list of list of estimator: estimators steps transformer_list transformers transformers_
list of list of list of number: _coef_indptr transformers transformers_
list of list of list of text: transformers transformers_
list of list of none: steps
list of list of number: _coef_indptr _columns _intercept_indptr _remainder active_ categories costs_
  interaction_cst transformers transformers_
list of list of sklearn.ensemble._hist_gradient_boosting.predictor:TreePredictor: _predictors
list of list of selector: transformers transformers_
list of list of slice: transformers transformers_
list of list of text: _columns _remainder estimators steps transformer_list transformers transformers_
list of namedtuple: imputation_sequence_
list of none: _default_to_infrequent_mappings _infrequent_indices known_categories
list of number: Cs _alphas _columns _n_feature_outs _n_features_outs active_ alpha alpha_bounds alphas
  categorical_features class_prior classes connectivity constant constant_value_bounds costs_ covariance_prior
  degree dictionary drop error_ feature_range gamma_bounds hidden_layer_sizes init knots l1_ratio l1_ratios
  length_scale length_scale_bounds loglike_ loss_curve_ lower_bounds_ max_value mean_prior means_init
  min_categories min_value monotonic_cst n_bins n_candidates_ n_classes_ n_iter_ n_resources_ ngram_range
  noise_level_bounds noise_variance_init order order_ outlier_label outlier_label_ periodicity_bounds
  precisions_init precompute preference priors quantile_range scores_ seeds shape_fit_ sigma_0_bounds
  thresholds validation_scores_ w_init weights weights_init
list of scipy.interpolate:BSpline: bsplines_
list of set of number: interaction_cst
list of sklearn.calibration:_CalibratedClassifier: calibrated_classifiers_
list of sklearn.cluster._birch:_CFSubcluster: subclusters_
list of slice: _columns
list of text: Cs _columns _remainder _response_method alpha alphas categorical_features class_prior classes
  connectivity constant covariance_prior degree dictionary drop estimator_params feature_names_
  hidden_layer_sizes init knots l1_ratio l1_ratios max_value mean_prior means_init min_categories min_value
  monotonic_cst n_bins noise_variance_init order outlier_label outlier_label_ precisions_init precompute
  preference priors scoring seeds stack_method_ stop_words thresholds vocabulary w_init weights weights_init
loss: _base_loss _loss _loss_function_ closs link loss
matrix: center
number: C_ K_fit_all_ X_max_ X_min_ _alphas _batch_size _beta_loss _default_test_size _effective_probability
  _ewa_cost _ewa_cost_min _ewa_inertia _ewa_inertia_min _fitted_with_sw _gamma _infrequent_enabled _init_size
  _max_components _max_degree _max_features _max_iter _max_samples _metric_mds _min_degree _min_samples
  _n_components _n_features _n_features_out _n_init _n_out_full _n_samples _n_samples_bootstrap
  _n_samples_orig _n_since_last_reassign _n_threads _no_improvement _no_improvement_count _norm_y_weights
  _precomputed _predict_1d _random_seed _rho _sign _sparse _stop_words_id _store_cv_results _thresholds _tol
  _training_dim _transform_max_iter _use_validation_data _y_train_mean _y_train_std a_ alpha_ approx_hessian
  b_ bandwidth_ batch_size_ best_index_ best_loss_ best_score_ best_threshold_ best_validation_score_ beta_
  beta_loss bound_ breakdown_ coef0 constant constant_hessian constant_value converged_ covariance_prior_
  degrees_of_freedom_ degrees_of_freedom_prior_ density_ do_early_stopping_ doc_topic_prior_ dual_gap_
  encoded_missing_value eps_ epsilon epsilon_ error_score exponent fill_value fit_status_ fixed_vocabulary_
  gamma_ gap high high_inclusive increasing_ inertia_ intercept_ is_leaf kl_divergence_ l1_ratio_ label
  lambda_ learning_rate_ length_scale log_marginal_likelihood_value_ loss_ low low_inclusive lower_bound_
  max_features_ max_resources_ max_samples_ max_value mean_precision_prior_ min_resources_ min_value
  missing_values missing_values_bin_idx_ multimetric_ n_batch_iter_ n_classes n_classes_ n_clusters_
  n_components_ n_connected_components_ n_estimators_ n_features_ n_features_in_ n_features_out_
  n_features_to_select_ n_features_with_missing_ n_groups n_iter_ n_iterations_ n_layers_ n_leaves_
  n_neighbors_ n_nonzero_coefs_ n_output_features_ n_outputs_ n_possible_iterations_ n_quantiles_
  n_remaining_candidates_ n_repeats n_required_iterations_ n_samples_ n_samples_fit_ n_samples_seen_
  n_skips_invalid_data_ n_skips_invalid_model_ n_skips_no_inliers_ n_splits n_splits_ n_steps_
  n_subpopulation_ n_threads n_trees_per_iteration_ n_trials_ nesterov noise_level noise_variance_ offset_
  oob_score_ outputs_2d_ periodicity pos_label power power_t preference rank_ reconstruction_err_
  reconstruction_error_ refit_time_ scale_ score shrinkage_ sigma_0 skewedness sparse_input_ sparse_output_
  sq_norm_ squared_sum_ stop_score stress_ t t_ target_mean_ test_size threshold tol topic_word_prior_
  train_size unknown_value weight_concentration_prior_ y_max y_min
numpy function: func inverse_func pooling_func
pandas.frame: _BaseLibSVM__Xfit
partial function: func
scorer: _curve_scorer owner scorer_ scoring
set of text: vocabulary
sklearn._loss.link:Interval: interval_y_pred interval_y_true
sklearn.cluster._birch:_CFNode: child_ dummy_leaf_ next_leaf_ prev_leaf_ root_
sklearn.cluster._bisect_k_means:_BisectingTree: _bisecting_tree left right
sklearn.model_selection:KFold: cv
sklearn.model_selection:StratifiedKFold: cv
sklearn.neural_network._stochastic_optimizers:AdamOptimizer: _optimizer
sklearn.neural_network._stochastic_optimizers:SGDOptimizer: _optimizer
sklearn.utils._metadata_requests:MetadataRequest: _metadata_request
sklearn.utils._metadata_requests:MethodMetadataRequest: decision_function fit fit_resample inverse_transform
  partial_fit predict predict_log_proba predict_proba score split transform
sparse: X_ X_fit_ _BaseLibSVM__Xfit _dual_coef_ _fit_X _raw_data _y affinity_matrix_ cluster_centers_
  components_ connectivity dual_coef_ support_vectors_
splitter: _checked_cv_orig cv
text: _algorithm _fit_svd_solver _init _metric _sklearn_version _strategy alphas base_estimator chain_method_
  constant copy copy_X effective_metric_ fill_value force_int_remainder_cols init_ input l1_ratios memory
  missing_values n_alphas n_iter outlier_label owner pos_label probability random_state refit remainder
  separator shuffle solver_ store_cv_values target_type_ threshold token_pattern use_legacy_attributes
  verbose_feature_names_out
tree: _tree tree_
"""

VALUES = r"""
-1..2147483648: max_iter n_iter_without_progress
-2147483648..2147483648: evaluate_every n_jobs n_subsamples neg_label outlier_label pre_dispatch
-2147483648..inf: norm_order
-inf..2147483648: max_features
0..0.5: contamination min_weight_fraction_leaf
0..1: accept_sparse add_indicator aggressive_elimination allow_single_cluster alpha_per_target alternate_sign
  angle assume_centered beta_1 beta_2 bin_seeding binary bootstrap bootstrap_features breadth_first break_ties
  check_inverse clip cluster_all compute_distances compute_full_tree compute_inverse_components compute_labels
  compute_score copy copy_X copy_X_train copy_x dense_output density doc_topic_prior dual early_stopping
  ensemble error_on_new fit_intercept fit_inverse_transform fit_path fit_prior flatten_transform force_alpha
  force_int_remainder_cols forget_factor fresh_restarts ignore_implicit_zeros include_bias increasing
  interaction_only keep_empty_features l1_ratio learning_decay lowercase metric metric_mds mini_batch momentum
  nesterovs_momentum norm normalize_y normalized_stress novelty nu oob_score passthrough positive
  positive_code positive_dict precompute predecessor_correction prefit probability quantile refit reg_param
  remove_zero_eig return_train_score sample_posterior scale shrinkage shrinking shuffle skip_complete
  smooth_idf sort sparse sparse_output sparse_threshold split_sign standardize stop_probability
  store_covariance store_cv_results store_cv_values store_precision sublinear_tf support_fraction
  topic_word_prior unit_variance use_idf use_legacy_attributes validate verbose_feature_names_out warm_start
  whiten with_centering with_mean with_scaling with_std xi
0..100: percentile
0..2147483648: average cv iterated_power k max_df max_doc_update_iter max_no_improvement max_patches
  min_cluster_size min_df min_frequency min_samples min_samples_leaf min_samples_split n_components
  n_features_to_select n_iter n_restarts_optimizer n_svd_vecs random_state step subsample transform_max_iter
  validation_fraction verbose
0..inf: C alpha alpha_1 alpha_2 alpha_H alpha_W alpha_init alphas atol bandwidth binarize cache_size ccp_alpha
  cluster_selection_epsilon code_size covariance_prior degree degrees_of_freedom_prior distance_threshold
  eigen_tol enet_tol eps eta0 factor gamma hessian_tol intercept_scaling jitter l2_regularization lambda_1
  lambda_2 lambda_init learning_rate learning_rate_init max_eps max_samples max_skips max_trials
  mean_change_tol mean_precision_prior min_grad_norm min_impurity_decrease modified_tol noise_variance p param
  perp_tol perplexity radius reassignment_ratio reg reg_covar residual_threshold ridge_alpha rtol
  sample_interval shrink_threshold smooth stop_n_inliers threshold_lambda total_samples transform_alpha
  var_smoothing weight_concentration_prior
0.5..1: damping
1..2147483647: n_features
1..2147483648: Cs batch_size block_size convergence_iter fresh_restarts_max_iter hidden_layer_sizes init_size
  k_best leaf_size max_categories max_cluster_size max_depth max_fun max_iter_predict max_n_alphas
  max_resources min_bin_freq min_categories min_features_to_select min_resources n_alphas n_best n_candidates
  n_clusters n_estimators n_init n_nearest_features n_neighbors n_nonzero_coefs n_oversamples n_quantiles
  n_refinements n_targets sample_steps thresholds transform_n_nonzero_coefs verbose_interval
1..inf: early_exaggeration learning_offset max_subpopulation n_iter_no_change
2*n_jobs: pre_dispatch
2..2147483648: branching_factor max_leaf_nodes n_bins n_knots
2..255: max_bins
A B cd connectivity distance fdr fpr fwe k_best lars percentile: mode
C F random: order
D FW auto: path_method
LU OR QR auto none: power_iteration_normalizer
SAMME SAMME.R arpack auto ball_tree balltree brute deflation elkan kd_tree kdtree lloyd nipals parallel
  randomized svd: algorithm
absolute_error aic bic entropy friedman_mse gini k_best log_loss poisson squared_error threshold: criterion
absolute_error epsilon_insensitive exponential gamma hinge huber linear log_loss modified_huber perceptron
  poisson quantile square squared_epsilon_insensitive squared_error squared_hinge: loss
accuracy adjusted_mutual_info_score adjusted_rand_score average_precision balanced_accuracy completeness_score
  d2_absolute_error_score d2_brier_score d2_log_loss_score explained_variance f1 f1_macro f1_micro f1_samples
  f1_weighted fowlkes_mallows_score homogeneity_score jaccard jaccard_macro jaccard_micro jaccard_samples
  jaccard_weighted loss matthews_corrcoef max_error mutual_info_score neg_brier_score neg_log_loss
  neg_max_error neg_mean_absolute_error neg_mean_absolute_percentage_error neg_mean_gamma_deviance
  neg_mean_poisson_deviance neg_mean_squared_error neg_mean_squared_log_error neg_median_absolute_error
  neg_negative_likelihood_ratio neg_root_mean_squared_error neg_root_mean_squared_log_error
  normalized_mutual_info_score positive_likelihood_ratio precision precision_macro precision_micro
  precision_samples precision_weighted r2 rand_score recall recall_macro recall_micro recall_samples
  recall_weighted roc_auc roc_auc_ovo roc_auc_ovo_weighted roc_auc_ovr roc_auc_ovr_weighted top_k_accuracy
  v_measure_score: scoring
adam auto cd cholesky eigen highs highs-ds highs-ipm interior-point lbfgs liblinear lsqr mu newton-cg
  newton-cholesky revised%20simplex sag saga sgd sparse_cg svd: solver
adaptive auto constant invscaling optimal pa1 pa2: learning_rate
additive_chi2 chi2 cosine epanechnikov exponential gaussian knn laplacian linear poly polynomial precomputed
  rbf sigmoid tophat: kernel
additive_chi2 chi2 cosine euclidean laplacian linear nearest_neighbors poly polynomial precomputed
  precomputed_nearest_neighbors rbf sigmoid: affinity
all: k param
all missing-only: features
all_labeled max_iter no_change: termination_condition_
amg arpack auto dense lobpcg randomized: eigen_solver
arabic ascending descending random roman: imputation_order
arbitrary-variance unit-variance: whiten
arpack auto covariance_eigh full randomized: svd_solver
arpack lapack randomized: svd_method
ascii unicode: strip_accents
auto: batch_size categories compute_full_tree contamination density dual early_stopping eigen_tol ensemble
  importance_getter increasing iterated_power max_resources max_samples n_features_to_select n_init
  normalized_stress precompute shrinkage smooth sparse
auto ball_tree brute kd_tree: neighbors_algorithm
auto binary continuous multiclass: target_type
auto classical_mds custom identity k-means++ lda nndsvd nndsvda nndsvdar pca random zero: init
auto crammer_singer multinomial one_vs_one one_vs_rest ovr: multi_class
auto decision_function predict predict_proba: stack_method
auto decision_function predict_proba: response_method
auto eigen svd: gcv_mode
auto identity log: link
auto mle: n_components
auto scale: gamma
average complete single ward: linkage
averaged_inverted_cdf closest_observation hazen interpolated_inverted_cdf inverted_cdf linear median_unbiased
  normal_unbiased weibull: quantile_method
backward forward: direction
balanced balanced_subsample: class_weight
ball_tree brute kd_tree: _fit_method
barnes_hut bistochastic box-cox cd decision_function exact fit fit_resample hessian inverse_transform isotonic
  lars log ltsa modified partial_fit predict predict_log_proba predict_proba scale score sigmoid split
  standard temperature transform yeo-johnson: method
batch online: learning_method
best random: splitter
biggest_inertia largest_cluster: bisecting_strategy
binary multiclass multilabel-indicator: y_type_
both centroid medoid: store_centers
braycurtis canberra chebyshev cityblock correlation cosine dice euclidean hamming haversine infinity jaccard
  l1 l2 mahalanobis manhattan matching minkowski nan_euclidean p precomputed pyfunc rbf rogerstanimoto
  russellrao seuclidean sokalmichener sokalsneath sqeuclidean wminkowski yule: metric
canonical regression: deflation_mode
cd lars: fit_algorithm
char char_wb word: analyzer
clip nan raise: out_of_bounds
cluster_qr discretize kmeans: assign_labels
concat: feature_name_combiner
constant: lr_schedule
constant continue error linear periodic: extrapolation
constant kmeans mean median most_frequent prior quantile stratified uniform: strategy
constant mean median most_frequent: initial_strategy
cube exp logcosh: fun
cyclic random: selection
dbscan xi: cluster_method
decision_function predict predict_log_proba predict_proba: chain_method
diag full spherical tied: covariance_type
dict pair string: input_type
dirichlet_distribution dirichlet_process: weight_concentration_prior_type
distance uniform: weights
eigh svd: whiten_solver
elasticnet l1 l2: penalty
empirical uniform: priors
english: stop_words
eom leaf: cluster_selection_method
error ignore infrequent_if_exist use_encoded_value: handle_unknown
error zeros: handle_missing
euclidean precomputed: dissimilarity
exhaust: n_candidates
exhaust smallest: min_resources
exp identity logistic softmax: out_activation_
first if_binary: drop
fixed: constant_value_bounds length_scale_bounds
fmin_l_bfgs_b: optimizer
frobenius itakura-saito kullback-leibler: beta_loss
from_dtype: categorical_features
hard soft: voting
identity logistic relu tanh: activation
ignore replace strict: decode_error
k-means++ kmeans random random_from_data: init_params
l1 l2 max: norm
lars lasso_cd lasso_lars omp threshold: transform_algorithm
lasso_lars: _fit_algorithm
latin-1 utf-8: encoding
log2 sqrt: max_features
n_samples: resource
no_interactions pairwise: interaction_cst
normal uniform: output_distribution
numeric: dtype
one-to-one: feature_names_out
onehot onehot-dense ordinal: encode
ovo ovr: decision_function_shape
precomputed: covariance
predict: _response_method
prefit: cv
quantile uniform: knots
quartimax varimax: rotation
raise: error_score
same: alpha_H
scott silverman: bandwidth
"""
