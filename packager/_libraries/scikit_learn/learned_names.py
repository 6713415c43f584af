"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is classes, their bases, and what they assign that these do not, below the module that archives name.
"""

NAMES = r"""
# versions: scikit-learn 1.5.2 1.6.1 1.7.2 1.8.0 1.9.1
AgglomerationTransform,SelectorMixin(TransformerMixin)
BaseBagging(BaseEnsemble) _max_features _max_samples _n_samples _sample_weight _seeds bootstrap
  bootstrap_features estimators_ estimators_features_ max_features max_samples n_jobs oob_score random_state
  verbose warm_start
BaseCrossValidator,BaseLink,Kernel()
BaseDecisionTree(BaseEstimator) ccp_alpha class_weight classes_ criterion max_depth max_features max_features_
  max_leaf_nodes min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf
  monotonic_cst n_classes_ n_outputs_ random_state splitter tree_
BaseEnsemble(BaseEstimator) estimator estimator_ estimator_params n_estimators
BaseForest(BaseEnsemble) _n_samples _n_samples_bootstrap _sample_weight bootstrap class_weight classes_
  estimators_ max_samples n_classes_ n_jobs n_outputs_ oob_score random_state verbose warm_start
BaseGradientBoosting(BaseEnsemble) _loss _rng alpha ccp_alpha criterion estimators_ init init_ learning_rate
  loss max_depth max_features max_features_ max_leaf_nodes min_impurity_decrease min_samples_leaf
  min_samples_split min_weight_fraction_leaf n_estimators_ n_iter_no_change oob_improvement_ oob_score_
  oob_scores_ random_state subsample tol train_score_ validation_fraction verbose warm_start
BaseHistGradientBoosting(BaseEstimator) _baseline_prediction _bin_mapper _feature_subsample_rng
  _fitted_with_sw _in_fit _is_categorical_remapped _loss _n_features _predictors _preprocessor _random_seed
  _scorer _use_validation_data categorical_features do_early_stopping_ early_stopping interaction_cst
  is_categorical_ l2_regularization learning_rate loss max_bins max_depth max_features max_iter max_leaf_nodes
  min_samples_leaf monotonic_cst n_iter_no_change random_state scoring tol train_score_ validation_fraction
  validation_score_ verbose warm_start
BaseLabelPropagation(BaseEstimator) X_ alpha classes_ gamma kernel label_distributions_ max_iter n_jobs
  n_neighbors nn_fit tol transduction_
BaseLibSVM(BaseEstimator) C _BaseLibSVM__Xfit _dual_coef_ _effective_probability _gamma _intercept_ _n_support
  _num_iter _probA _probB _sparse cache_size class_weight coef0 degree dual_coef_ epsilon fit_status_ gamma
  intercept_ kernel max_iter nu probability random_state shape_fit_ shrinking support_ support_vectors_ tol
  verbose
BaseMixture(BaseEstimator) _init_prev_time _iter_prev_time converged_ init_params lower_bound_ lower_bounds_
  max_iter n_components n_init random_state reg_covar tol verbose verbose_interval warm_start
BaseMultilayerPerceptron(BaseEstimator) _best_coefs _best_intercepts _coef_indptr _intercept_indptr
  _no_improvement_count _optimizer _random_state activation alpha batch_size best_loss_ best_validation_score_
  beta_1 beta_2 coefs_ early_stopping epsilon hidden_layer_sizes intercepts_ learning_rate learning_rate_init
  loss loss_ loss_curve_ max_fun max_iter momentum n_iter_no_change n_layers_ n_outputs_ nesterovs_momentum
  out_activation_ power_t random_state shuffle solver t_ tol validation_fraction validation_scores_ verbose
  warm_start
BaseRandomProjection(TransformerMixin,BaseEstimator) _n_features_out components_ compute_inverse_components
  eps inverse_components_ n_components n_components_ random_state
BaseSGD(SparseCoefMixin,BaseEstimator) C _average_coef _average_intercept _standard_coef _standard_intercept
  alpha average early_stopping epsilon eta0 fit_intercept intercept_ l1_ratio learning_rate loss max_iter
  n_iter_no_change offset_ penalty power_t random_state shuffle tol validation_fraction verbose warm_start
BaseSGDClassifier(BaseSGD) _expanded_class_weight _loss_function_ class_weight n_jobs t_
BaseSGDRegressor(BaseSGD) t_
BaseSVC(BaseLibSVM) break_ties class_weight_ classes_ decision_function_shape
BaseSearchCV(BaseEstimator) _checked_cv_orig best_estimator_ best_index_ best_params_ best_score_ cv
  cv_results_ error_score estimator multimetric_ n_jobs n_splits_ pre_dispatch refit refit_time_
  return_train_score scorer_ scoring verbose
BaseSpectral(BaseEstimator) init mini_batch n_clusters n_init n_svd_vecs random_state svd_method
BaseSuccessiveHalving(BaseSearchCV) _n_samples_orig aggressive_elimination factor max_resources max_resources_
  min_resources min_resources_ n_candidates_ n_iterations_ n_possible_iterations_ n_remaining_candidates_
  n_required_iterations_ n_resources_ random_state resource
BaseWeightBoosting(BaseEnsemble) estimator_errors_ estimator_weights_ estimators_ learning_rate random_state
ForestClassifier(BaseForest) oob_decision_function_ oob_score_
ForestRegressor(BaseForest) oob_prediction_ oob_score_
KernelOperator(Kernel) k1 k2
LinearModel(BaseEstimator) coef_ intercept_
LinearModelCV(LinearModel,MultiOutputLinearModel) _alphas alpha_ alphas alphas_ copy_X cv dual_gap_ eps
  fit_intercept l1_ratio_ max_iter mse_path_ n_alphas n_jobs positive precompute random_state selection tol
  verbose
MultiOutputLinearModel(LinearModel)
NeighborsBase(BaseEstimator) _fit_X _fit_method _tree _y algorithm classes_ effective_metric_
  effective_metric_params_ leaf_size metric metric_params n_jobs n_neighbors n_samples_fit_ outputs_2d_ p
  radius
SparseCoefMixin() coef_
TransformerMixin(_SetOutputMixin)
_BaseChain(BaseEstimator) base_estimator chain_method_ cv estimator estimators_ order order_ random_state
  verbose
_BaseComposition,_BaseNB(BaseEstimator)
_BaseDiscreteNB(_BaseNB) alpha class_count_ class_log_prior_ class_prior classes_ feature_count_ fit_prior
  force_alpha
_BaseFilter(SelectorMixin,BaseEstimator) pvalues_ score_func scores_
_BaseHeterogeneousEnsemble(_BaseComposition) estimators
_BaseKFold(BaseCrossValidator) n_splits random_state shuffle
_BaseKMeans(TransformerMixin,BaseEstimator) _n_init _tol init max_iter n_clusters n_init random_state tol
  verbose
_BasePCA(TransformerMixin,BaseEstimator)
_BaseRidge(LinearModel) alpha copy_X fit_intercept max_iter positive random_state solver solver_ tol
_BaseSparseCoding(TransformerMixin) n_jobs positive_code split_sign transform_algorithm transform_alpha
  transform_max_iter transform_n_nonzero_coefs
_BaseStacking(TransformerMixin,_BaseHeterogeneousEnsemble) _n_feature_outs cv estimators_ final_estimator
  final_estimator_ n_jobs named_estimators_ passthrough stack_method stack_method_ verbose
_BaseVoting(TransformerMixin,_BaseHeterogeneousEnsemble) estimators_ named_estimators_
_Constraint() hidden
_HTMLDocumentationLinkMixin() _HTMLDocumentationLinkMixin__doc_link_template
_MultiOutputEstimator(BaseEstimator) estimator estimators_ n_jobs
_PLS(TransformerMixin,BaseEstimator) _n_features_out _norm_y_weights _predict_1d _x_mean _x_scores _x_std
  _y_mean _y_scores _y_std algorithm coef_ copy deflation_mode intercept_ max_iter mode n_components scale tol
  x_loadings_ x_rotations_ x_weights_ y_loadings_ y_rotations_ y_weights_
_RidgeClassifierMixin() _label_binarizer classes_
_SetOutputMixin() _sklearn_auto_wrap_output_keys
_VectorizerMixin() _stop_words_id fixed_vocabulary_ vocabulary_
sklearn._loss:
AbsoluteError,HalfBinomialLoss,HalfGammaLoss,HalfPoissonLoss,HalfSquaredError(BaseLoss) sample_weight
HalfBinomialLossArrayAPI(HalfBinomialLoss)
HalfMultinomialLoss(BaseLoss) class_indexing_offsets sample_weight y_true_int y_true_one_hot
HalfMultinomialLossArrayAPI(HalfMultinomialLoss)
HalfTweedieLoss,HalfTweedieLossIdentity(BaseLoss) power sample_weight
HuberLoss(BaseLoss) delta quantile sample_weight
PinballLoss(BaseLoss) quantile sample_weight
sklearn._loss.link:
HalfLogitLink,IdentityLink,LogLink,LogitLink,MultinomialLogit(BaseLink)
Interval(_Constraint) closed high high_inclusive left low low_inclusive right type
sklearn._loss.loss:
BaseLoss() approx_hessian closs constant_hessian device interval_y_pred interval_y_true link n_classes xp
ExponentialLoss(BaseLoss) sample_weight
HalfPoissonLossArrayAPI(HalfPoissonLoss)
sklearn.base:
BaseEstimator(_HTMLDocumentationLinkMixin)
sklearn.calibration:
CalibratedClassifierCV(BaseEstimator) calibrated_classifiers_ classes_ cv ensemble estimator method n_jobs
_CalibratedClassifier() calibrators classes estimator method
_SigmoidCalibration(BaseEstimator) a_ b_
_TemperatureScaling(BaseEstimator) beta_
sklearn.cluster:
AffinityPropagation(BaseEstimator) affinity affinity_matrix_ cluster_centers_ cluster_centers_indices_
  convergence_iter copy damping labels_ max_iter preference random_state verbose
AgglomerativeClustering(BaseEstimator) _metric children_ compute_distances compute_full_tree connectivity
  distance_threshold distances_ labels_ linkage memory metric n_clusters n_clusters_ n_connected_components_
  n_leaves_
Birch(TransformerMixin,BaseEstimator) _n_features_out _subcluster_norms branching_factor compute_labels copy
  dummy_leaf_ labels_ n_clusters root_ subcluster_centers_ subcluster_labels_ threshold
BisectingKMeans(_BaseKMeans) _X_mean _bisecting_tree _kmeans_single _n_features_out _n_threads _random_state
  algorithm bisecting_strategy cluster_centers_ copy_x inertia_ labels_
DBSCAN(BaseEstimator) algorithm components_ core_sample_indices_ eps labels_ leaf_size metric metric_params
  min_samples n_jobs p
FeatureAgglomeration(AgglomerativeClustering,AgglomerationTransform) _n_features_out pooling_func
HDBSCAN(BaseEstimator) _metric_params _min_samples _raw_data _single_linkage_tree_ algorithm
  allow_single_cluster alpha centroids_ cluster_selection_epsilon cluster_selection_method copy labels_
  leaf_size max_cluster_size medoids_ metric metric_params min_cluster_size min_samples n_jobs probabilities_
  store_centers
KMeans(_BaseKMeans) _algorithm _n_features_out _n_threads algorithm cluster_centers_ copy_x inertia_ labels_
MeanShift(BaseEstimator) bandwidth bin_seeding cluster_all cluster_centers_ labels_ max_iter min_bin_freq
  n_jobs seeds
MiniBatchKMeans(_BaseKMeans) _batch_size _counts _ewa_inertia _ewa_inertia_min _init_size _n_features_out
  _n_since_last_reassign _n_threads _no_improvement _random_state batch_size cluster_centers_ compute_labels
  inertia_ init_size labels_ max_no_improvement n_steps_ reassignment_ratio
OPTICS(BaseEstimator) algorithm cluster_hierarchy_ cluster_method core_distances_ eps labels_ leaf_size
  max_eps memory metric metric_params min_cluster_size min_samples n_jobs ordering_ p predecessor_
  predecessor_correction reachability_ xi
SpectralBiclustering(BaseSpectral) column_labels_ columns_ method n_best n_components row_labels_ rows_
SpectralClustering(BaseEstimator) affinity affinity_matrix_ assign_labels coef0 degree eigen_solver eigen_tol
  gamma kernel_params labels_ n_clusters n_components n_init n_jobs n_neighbors random_state verbose
SpectralCoclustering(BaseSpectral) column_labels_ columns_ row_labels_ rows_
sklearn.cluster._birch:
_CFNode() branching_factor centroids_ dtype init_centroids_ init_sq_norm_ is_leaf n_features next_leaf_
  prev_leaf_ squared_norm_ subclusters_ threshold
_CFSubcluster() centroid_ child_ linear_sum linear_sum_ n_samples_ sq_norm_ squared_sum_
sklearn.cluster._bisect_k_means:
_BisectingTree() center indices left right score
sklearn.compose:
ColumnTransformer(TransformerMixin,_BaseComposition) _columns _remainder _transformer_to_input_indices
  _transformers_feature_names_out force_int_remainder_cols n_jobs output_indices_ remainder sparse_output_
  sparse_threshold transformer_weights transformers transformers_ verbose verbose_feature_names_out
TransformedTargetRegressor(BaseEstimator) _training_dim check_inverse func inverse_func regressor regressor_
  transformer transformer_
sklearn.covariance:
EllipticEnvelope(MinCovDet) contamination offset_
EmpiricalCovariance(BaseEstimator) assume_centered covariance_ location_ precision_ store_precision
GraphicalLasso(BaseGraphicalLasso) alpha costs_ covariance
GraphicalLassoCV(BaseGraphicalLasso) alpha_ alphas costs_ cv cv_results_ n_jobs n_refinements
LedoitWolf(EmpiricalCovariance) block_size shrinkage_
MinCovDet(EmpiricalCovariance) dist_ random_state raw_covariance_ raw_location_ raw_support_ support_
  support_fraction
OAS(EmpiricalCovariance) shrinkage_
ShrunkCovariance(EmpiricalCovariance) shrinkage
sklearn.covariance._graph_lasso:
BaseGraphicalLasso(EmpiricalCovariance) enet_tol eps max_iter mode tol verbose
sklearn.cross_decomposition:
CCA,PLSCanonical(_PLS)
PLSRegression(_PLS) x_scores_ y_scores_
PLSSVD(TransformerMixin,BaseEstimator) _n_features_out _x_mean _x_std _y_mean _y_std copy n_components scale
  x_weights_ y_weights_
sklearn.decomposition:
DictionaryLearning(_BaseSparseCoding,BaseEstimator) alpha callback code_init components_ dict_init error_
  fit_algorithm max_iter n_components positive_dict random_state tol verbose
FactorAnalysis(TransformerMixin,BaseEstimator) components_ copy iterated_power loglike_ max_iter mean_
  n_components noise_variance_ noise_variance_init random_state rotation svd_method tol
FastICA(TransformerMixin,BaseEstimator) _unmixing algorithm components_ fun fun_args max_iter mean_ mixing_
  n_components random_state tol w_init whiten whiten_solver whitening_
IncrementalPCA(_BasePCA) batch_size batch_size_ components_ copy explained_variance_ explained_variance_ratio_
  mean_ n_components n_components_ n_samples_seen_ noise_variance_ singular_values_ var_ whiten
KernelPCA(TransformerMixin,BaseEstimator) X_fit_ X_transformed_fit_ _centerer alpha coef0 copy_X degree
  dual_coef_ eigen_solver eigenvalues_ eigenvectors_ fit_inverse_transform gamma gamma_ iterated_power kernel
  kernel_params max_iter n_components n_jobs random_state remove_zero_eig tol
LatentDirichletAllocation(TransformerMixin,BaseEstimator) batch_size bound_ components_ doc_topic_prior
  doc_topic_prior_ evaluate_every exp_dirichlet_component_ learning_decay learning_method learning_offset
  max_doc_update_iter max_iter mean_change_tol n_batch_iter_ n_components n_jobs perp_tol random_state
  random_state_ topic_word_prior topic_word_prior_ total_samples verbose
MiniBatchDictionaryLearning(_BaseSparseCoding,BaseEstimator) _A _B _batch_size _ewa_cost _ewa_cost_min
  _fit_algorithm _n_components _no_improvement _random_state alpha batch_size callback components_ dict_init
  fit_algorithm max_iter max_no_improvement n_components n_steps_ positive_dict random_state shuffle tol
  verbose
MiniBatchNMF(_BaseNMF) _batch_size _components_denominator _components_numerator _ewa_cost _ewa_cost_min
  _gamma _no_improvement _rho _transform_max_iter batch_size components_ forget_factor fresh_restarts
  fresh_restarts_max_iter max_no_improvement n_components_ n_steps_ reconstruction_err_ transform_max_iter
MiniBatchSparsePCA(_BaseSparsePCA) batch_size callback components_ max_no_improvement n_components_ shuffle
NMF(_BaseNMF) components_ n_components_ reconstruction_err_ shuffle solver
PCA(_BasePCA) _fit_svd_solver components_ copy explained_variance_ explained_variance_ratio_ iterated_power
  mean_ n_components n_components_ n_oversamples n_samples_ noise_variance_ power_iteration_normalizer
  random_state singular_values_ svd_solver tol whiten
SparseCoder(_BaseSparseCoding,BaseEstimator) dictionary n_components_
SparsePCA(_BaseSparsePCA) U_init V_init components_ error_ n_components_
TruncatedSVD(TransformerMixin,BaseEstimator) algorithm components_ explained_variance_
  explained_variance_ratio_ n_components n_iter n_oversamples power_iteration_normalizer random_state
  singular_values_ tol
sklearn.decomposition._nmf:
_BaseNMF(TransformerMixin,BaseEstimator) _beta_loss _n_components alpha_H alpha_W beta_loss init l1_ratio
  max_iter n_components random_state tol verbose
sklearn.decomposition._sparse_pca:
_BaseSparsePCA(TransformerMixin,BaseEstimator) alpha max_iter mean_ method n_components n_jobs random_state
  ridge_alpha tol verbose
sklearn.discriminant_analysis:
LinearDiscriminantAnalysis(TransformerMixin,BaseEstimator) _max_components _n_features_out classes_ coef_
  covariance_ covariance_estimator explained_variance_ratio_ intercept_ means_ n_components priors priors_
  scalings_ shrinkage solver store_covariance tol xbar_
QuadraticDiscriminantAnalysis(BaseEstimator) classes_ covariance_ covariance_estimator means_ priors priors_
  reg_param rotations_ scalings_ shrinkage solver store_covariance tol
sklearn.dummy:
DummyClassifier(BaseEstimator) _strategy class_prior_ classes_ constant n_classes_ n_outputs_ random_state
  sparse_output_ strategy
DummyRegressor(BaseEstimator) constant constant_ n_outputs_ quantile strategy
sklearn.ensemble:
AdaBoostClassifier(BaseWeightBoosting) algorithm classes_ n_classes_
AdaBoostRegressor(BaseWeightBoosting) loss
BaggingClassifier(BaseBagging) classes_ n_classes_ oob_decision_function_ oob_score_
BaggingRegressor(BaseBagging) oob_prediction_ oob_score_
ExtraTreesClassifier,RandomForestClassifier(ForestClassifier) ccp_alpha criterion max_depth max_features
  max_leaf_nodes min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf
  monotonic_cst
ExtraTreesRegressor,RandomForestRegressor(ForestRegressor) ccp_alpha criterion max_depth max_features
  max_leaf_nodes min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf
  monotonic_cst
GradientBoostingClassifier(BaseGradientBoosting) classes_ n_classes_ n_trees_per_iteration_
GradientBoostingRegressor(BaseGradientBoosting) n_trees_per_iteration_
HistGradientBoostingClassifier(BaseHistGradientBoosting) _label_encoder class_weight classes_
  n_trees_per_iteration_
HistGradientBoostingRegressor(BaseHistGradientBoosting) n_trees_per_iteration_ quantile
IsolationForest(BaseBagging) _average_path_length_per_tree _decision_path_lengths contamination max_samples_
  offset_
RandomTreesEmbedding(TransformerMixin,BaseForest) _n_features_out max_depth max_leaf_nodes
  min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf one_hot_encoder_
  sparse_output
StackingClassifier(_BaseStacking) _label_encoder classes_
StackingRegressor(_BaseStacking)
VotingClassifier(_BaseVoting) classes_ flatten_transform le_ n_jobs verbose voting weights
VotingRegressor(_BaseVoting) n_jobs verbose weights
sklearn.ensemble._hist_gradient_boosting.binning:
_BinMapper(TransformerMixin,BaseEstimator) bin_thresholds_ is_categorical is_categorical_ known_categories
  missing_values_bin_idx_ n_bins n_bins_non_missing_ n_threads random_state subsample
sklearn.ensemble._hist_gradient_boosting.predictor:
TreePredictor() binned_left_cat_bitsets nodes raw_left_cat_bitsets
sklearn.feature_extraction:
DictVectorizer(TransformerMixin,BaseEstimator) dtype feature_names_ separator sort sparse vocabulary_
FeatureHasher(TransformerMixin,BaseEstimator) alternate_sign dtype input_type n_features
sklearn.feature_extraction.image:
PatchExtractor(TransformerMixin,BaseEstimator) max_patches patch_size random_state
sklearn.feature_extraction.text:
CountVectorizer(_VectorizerMixin,BaseEstimator) analyzer binary decode_error dtype encoding input lowercase
  max_df max_features min_df ngram_range preprocessor stop_words strip_accents token_pattern tokenizer
  vocabulary
HashingVectorizer(TransformerMixin,_VectorizerMixin,BaseEstimator) alternate_sign analyzer binary decode_error
  dtype encoding input lowercase n_features ngram_range norm preprocessor stop_words strip_accents
  token_pattern tokenizer
TfidfTransformer(TransformerMixin,BaseEstimator) idf_ norm smooth_idf sublinear_tf use_idf
TfidfVectorizer(CountVectorizer) _tfidf norm smooth_idf sublinear_tf use_idf
sklearn.feature_selection:
GenericUnivariateSelect(_BaseFilter) mode param
RFE(SelectorMixin,BaseEstimator) estimator estimator_ importance_getter n_features_ n_features_to_select
  ranking_ step step_n_features_ step_ranking_ step_scores_ step_support_ support_ verbose
RFECV(RFE) cv cv_results_ min_features_to_select n_jobs scoring
SelectFdr,SelectFpr,SelectFwe(_BaseFilter) alpha
SelectFromModel(SelectorMixin,BaseEstimator) estimator estimator_ importance_getter max_features max_features_
  norm_order prefit threshold
SelectKBest(_BaseFilter) k
SelectPercentile(_BaseFilter) percentile
SequentialFeatureSelector(SelectorMixin,BaseEstimator) cv direction estimator n_features_to_select
  n_features_to_select_ n_jobs scoring support_ tol
VarianceThreshold(SelectorMixin,BaseEstimator) threshold variances_
sklearn.frozen:
FrozenEstimator(BaseEstimator) estimator
sklearn.gaussian_process:
GaussianProcessClassifier(BaseEstimator) base_estimator_ classes_ copy_X_train kernel
  log_marginal_likelihood_value_ max_iter_predict multi_class n_classes_ n_jobs n_restarts_optimizer optimizer
  random_state warm_start
GaussianProcessRegressor(BaseEstimator) L_ X_train_ _rng _y_train_mean _y_train_std alpha alpha_ copy_X_train
  kernel kernel_ log_marginal_likelihood_value_ n_restarts_optimizer n_targets normalize_y optimizer
  random_state y_train_
sklearn.gaussian_process._gpc:
_BinaryGaussianProcessClassifierLaplace(BaseEstimator) L_ W_sr_ X_train_ classes_ copy_X_train f_cached kernel
  kernel_ log_marginal_likelihood_value_ max_iter_predict n_restarts_optimizer optimizer pi_ random_state rng
  warm_start y_train_
sklearn.gaussian_process.kernels:
CompoundKernel(Kernel) kernels
ConstantKernel(Kernel) constant_value constant_value_bounds
DotProduct(Kernel) sigma_0 sigma_0_bounds
ExpSineSquared(Kernel) length_scale length_scale_bounds periodicity periodicity_bounds
Exponentiation(Kernel) exponent kernel
Matern(RBF) nu
PairwiseKernel(Kernel) gamma gamma_bounds metric pairwise_kernels_kwargs
Product,Sum(KernelOperator)
RBF(Kernel) length_scale length_scale_bounds
RationalQuadratic(Kernel) alpha alpha_bounds length_scale length_scale_bounds
WhiteKernel(Kernel) noise_level noise_level_bounds
sklearn.impute:
IterativeImputer(_BaseImputer) _estimator _is_empty_feature _max_value _min_value estimator fill_value
  imputation_order imputation_sequence_ initial_imputer_ initial_strategy max_iter max_value min_value
  n_features_with_missing_ n_nearest_features random_state random_state_ sample_posterior skip_complete tol
  verbose
KNNImputer(_BaseImputer) _fit_X _mask_fit_X _valid_mask copy metric n_neighbors weights
MissingIndicator(TransformerMixin,BaseEstimator) _n_features _precomputed error_on_new features features_
  missing_values sparse
SimpleImputer(_BaseImputer) _fill_dtype _fit_dtype copy fill_value statistics_ strategy
sklearn.impute._base:
_BaseImputer(TransformerMixin,BaseEstimator) add_indicator indicator_ keep_empty_features missing_values
sklearn.isotonic:
IsotonicRegression(TransformerMixin,BaseEstimator) X_max_ X_min_ X_thresholds_ f_ increasing increasing_
  out_of_bounds y_max y_min y_thresholds_
sklearn.kernel_approximation:
AdditiveChi2Sampler(TransformerMixin,BaseEstimator) sample_interval sample_steps
Nystroem(TransformerMixin,BaseEstimator) _n_features_out coef0 component_indices_ components_ degree gamma
  kernel kernel_params n_components n_jobs normalization_ random_state
PolynomialCountSketch(TransformerMixin,BaseEstimator) _n_features_out bitHash_ coef0 degree gamma indexHash_
  n_components random_state
RBFSampler(TransformerMixin,BaseEstimator) _gamma _n_features_out gamma n_components random_offset_
  random_state random_weights_
SkewedChi2Sampler(TransformerMixin,BaseEstimator) _n_features_out n_components random_offset_ random_state
  random_weights_ skewedness
sklearn.kernel_ridge:
KernelRidge(BaseEstimator) X_fit_ alpha coef0 degree dual_coef_ gamma kernel kernel_params
sklearn.linear_model:
ARDRegression(LinearModel) X_offset_ X_scale_ alpha_ alpha_1 alpha_2 compute_score copy_X fit_intercept
  lambda_ lambda_1 lambda_2 max_iter scores_ sigma_ threshold_lambda tol verbose
BayesianRidge(LinearModel) X_offset_ X_scale_ alpha_ alpha_1 alpha_2 alpha_init compute_score copy_X
  fit_intercept lambda_ lambda_1 lambda_2 lambda_init max_iter scores_ sigma_ tol verbose
ElasticNet(LinearModel,MultiOutputLinearModel) alpha copy_X dual_gap_ fit_intercept l1_ratio max_iter positive
  precompute random_state selection tol warm_start
ElasticNetCV,MultiTaskElasticNetCV(LinearModelCV) l1_ratio
GammaRegressor,PoissonRegressor(_GeneralizedLinearRegressor)
HuberRegressor(LinearModel,BaseEstimator) alpha epsilon fit_intercept max_iter outliers_ scale_ tol warm_start
Lars(LinearModel,MultiOutputLinearModel) active_ alphas_ coef_path_ copy_X eps fit_intercept fit_path jitter
  n_nonzero_coefs precompute random_state verbose
LarsCV(Lars) alpha_ cv cv_alphas_ max_iter max_n_alphas mse_path_ n_jobs
Lasso(ElasticNet)
LassoCV,MultiTaskLassoCV(LinearModelCV)
LassoLars(Lars) alpha max_iter positive
LassoLarsCV(LarsCV) positive
LassoLarsIC(LassoLars) alpha_ criterion criterion_ noise_variance noise_variance_
LinearRegression(LinearModel,MultiOutputLinearModel) copy_X fit_intercept n_jobs positive rank_ singular_ tol
LogisticRegression(SparseCoefMixin,BaseEstimator) C class_weight classes_ dual fit_intercept intercept_
  intercept_scaling l1_ratio max_iter multi_class n_jobs penalty random_state solver tol verbose warm_start
LogisticRegressionCV(LogisticRegression,BaseEstimator) C_ Cs Cs_ coefs_paths_ cv l1_ratio_ l1_ratios
  l1_ratios_ refit scores_ scoring use_legacy_attributes
MultiTaskElasticNet(Lasso,ElasticNet) eps_
MultiTaskLasso(MultiTaskElasticNet)
OrthogonalMatchingPursuit(LinearModel,MultiOutputLinearModel) fit_intercept n_nonzero_coefs n_nonzero_coefs_
  precompute tol
OrthogonalMatchingPursuitCV(LinearModel) copy cv fit_intercept max_iter n_jobs n_nonzero_coefs_ verbose
PassiveAggressiveClassifier,Perceptron,SGDClassifier(BaseSGDClassifier)
PassiveAggressiveRegressor,SGDRegressor(BaseSGDRegressor)
QuantileRegressor(LinearModel,BaseEstimator) alpha fit_intercept quantile solver solver_options
RANSACRegressor(BaseEstimator) estimator estimator_ inlier_mask_ is_data_valid is_model_valid loss max_skips
  max_trials min_samples n_skips_invalid_data_ n_skips_invalid_model_ n_skips_no_inliers_ n_trials_
  random_state residual_threshold stop_n_inliers stop_probability stop_score
Ridge(_BaseRidge)
RidgeCV(_BaseRidgeCV)
RidgeClassifier(_RidgeClassifierMixin,_BaseRidge) class_weight
RidgeClassifierCV(_RidgeClassifierMixin,_BaseRidgeCV) class_weight
SGDOneClassSVM(BaseSGD) _loss_function_ nu t_
TheilSenRegressor(LinearModel) breakdown_ copy_X fit_intercept max_iter max_subpopulation n_jobs
  n_subpopulation_ n_subsamples random_state tol verbose
TweedieRegressor(_GeneralizedLinearRegressor) link power
sklearn.linear_model._glm:
_GeneralizedLinearRegressor(BaseEstimator) _base_loss alpha coef_ fit_intercept intercept_ max_iter solver tol
  verbose warm_start
sklearn.linear_model._linear_loss:
LinearModelLoss() base_loss fit_intercept
sklearn.linear_model._ridge:
_BaseRidgeCV(LinearModel) _store_cv_results alpha_ alpha_per_target alphas best_score_ cv cv_results_
  fit_intercept gcv_mode scoring store_cv_results store_cv_values
_IdentityClassifier(BaseEstimator) classes classes_
_IdentityRegressor(BaseEstimator)
_RidgeGCV(LinearModel) alpha_ alpha_per_target alphas best_score_ copy_X cv_results_ dual_coef_ fit_intercept
  gcv_mode is_clf scoring store_cv_results
sklearn.manifold:
ClassicalMDS(BaseEstimator) dissimilarity_matrix_ eigenvalues_ embedding_ metric metric_params n_components
Isomap(TransformerMixin,BaseEstimator) _n_features_out dist_matrix_ eigen_solver embedding_ kernel_pca_
  max_iter metric metric_params n_components n_jobs n_neighbors nbrs_ neighbors_algorithm p path_method radius
  tol
LocallyLinearEmbedding(TransformerMixin,BaseEstimator) _n_features_out eigen_solver embedding_ hessian_tol
  max_iter method modified_tol n_components n_jobs n_neighbors nbrs_ neighbors_algorithm random_state
  reconstruction_error_ reg tol
MDS(BaseEstimator) _init _metric _metric_mds _n_init dissimilarity dissimilarity_matrix_ embedding_ eps init
  max_iter metric metric_mds metric_params n_components n_init n_jobs normalized_stress random_state stress_
  verbose
SpectralEmbedding(BaseEstimator) affinity affinity_matrix_ eigen_solver eigen_tol embedding_ gamma gamma_
  n_components n_jobs n_neighbors n_neighbors_ random_state
TSNE(TransformerMixin,BaseEstimator) _max_iter angle early_exaggeration embedding_ init kl_divergence_
  learning_rate learning_rate_ max_iter method metric metric_params min_grad_norm n_components n_iter
  n_iter_without_progress n_jobs perplexity random_state verbose
sklearn.metrics._scorer:
_BaseScorer() _deprecation_msg _kwargs _response_method _score_func _sign kwargs response_method score
  score_func sign
_CurveScorer(_BaseScorer) _thresholds thresholds
_MultimetricScorer() _raise_exc _scorers raise_exc scorers
_PassthroughScorer() _estimator estimator
_Scorer(_BaseScorer)
sklearn.mixture:
BayesianGaussianMixture(BaseMixture) covariance_prior covariance_prior_ covariance_type covariances_
  degrees_of_freedom_ degrees_of_freedom_prior degrees_of_freedom_prior_ mean_precision_ mean_precision_prior
  mean_precision_prior_ mean_prior mean_prior_ means_ precisions_ precisions_cholesky_ weight_concentration_
  weight_concentration_prior weight_concentration_prior_ weight_concentration_prior_type weights_
GaussianMixture(BaseMixture) covariance_type covariances_ means_ means_init precisions_ precisions_cholesky_
  precisions_init weights_ weights_init
sklearn.model_selection:
BaseShuffleSplit() _default_test_size n_splits random_state test_size train_size
FixedThresholdClassifier(BaseThresholdClassifier) estimator_ pos_label threshold
GridSearchCV(BaseSearchCV) param_grid
GroupKFold,KFold,StratifiedGroupKFold,StratifiedKFold(_BaseKFold)
GroupShuffleSplit,ShuffleSplit,StratifiedShuffleSplit(BaseShuffleSplit)
HalvingGridSearchCV(BaseSuccessiveHalving) param_grid
HalvingRandomSearchCV(BaseSuccessiveHalving) n_candidates param_distributions
LeaveOneGroupOut,LeaveOneOut(BaseCrossValidator)
LeavePGroupsOut(BaseCrossValidator) n_groups
LeavePOut(BaseCrossValidator) p
ParameterGrid() param_grid
PredefinedSplit(BaseCrossValidator) test_fold unique_folds
RandomizedSearchCV(BaseSearchCV) n_iter param_distributions random_state
RepeatedKFold,RepeatedStratifiedKFold(_RepeatedSplits) n_splits
TimeSeriesSplit(_BaseKFold) gap max_train_size test_size
TunedThresholdClassifierCV(BaseThresholdClassifier) _curve_scorer best_score_ best_threshold_ cv cv_results_
  estimator_ n_jobs random_state refit scoring store_cv_results thresholds
sklearn.model_selection._classification_threshold:
BaseThresholdClassifier(BaseEstimator) estimator response_method
sklearn.model_selection._split:
_CVIterableWrapper(BaseCrossValidator) cv
_RepeatedSplits() cv cvargs n_repeats random_state
sklearn.multiclass:
OneVsOneClassifier(BaseEstimator) classes_ estimator estimators_ n_jobs pairwise_indices_
OneVsRestClassifier(BaseEstimator) classes_ estimator estimators_ label_binarizer_ n_jobs verbose
OutputCodeClassifier(BaseEstimator) classes_ code_book_ code_size estimator estimators_ n_jobs random_state
_ConstantPredictor(BaseEstimator) y_
sklearn.multioutput:
ClassifierChain(_BaseChain) chain_method classes_
MultiOutputClassifier(_MultiOutputEstimator) classes_
MultiOutputRegressor(_MultiOutputEstimator)
RegressorChain(_BaseChain)
sklearn.naive_bayes:
BernoulliNB(_BaseDiscreteNB) binarize feature_log_prob_
CategoricalNB(_BaseDiscreteNB) category_count_ feature_log_prob_ min_categories n_categories_
ComplementNB(_BaseDiscreteNB) feature_all_ feature_log_prob_ norm
GaussianNB(_BaseNB) class_count_ class_prior_ classes_ epsilon_ priors theta_ var_ var_smoothing
MultinomialNB(_BaseDiscreteNB) feature_log_prob_
sklearn.neighbors:
KNeighborsClassifier,KNeighborsRegressor,RadiusNeighborsRegressor(NeighborsBase) weights
KNeighborsTransformer,RadiusNeighborsTransformer(TransformerMixin,NeighborsBase) _n_features_out mode
KernelDensity(BaseEstimator) algorithm atol bandwidth bandwidth_ breadth_first kernel leaf_size metric
  metric_params rtol tree_
LocalOutlierFactor(NeighborsBase) _distances_fit_X_ _lrd contamination n_neighbors_ negative_outlier_factor_
  novelty offset_
NearestCentroid(BaseEstimator) centroids_ class_prior_ classes_ deviations_ metric priors shrink_threshold
  within_class_std_dev_
NearestNeighbors(NeighborsBase)
NeighborhoodComponentsAnalysis(TransformerMixin,BaseEstimator) callback components_ init max_iter n_components
  random_state random_state_ tol verbose warm_start
RadiusNeighborsClassifier(NeighborsBase) outlier_label outlier_label_ weights
sklearn.neural_network:
BernoulliRBM(TransformerMixin,BaseEstimator) _n_features_out batch_size components_ h_samples_
  intercept_hidden_ intercept_visible_ learning_rate n_components n_iter random_state random_state_ verbose
MLPClassifier(BaseMultilayerPerceptron) _label_binarizer classes_
MLPRegressor(BaseMultilayerPerceptron)
sklearn.neural_network._stochastic_optimizers:
AdamOptimizer(BaseOptimizer) beta_1 beta_2 epsilon ms params t vs
BaseOptimizer() learning_rate learning_rate_init
SGDOptimizer(BaseOptimizer) lr_schedule momentum nesterov params power_t velocities
sklearn.pipeline:
FeatureUnion(TransformerMixin,_BaseComposition) _transformers_feature_names_out n_jobs transformer_list
  transformer_weights verbose verbose_feature_names_out
Pipeline(_BaseComposition) memory steps transform_input verbose
sklearn.preprocessing:
Binarizer(TransformerMixin,BaseEstimator) copy threshold
FunctionTransformer(TransformerMixin,BaseEstimator) accept_sparse check_inverse feature_names_out func
  inv_kw_args inverse_func kw_args validate
KBinsDiscretizer(TransformerMixin,BaseEstimator) _encoder bin_edges_ dtype encode n_bins n_bins_
  quantile_method random_state strategy subsample
KernelCenterer(TransformerMixin,BaseEstimator) K_fit_all_ K_fit_rows_
LabelBinarizer(TransformerMixin,BaseEstimator) classes_ neg_label pos_label sparse_input_ sparse_output
  y_type_
LabelEncoder(TransformerMixin,BaseEstimator) classes_
MaxAbsScaler(TransformerMixin,BaseEstimator) clip copy max_abs_ n_samples_seen_ scale_
MinMaxScaler(TransformerMixin,BaseEstimator) clip copy data_max_ data_min_ data_range_ feature_range min_
  n_samples_seen_ scale_
MultiLabelBinarizer(TransformerMixin,BaseEstimator) _cached_dict classes classes_ sparse_output
Normalizer(TransformerMixin,BaseEstimator) copy norm
OneHotEncoder(_BaseEncoder) _drop_idx_after_grouping _n_features_outs categories drop drop_idx_ dtype
  feature_name_combiner handle_unknown max_categories min_frequency sparse_output
OrdinalEncoder(_BaseEncoder) _missing_indices categories dtype encoded_missing_value handle_unknown
  max_categories min_frequency unknown_value
PolynomialFeatures(TransformerMixin,BaseEstimator) _max_degree _min_degree _n_out_full degree include_bias
  interaction_only n_output_features_ order
PowerTransformer(TransformerMixin,BaseEstimator) _scaler copy lambdas_ method standardize
QuantileTransformer(TransformerMixin,BaseEstimator) copy ignore_implicit_zeros n_quantiles n_quantiles_
  output_distribution quantiles_ random_state references_ subsample
RobustScaler(TransformerMixin,BaseEstimator) center_ copy quantile_range scale_ unit_variance with_centering
  with_scaling
SplineTransformer(TransformerMixin,BaseEstimator) bsplines_ degree extrapolation handle_missing include_bias
  knots n_features_out_ n_knots order sparse_output
StandardScaler(TransformerMixin,BaseEstimator) copy mean_ n_samples_seen_ scale_ var_ with_mean with_std
TargetEncoder(_BaseEncoder) categories classes_ cv encodings_ random_state shuffle smooth target_mean_
  target_type target_type_
sklearn.preprocessing._encoders:
_BaseEncoder(TransformerMixin,BaseEstimator) _default_to_infrequent_mappings _infrequent_enabled
  _infrequent_indices categories_
sklearn.random_projection:
GaussianRandomProjection(BaseRandomProjection)
SparseRandomProjection(BaseRandomProjection) dense_output density density_
sklearn.semi_supervised:
LabelPropagation,LabelSpreading(BaseLabelPropagation)
SelfTrainingClassifier(BaseEstimator) base_estimator base_estimator_ classes_ criterion estimator estimator_
  k_best labeled_iter_ max_iter termination_condition_ threshold transduction_ verbose
sklearn.svm:
LinearSVC(SparseCoefMixin,BaseEstimator) C class_weight classes_ dual fit_intercept intercept_
  intercept_scaling loss max_iter multi_class penalty random_state tol verbose
LinearSVR(LinearModel) C dual epsilon fit_intercept intercept_scaling loss max_iter random_state tol verbose
NuSVC,SVC(BaseSVC)
NuSVR,SVR(BaseLibSVM)
OneClassSVM(BaseLibSVM) offset_
sklearn.tree:
DecisionTreeClassifier,DecisionTreeRegressor(BaseDecisionTree)
ExtraTreeClassifier(DecisionTreeClassifier)
ExtraTreeRegressor(DecisionTreeRegressor)
sklearn.utils._metadata_requests:
MetadataRequest() owner
MetadataRouter() _route_mappings _self_request owner
MethodMetadataRequest() _requests method owner requests
"""
