"""What the classes of the library assign: made by fixtures/learned/names.py from its sources.

A line is a class, its bases, the parameters of its constructor (`name=`), and what else its methods store.
"""

TABLE = r"""
# versions: scikit-learn 1.5.2 1.6.1 1.7.2 1.8.0 1.9.1
ARDRegression(RegressorMixin,LinearModel) alpha_1= alpha_2= compute_score= copy_X= fit_intercept= lambda_1=
  lambda_2= max_iter= threshold_lambda= tol= verbose= X_offset_ X_scale_ alpha_ coef_ lambda_ n_iter_ scores_
  sigma_
AbsoluteError(BaseLoss) device= sample_weight= xp= approx_hessian constant_hessian
AdaBoostClassifier(_RoutingNotSupportedMixin,ClassifierMixin,BaseWeightBoosting) algorithm= estimator=
  learning_rate= n_estimators= random_state= classes_ n_classes_
AdaBoostRegressor(_RoutingNotSupportedMixin,RegressorMixin,BaseWeightBoosting) estimator= learning_rate= loss=
  n_estimators= random_state=
AdamOptimizer(BaseOptimizer) beta_1= beta_2= epsilon= learning_rate_init= params= learning_rate ms t vs
AdditiveChi2Sampler(TransformerMixin,BaseEstimator) sample_interval= sample_steps=
AffinityPropagation(ClusterMixin,BaseEstimator) affinity= convergence_iter= copy= damping= max_iter=
  preference= random_state= verbose= affinity_matrix_ cluster_centers_ cluster_centers_indices_ labels_
  n_iter_
AgglomerationTransform(TransformerMixin)
AgglomerativeClustering(ClusterMixin,BaseEstimator) compute_distances= compute_full_tree= connectivity=
  distance_threshold= linkage= memory= metric= n_clusters= _metric children_ distances_ labels_ n_clusters_
  n_connected_components_ n_leaves_
ArrayAPILossMixin()
BaggingClassifier(ClassifierMixin,BaseBagging) bootstrap= bootstrap_features= estimator= max_features=
  max_samples= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start= classes_ n_classes_
  oob_decision_function_ oob_score_
BaggingRegressor(RegressorMixin,BaseBagging) bootstrap= bootstrap_features= estimator= max_features=
  max_samples= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start= oob_prediction_ oob_score_
BaseBagging(BaseEnsemble) bootstrap= bootstrap_features= estimator= max_features= max_samples= n_estimators=
  n_jobs= oob_score= random_state= verbose= warm_start= _max_features _max_samples _n_samples _sample_weight
  _seeds estimators_ estimators_features_
BaseCrossValidator(_MetadataRequester)
BaseDecisionTree(MultiOutputMixin,BaseEstimator) ccp_alpha= class_weight= criterion= max_depth= max_features=
  max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split= min_weight_fraction_leaf=
  monotonic_cst= random_state= splitter= classes_ max_features_ n_classes_ n_features_in_ n_outputs_ tree_
BaseEnsemble(MetaEstimatorMixin,BaseEstimator) estimator= estimator_params= n_estimators= estimator_
BaseEstimator(_HTMLDocumentationLinkMixin,_MetadataRequester,ReprHTMLMixin) feature_names_in_ n_features_in_
BaseForest(MultiOutputMixin,BaseEnsemble) bootstrap= class_weight= estimator= estimator_params= max_samples=
  n_estimators= n_jobs= oob_score= random_state= verbose= warm_start= _n_samples _n_samples_bootstrap
  _sample_weight classes_ estimators_ n_classes_ n_outputs_
BaseGradientBoosting(BaseEnsemble) alpha= ccp_alpha= criterion= init= learning_rate= loss= max_depth=
  max_features= max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= n_estimators= n_iter_no_change= random_state= subsample= tol= validation_fraction=
  verbose= warm_start= _loss _rng estimators_ init_ max_features_ n_estimators_ oob_improvement_ oob_score_
  oob_scores_ train_score_
BaseGraphicalLasso(EmpiricalCovariance) assume_centered= enet_tol= eps= max_iter= mode= tol= verbose=
BaseHistGradientBoosting(BaseEstimator) categorical_features= early_stopping= interaction_cst=
  l2_regularization= learning_rate= loss= max_bins= max_depth= max_features= max_iter= max_leaf_nodes=
  min_samples_leaf= monotonic_cst= n_iter_no_change= random_state= scoring= tol= validation_fraction= verbose=
  warm_start= _baseline_prediction _bin_mapper _feature_subsample_rng _fitted_with_sw _in_fit
  _is_categorical_remapped _loss _n_features _predictors _preprocessor _random_seed _scorer
  _use_validation_data do_early_stopping_ feature_names_in_ is_categorical_ n_features_in_ train_score_
  validation_score_
BaseLabelPropagation(ClassifierMixin,BaseEstimator) alpha= gamma= kernel= max_iter= n_jobs= n_neighbors= tol=
  X_ classes_ label_distributions_ n_iter_ nn_fit transduction_
BaseLibSVM(BaseEstimator) C= cache_size= class_weight= coef0= degree= epsilon= gamma= kernel= max_iter= nu=
  probability= random_state= shrinking= tol= verbose= _BaseLibSVM__Xfit _dual_coef_ _effective_probability
  _gamma _intercept_ _n_support _num_iter _probA _probB _sparse dual_coef_ fit_status_ intercept_ n_iter_
  shape_fit_ support_ support_vectors_
BaseLink()
BaseLoss() closs= device= link= n_classes= xp= approx_hessian constant_hessian interval_y_pred interval_y_true
BaseMixture(DensityMixin,BaseEstimator) init_params= max_iter= n_components= n_init= random_state= reg_covar=
  tol= verbose= verbose_interval= warm_start= _init_prev_time _iter_prev_time converged_ lower_bound_
  lower_bounds_ n_iter_
BaseMultilayerPerceptron(BaseEstimator) activation= alpha= batch_size= beta_1= beta_2= early_stopping=
  epsilon= hidden_layer_sizes= learning_rate= learning_rate_init= loss= max_fun= max_iter= momentum=
  n_iter_no_change= nesterovs_momentum= power_t= random_state= shuffle= solver= tol= validation_fraction=
  verbose= warm_start= _best_coefs _best_intercepts _coef_indptr _intercept_indptr _no_improvement_count
  _optimizer _random_state best_loss_ best_validation_score_ coefs_ intercepts_ loss_ loss_curve_ n_iter_
  n_layers_ n_outputs_ out_activation_ t_ validation_scores_
BaseOptimizer() learning_rate_init= learning_rate
BaseRandomProjection(TransformerMixin,BaseEstimator,ClassNamePrefixFeaturesOutMixin)
  compute_inverse_components= eps= n_components= random_state= _n_features_out components_ inverse_components_
  n_components_
BaseSGD(SparseCoefMixin,BaseEstimator) C= alpha= average= early_stopping= epsilon= eta0= fit_intercept=
  l1_ratio= learning_rate= loss= max_iter= n_iter_no_change= penalty= power_t= random_state= shuffle= tol=
  validation_fraction= verbose= warm_start= _average_coef _average_intercept _standard_coef
  _standard_intercept coef_ intercept_ offset_
BaseSGDClassifier(LinearClassifierMixin,BaseSGD) alpha= average= class_weight= early_stopping= epsilon= eta0=
  fit_intercept= l1_ratio= learning_rate= loss= max_iter= n_iter_no_change= n_jobs= penalty= power_t=
  random_state= shuffle= tol= validation_fraction= verbose= warm_start= _average_coef _average_intercept
  _expanded_class_weight _loss_function_ _standard_coef _standard_intercept coef_ intercept_ n_iter_ t_
BaseSGDRegressor(RegressorMixin,BaseSGD) alpha= average= early_stopping= epsilon= eta0= fit_intercept=
  l1_ratio= learning_rate= loss= max_iter= n_iter_no_change= penalty= power_t= random_state= shuffle= tol=
  validation_fraction= verbose= warm_start= _average_coef _average_intercept _standard_intercept coef_
  intercept_ n_iter_ t_
BaseSVC(ClassifierMixin,BaseLibSVM) C= break_ties= cache_size= class_weight= coef0= decision_function_shape=
  degree= gamma= kernel= max_iter= nu= probability= random_state= shrinking= tol= verbose= class_weight_
  classes_
BaseSearchCV(MetaEstimatorMixin,BaseEstimator) cv= error_score= estimator= n_jobs= pre_dispatch= refit=
  return_train_score= scoring= verbose= _checked_cv_orig best_estimator_ best_index_ best_params_ best_score_
  cv_results_ feature_names_in_ multimetric_ n_splits_ refit_time_ scorer_
BaseShuffleSplit(_MetadataRequester) n_splits= random_state= test_size= train_size= _default_test_size
BaseSpectral(BiclusterMixin,BaseEstimator) init= mini_batch= n_clusters= n_init= n_svd_vecs= random_state=
  svd_method=
BaseSuccessiveHalving(BaseSearchCV) aggressive_elimination= cv= error_score= estimator= factor= max_resources=
  min_resources= n_jobs= random_state= refit= resource= return_train_score= scoring= verbose= _checked_cv_orig
  _n_samples_orig best_score_ max_resources_ min_resources_ n_candidates_ n_iterations_ n_possible_iterations_
  n_remaining_candidates_ n_required_iterations_ n_resources_
BaseThresholdClassifier(ClassifierMixin,MetaEstimatorMixin,BaseEstimator) estimator= response_method=
  feature_names_in_ n_features_in_
BaseWeightBoosting(BaseEnsemble) estimator= estimator_params= learning_rate= n_estimators= random_state=
  estimator_errors_ estimator_weights_ estimators_
BayesianGaussianMixture(BaseMixture) covariance_prior= covariance_type= degrees_of_freedom_prior= init_params=
  max_iter= mean_precision_prior= mean_prior= n_components= n_init= random_state= reg_covar= tol= verbose=
  verbose_interval= warm_start= weight_concentration_prior= weight_concentration_prior_type= covariance_prior_
  covariances_ degrees_of_freedom_ degrees_of_freedom_prior_ mean_precision_ mean_precision_prior_ mean_prior_
  means_ precisions_ precisions_cholesky_ weight_concentration_ weight_concentration_prior_ weights_
BayesianRidge(RegressorMixin,LinearModel) alpha_1= alpha_2= alpha_init= compute_score= copy_X= fit_intercept=
  lambda_1= lambda_2= lambda_init= max_iter= tol= verbose= X_offset_ X_scale_ alpha_ coef_ lambda_ n_iter_
  scores_ sigma_
BernoulliNB(_BaseDiscreteNB) alpha= binarize= class_prior= fit_prior= force_alpha= class_count_ feature_count_
  feature_log_prob_
BernoulliRBM(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) batch_size= learning_rate=
  n_components= n_iter= random_state= verbose= _n_features_out components_ h_samples_ intercept_hidden_
  intercept_visible_ random_state_
BiclusterMixin()
Binarizer(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= threshold=
Birch(ClassNamePrefixFeaturesOutMixin,ClusterMixin,TransformerMixin,BaseEstimator) branching_factor=
  compute_labels= copy= n_clusters= threshold= _n_features_out _subcluster_norms dummy_leaf_ labels_ root_
  subcluster_centers_ subcluster_labels_
BisectingKMeans(_BaseKMeans) algorithm= bisecting_strategy= copy_x= init= max_iter= n_clusters= n_init=
  random_state= tol= verbose= _X_mean _bisecting_tree _kmeans_single _n_features_out _n_threads _random_state
  cluster_centers_ inertia_ labels_
CCA(_PLS) copy= max_iter= n_components= scale= tol=
CalibratedClassifierCV(ClassifierMixin,MetaEstimatorMixin,BaseEstimator) cv= ensemble= estimator= method=
  n_jobs= calibrated_classifiers_ classes_ feature_names_in_ n_features_in_
CategoricalNB(_BaseDiscreteNB) alpha= class_prior= fit_prior= force_alpha= min_categories= category_count_
  class_count_ feature_log_prob_ n_categories_
ClassNamePrefixFeaturesOutMixin()
ClassicalMDS(BaseEstimator) metric= metric_params= n_components= dissimilarity_matrix_ eigenvalues_ embedding_
ClassifierChain(MetaEstimatorMixin,ClassifierMixin,_BaseChain) base_estimator= chain_method= cv= estimator=
  order= random_state= verbose= classes_
ClassifierMixin()
ClusterMixin()
ColumnTransformer(TransformerMixin,_BaseComposition) force_int_remainder_cols= n_jobs= remainder=
  sparse_threshold= transformer_weights= transformers= verbose= verbose_feature_names_out= _columns _remainder
  _transformer_to_input_indices _transformers_feature_names_out output_indices_ sparse_output_ transformers_
ComplementNB(_BaseDiscreteNB) alpha= class_prior= fit_prior= force_alpha= norm= class_count_ feature_all_
  feature_count_ feature_log_prob_
CompoundKernel(Kernel) kernels=
ConstantKernel(StationaryKernelMixin,GenericKernelMixin,Kernel) constant_value= constant_value_bounds=
CountVectorizer(_VectorizerMixin,BaseEstimator) analyzer= binary= decode_error= dtype= encoding= input=
  lowercase= max_df= max_features= min_df= ngram_range= preprocessor= stop_words= strip_accents=
  token_pattern= tokenizer= vocabulary= vocabulary_
DBSCAN(ClusterMixin,BaseEstimator) algorithm= eps= leaf_size= metric= metric_params= min_samples= n_jobs= p=
  components_ core_sample_indices_ labels_
DecisionTreeClassifier(ClassifierMixin,BaseDecisionTree) ccp_alpha= class_weight= criterion= max_depth=
  max_features= max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= monotonic_cst= random_state= splitter=
DecisionTreeRegressor(RegressorMixin,BaseDecisionTree) ccp_alpha= criterion= max_depth= max_features=
  max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split= min_weight_fraction_leaf=
  monotonic_cst= random_state= splitter=
DensityMixin()
DictVectorizer(TransformerMixin,BaseEstimator) dtype= separator= sort= sparse= feature_names_ vocabulary_
DictionaryLearning(_BaseSparseCoding,BaseEstimator) alpha= callback= code_init= dict_init= fit_algorithm=
  max_iter= n_components= n_jobs= positive_code= positive_dict= random_state= split_sign= tol=
  transform_algorithm= transform_alpha= transform_max_iter= transform_n_nonzero_coefs= verbose= components_
  error_ n_iter_
DiscriminantAnalysisPredictionMixin()
DotProduct(Kernel) sigma_0= sigma_0_bounds=
DummyClassifier(MultiOutputMixin,ClassifierMixin,BaseEstimator) constant= random_state= strategy= _strategy
  class_prior_ classes_ n_classes_ n_outputs_ sparse_output_
DummyRegressor(MultiOutputMixin,RegressorMixin,BaseEstimator) constant= quantile= strategy= constant_
  n_outputs_
ElasticNet(MultiOutputMixin,RegressorMixin,LinearModel,MultiOutputLinearModel) alpha= copy_X= fit_intercept=
  l1_ratio= max_iter= positive= precompute= random_state= selection= tol= warm_start= coef_ dual_gap_ n_iter_
ElasticNetCV(RegressorMixin,LinearModelCV) alphas= copy_X= cv= eps= fit_intercept= l1_ratio= max_iter=
  n_alphas= n_jobs= positive= precompute= random_state= selection= tol= verbose=
EllipticEnvelope(OutlierMixin,MinCovDet) assume_centered= contamination= random_state= store_precision=
  support_fraction= offset_
EmpiricalCovariance(BaseEstimator) assume_centered= store_precision= covariance_ location_ precision_
ExpSineSquared(StationaryKernelMixin,NormalizedKernelMixin,Kernel) length_scale= length_scale_bounds=
  periodicity= periodicity_bounds=
ExponentialLoss(BaseLoss) device= sample_weight= xp= interval_y_true
Exponentiation(Kernel) exponent= kernel=
ExtraTreeClassifier(DecisionTreeClassifier) ccp_alpha= class_weight= criterion= max_depth= max_features=
  max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split= min_weight_fraction_leaf=
  monotonic_cst= random_state= splitter=
ExtraTreeRegressor(DecisionTreeRegressor) ccp_alpha= criterion= max_depth= max_features= max_leaf_nodes=
  min_impurity_decrease= min_samples_leaf= min_samples_split= min_weight_fraction_leaf= monotonic_cst=
  random_state= splitter=
ExtraTreesClassifier(ForestClassifier) bootstrap= ccp_alpha= class_weight= criterion= max_depth= max_features=
  max_leaf_nodes= max_samples= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= monotonic_cst= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start=
ExtraTreesRegressor(ForestRegressor) bootstrap= ccp_alpha= criterion= max_depth= max_features= max_leaf_nodes=
  max_samples= min_impurity_decrease= min_samples_leaf= min_samples_split= min_weight_fraction_leaf=
  monotonic_cst= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start=
FactorAnalysis(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) copy= iterated_power= max_iter=
  n_components= noise_variance_init= random_state= rotation= svd_method= tol= components_ loglike_ mean_
  n_iter_ noise_variance_
FastICA(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) algorithm= fun= fun_args= max_iter=
  n_components= random_state= tol= w_init= whiten= whiten_solver= _unmixing components_ mean_ mixing_ n_iter_
  whitening_
FeatureAgglomeration(ClassNamePrefixFeaturesOutMixin,AgglomerativeClustering,AgglomerationTransform)
  compute_distances= compute_full_tree= connectivity= distance_threshold= linkage= memory= metric= n_clusters=
  pooling_func= _n_features_out
FeatureHasher(TransformerMixin,BaseEstimator) alternate_sign= dtype= input_type= n_features=
FeatureUnion(TransformerMixin,_BaseComposition) n_jobs= transformer_list= transformer_weights= verbose=
  verbose_feature_names_out= _transformers_feature_names_out
FixedThresholdClassifier(BaseThresholdClassifier) estimator= pos_label= response_method= threshold= estimator_
ForestClassifier(ClassifierMixin,BaseForest) bootstrap= class_weight= estimator= estimator_params=
  max_samples= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start= classes_ n_classes_
  oob_decision_function_ oob_score_
ForestRegressor(RegressorMixin,BaseForest) bootstrap= estimator= estimator_params= max_samples= n_estimators=
  n_jobs= oob_score= random_state= verbose= warm_start= oob_prediction_ oob_score_
FrozenEstimator(BaseEstimator) estimator=
FunctionTransformer(TransformerMixin,BaseEstimator) accept_sparse= check_inverse= feature_names_out= func=
  inv_kw_args= inverse_func= kw_args= validate= _sklearn_output_config
GammaRegressor(_GeneralizedLinearRegressor) alpha= fit_intercept= max_iter= solver= tol= verbose= warm_start=
GaussianMixture(BaseMixture) covariance_type= init_params= max_iter= means_init= n_components= n_init=
  precisions_init= random_state= reg_covar= tol= verbose= verbose_interval= warm_start= weights_init=
  covariances_ means_ precisions_ precisions_cholesky_ weights_
GaussianNB(_BaseNB) priors= var_smoothing= class_count_ class_prior_ classes_ epsilon_ theta_ var_
GaussianProcessClassifier(ClassifierMixin,BaseEstimator) copy_X_train= kernel= max_iter_predict= multi_class=
  n_jobs= n_restarts_optimizer= optimizer= random_state= warm_start= base_estimator_ classes_
  log_marginal_likelihood_value_ n_classes_
GaussianProcessRegressor(MultiOutputMixin,RegressorMixin,BaseEstimator) alpha= copy_X_train= kernel=
  n_restarts_optimizer= n_targets= normalize_y= optimizer= random_state= L_ X_train_ _rng _y_train_mean
  _y_train_std alpha_ kernel_ log_marginal_likelihood_value_ y_train_
GaussianRandomProjection(BaseRandomProjection) compute_inverse_components= eps= n_components= random_state=
GenericKernelMixin()
GenericUnivariateSelect(_BaseFilter) mode= param= score_func=
GradientBoostingClassifier(ClassifierMixin,BaseGradientBoosting) ccp_alpha= criterion= init= learning_rate=
  loss= max_depth= max_features= max_leaf_nodes= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= n_estimators= n_iter_no_change= random_state= subsample= tol= validation_fraction=
  verbose= warm_start= classes_ n_classes_ n_trees_per_iteration_
GradientBoostingRegressor(RegressorMixin,BaseGradientBoosting) alpha= ccp_alpha= criterion= init=
  learning_rate= loss= max_depth= max_features= max_leaf_nodes= min_impurity_decrease= min_samples_leaf=
  min_samples_split= min_weight_fraction_leaf= n_estimators= n_iter_no_change= random_state= subsample= tol=
  validation_fraction= verbose= warm_start= n_trees_per_iteration_
GraphicalLasso(BaseGraphicalLasso) alpha= assume_centered= covariance= enet_tol= eps= max_iter= mode= tol=
  verbose= costs_ covariance_ location_ n_iter_ precision_
GraphicalLassoCV(BaseGraphicalLasso) alphas= assume_centered= cv= enet_tol= eps= max_iter= mode= n_jobs=
  n_refinements= tol= verbose= alpha_ costs_ covariance_ cv_results_ location_ n_iter_ precision_
GridSearchCV(BaseSearchCV) cv= error_score= estimator= n_jobs= param_grid= pre_dispatch= refit=
  return_train_score= scoring= verbose=
GroupKFold(GroupsConsumerMixin,_BaseKFold) n_splits= random_state= shuffle=
GroupShuffleSplit(GroupsConsumerMixin,BaseShuffleSplit) n_splits= random_state= test_size= train_size=
  _default_test_size
GroupsConsumerMixin(_MetadataRequester)
HDBSCAN(ClusterMixin,BaseEstimator) algorithm= allow_single_cluster= alpha= cluster_selection_epsilon=
  cluster_selection_method= copy= leaf_size= max_cluster_size= metric= metric_params= min_cluster_size=
  min_samples= n_jobs= store_centers= _metric_params _min_samples _raw_data _single_linkage_tree_ centroids_
  labels_ medoids_ probabilities_
HalfBinomialLoss(BaseLoss) device= sample_weight= xp= interval_y_true
HalfBinomialLossArrayAPI(ArrayAPILossMixin,HalfBinomialLoss)
HalfGammaLoss(BaseLoss) device= sample_weight= xp= interval_y_true
HalfLogitLink(BaseLink)
HalfMultinomialLoss(BaseLoss) device= n_classes= sample_weight= xp= class_indexing_offsets interval_y_pred
  interval_y_true y_true_int y_true_one_hot
HalfMultinomialLossArrayAPI(ArrayAPILossMixin,HalfMultinomialLoss) device= n_classes= sample_weight= xp=
  class_indexing_offsets y_true_int y_true_one_hot
HalfPoissonLoss(BaseLoss) device= sample_weight= xp= interval_y_true
HalfPoissonLossArrayAPI(ArrayAPILossMixin,HalfPoissonLoss)
HalfSquaredError(BaseLoss) device= sample_weight= xp= constant_hessian
HalfTweedieLoss(BaseLoss) device= power= sample_weight= xp= interval_y_true
HalfTweedieLossIdentity(BaseLoss) device= power= sample_weight= xp= interval_y_pred interval_y_true
HalvingGridSearchCV(BaseSuccessiveHalving) aggressive_elimination= cv= error_score= estimator= factor=
  max_resources= min_resources= n_jobs= param_grid= random_state= refit= resource= return_train_score=
  scoring= verbose=
HalvingRandomSearchCV(BaseSuccessiveHalving) aggressive_elimination= cv= error_score= estimator= factor=
  max_resources= min_resources= n_candidates= n_jobs= param_distributions= random_state= refit= resource=
  return_train_score= scoring= verbose=
HashingVectorizer(TransformerMixin,_VectorizerMixin,BaseEstimator) alternate_sign= analyzer= binary=
  decode_error= dtype= encoding= input= lowercase= n_features= ngram_range= norm= preprocessor= stop_words=
  strip_accents= token_pattern= tokenizer=
HistGradientBoostingClassifier(ClassifierMixin,BaseHistGradientBoosting) categorical_features= class_weight=
  early_stopping= interaction_cst= l2_regularization= learning_rate= loss= max_bins= max_depth= max_features=
  max_iter= max_leaf_nodes= min_samples_leaf= monotonic_cst= n_iter_no_change= random_state= scoring= tol=
  validation_fraction= verbose= warm_start= _label_encoder classes_ n_trees_per_iteration_
HistGradientBoostingRegressor(RegressorMixin,BaseHistGradientBoosting) categorical_features= early_stopping=
  interaction_cst= l2_regularization= learning_rate= loss= max_bins= max_depth= max_features= max_iter=
  max_leaf_nodes= min_samples_leaf= monotonic_cst= n_iter_no_change= quantile= random_state= scoring= tol=
  validation_fraction= verbose= warm_start= n_trees_per_iteration_
HuberLoss(BaseLoss) delta= device= quantile= sample_weight= xp= approx_hessian constant_hessian
HuberRegressor(LinearModel,RegressorMixin,BaseEstimator) alpha= epsilon= fit_intercept= max_iter= tol=
  warm_start= coef_ intercept_ n_iter_ outliers_ scale_
IdentityLink(BaseLink)
IncrementalPCA(_BasePCA) batch_size= copy= n_components= whiten= batch_size_ components_ explained_variance_
  explained_variance_ratio_ mean_ n_components_ n_samples_seen_ noise_variance_ singular_values_ var_
Interval(_Constraint) closed= left= right= type= high high_inclusive low low_inclusive
IsolationForest(OutlierMixin,BaseBagging) bootstrap= contamination= max_features= max_samples= n_estimators=
  n_jobs= random_state= verbose= warm_start= _average_path_length_per_tree _decision_path_lengths max_samples_
  offset_
Isomap(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) eigen_solver= max_iter= metric=
  metric_params= n_components= n_jobs= n_neighbors= neighbors_algorithm= p= path_method= radius= tol=
  _n_features_out dist_matrix_ embedding_ feature_names_in_ kernel_pca_ n_features_in_ nbrs_
IsotonicRegression(RegressorMixin,TransformerMixin,BaseEstimator) increasing= out_of_bounds= y_max= y_min=
  X_max_ X_min_ X_thresholds_ f_ increasing_ y_thresholds_
IterativeImputer(_BaseImputer) add_indicator= estimator= fill_value= imputation_order= initial_strategy=
  keep_empty_features= max_iter= max_value= min_value= missing_values= n_nearest_features= random_state=
  sample_posterior= skip_complete= tol= verbose= _estimator _is_empty_feature _max_value _min_value
  imputation_sequence_ initial_imputer_ n_features_with_missing_ n_iter_ random_state_
KBinsDiscretizer(TransformerMixin,BaseEstimator) dtype= encode= n_bins= quantile_method= random_state=
  strategy= subsample= _encoder bin_edges_ n_bins_
KFold(_UnsupportedGroupCVMixin,_BaseKFold) n_splits= random_state= shuffle=
KMeans(_BaseKMeans) algorithm= copy_x= init= max_iter= n_clusters= n_init= random_state= tol= verbose=
  _algorithm _n_features_out _n_threads cluster_centers_ inertia_ labels_ n_iter_
KNNImputer(_BaseImputer) add_indicator= copy= keep_empty_features= metric= missing_values= n_neighbors=
  weights= _fit_X _mask_fit_X _valid_mask
KNeighborsClassifier(KNeighborsMixin,ClassifierMixin,NeighborsBase) algorithm= leaf_size= metric=
  metric_params= n_jobs= n_neighbors= p= weights=
KNeighborsMixin()
KNeighborsRegressor(KNeighborsMixin,RegressorMixin,NeighborsBase) algorithm= leaf_size= metric= metric_params=
  n_jobs= n_neighbors= p= weights=
KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin,KNeighborsMixin,TransformerMixin,NeighborsBase)
  algorithm= leaf_size= metric= metric_params= mode= n_jobs= n_neighbors= p= _n_features_out
Kernel()
KernelCenterer(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) K_fit_all_ K_fit_rows_
KernelDensity(BaseEstimator) algorithm= atol= bandwidth= breadth_first= kernel= leaf_size= metric=
  metric_params= rtol= bandwidth_ tree_
KernelOperator(Kernel) k1= k2=
KernelPCA(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) alpha= coef0= copy_X= degree=
  eigen_solver= fit_inverse_transform= gamma= iterated_power= kernel= kernel_params= max_iter= n_components=
  n_jobs= random_state= remove_zero_eig= tol= X_fit_ X_transformed_fit_ _centerer dual_coef_ eigenvalues_
  eigenvectors_ gamma_
KernelRidge(MultiOutputMixin,RegressorMixin,BaseEstimator) alpha= coef0= degree= gamma= kernel= kernel_params=
  X_fit_ dual_coef_
LabelBinarizer(TransformerMixin,BaseEstimator) neg_label= pos_label= sparse_output= classes_ sparse_input_
  y_type_
LabelEncoder(TransformerMixin,BaseEstimator) classes_
LabelPropagation(BaseLabelPropagation) gamma= kernel= max_iter= n_jobs= n_neighbors= tol= nn_fit
LabelSpreading(BaseLabelPropagation) alpha= gamma= kernel= max_iter= n_jobs= n_neighbors= tol= nn_fit
Lars(MultiOutputMixin,RegressorMixin,LinearModel,MultiOutputLinearModel) copy_X= eps= fit_intercept= fit_path=
  jitter= n_nonzero_coefs= precompute= random_state= verbose= active_ alphas_ coef_ coef_path_ n_iter_
LarsCV(Lars) copy_X= cv= eps= fit_intercept= max_iter= max_n_alphas= n_jobs= precompute= verbose= alpha_
  cv_alphas_ mse_path_
Lasso(ElasticNet) alpha= copy_X= fit_intercept= max_iter= positive= precompute= random_state= selection= tol=
  warm_start=
LassoCV(RegressorMixin,LinearModelCV) alphas= copy_X= cv= eps= fit_intercept= max_iter= n_alphas= n_jobs=
  positive= precompute= random_state= selection= tol= verbose=
LassoLars(Lars) alpha= copy_X= eps= fit_intercept= fit_path= jitter= max_iter= positive= precompute=
  random_state= verbose=
LassoLarsCV(LarsCV) copy_X= cv= eps= fit_intercept= max_iter= max_n_alphas= n_jobs= positive= precompute=
  verbose=
LassoLarsIC(LassoLars) copy_X= criterion= eps= fit_intercept= max_iter= noise_variance= positive= precompute=
  verbose= alpha_ alphas_ coef_ criterion_ fit_path n_iter_ noise_variance_
LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) batch_size=
  doc_topic_prior= evaluate_every= learning_decay= learning_method= learning_offset= max_doc_update_iter=
  max_iter= mean_change_tol= n_components= n_jobs= perp_tol= random_state= topic_word_prior= total_samples=
  verbose= bound_ components_ doc_topic_prior_ exp_dirichlet_component_ n_batch_iter_ n_iter_ random_state_
  topic_word_prior_
LeaveOneGroupOut(GroupsConsumerMixin,BaseCrossValidator)
LeaveOneOut(_UnsupportedGroupCVMixin,BaseCrossValidator)
LeavePGroupsOut(GroupsConsumerMixin,BaseCrossValidator) n_groups=
LeavePOut(_UnsupportedGroupCVMixin,BaseCrossValidator) p=
LedoitWolf(EmpiricalCovariance) assume_centered= block_size= store_precision= location_ shrinkage_
LinearClassifierMixin(ClassifierMixin)
LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin,LinearClassifierMixin,TransformerMixin,BaseEstimator)
  covariance_estimator= n_components= priors= shrinkage= solver= store_covariance= tol= _max_components
  _n_features_out classes_ coef_ covariance_ explained_variance_ratio_ intercept_ means_ priors_ scalings_
  xbar_
LinearModel(BaseEstimator) coef_ intercept_
LinearModelCV(MultiOutputMixin,LinearModel,MultiOutputLinearModel) alphas= copy_X= cv= eps= fit_intercept=
  max_iter= n_alphas= n_jobs= positive= precompute= random_state= selection= tol= verbose= _alphas alpha_
  alphas_ coef_ dual_gap_ intercept_ l1_ratio_ mse_path_ n_iter_
LinearModelLoss() base_loss= fit_intercept=
LinearRegression(MultiOutputMixin,RegressorMixin,LinearModel,MultiOutputLinearModel) copy_X= fit_intercept=
  n_jobs= positive= tol= coef_ rank_ singular_
LinearSVC(LinearClassifierMixin,SparseCoefMixin,BaseEstimator) C= class_weight= dual= fit_intercept=
  intercept_scaling= loss= max_iter= multi_class= penalty= random_state= tol= verbose= classes_ coef_
  intercept_ n_iter_
LinearSVR(RegressorMixin,LinearModel) C= dual= epsilon= fit_intercept= intercept_scaling= loss= max_iter=
  random_state= tol= verbose= coef_ intercept_ n_iter_
LocalOutlierFactor(KNeighborsMixin,OutlierMixin,NeighborsBase) algorithm= contamination= leaf_size= metric=
  metric_params= n_jobs= n_neighbors= novelty= p= _distances_fit_X_ _lrd n_neighbors_ negative_outlier_factor_
  offset_
LocallyLinearEmbedding(ClassNamePrefixFeaturesOutMixin,TransformerMixin,_UnstableArchMixin,BaseEstimator)
  eigen_solver= hessian_tol= max_iter= method= modified_tol= n_components= n_jobs= n_neighbors=
  neighbors_algorithm= random_state= reg= tol= _n_features_out embedding_ nbrs_ reconstruction_error_
LogLink(BaseLink)
LogisticRegression(LinearClassifierMixin,SparseCoefMixin,BaseEstimator) C= class_weight= dual= fit_intercept=
  intercept_scaling= l1_ratio= max_iter= multi_class= n_jobs= penalty= random_state= solver= tol= verbose=
  warm_start= classes_ coef_ intercept_ n_iter_
LogisticRegressionCV(LogisticRegression,LinearClassifierMixin,BaseEstimator) Cs= class_weight= cv= dual=
  fit_intercept= intercept_scaling= l1_ratios= max_iter= multi_class= n_jobs= penalty= random_state= refit=
  scoring= solver= tol= use_legacy_attributes= verbose= C_ Cs_ classes_ coef_ coefs_paths_ intercept_
  l1_ratio_ l1_ratios_ n_iter_ scores_
LogitLink(BaseLink)
MDS(BaseEstimator) dissimilarity= eps= init= max_iter= metric= metric_mds= metric_params= n_components=
  n_init= n_jobs= normalized_stress= random_state= verbose= _init _metric _metric_mds _n_init
  dissimilarity_matrix_ embedding_ n_iter_ stress_
MLPClassifier(ClassifierMixin,BaseMultilayerPerceptron) activation= alpha= batch_size= beta_1= beta_2=
  early_stopping= epsilon= hidden_layer_sizes= learning_rate= learning_rate_init= max_fun= max_iter= momentum=
  n_iter_no_change= nesterovs_momentum= power_t= random_state= shuffle= solver= tol= validation_fraction=
  verbose= warm_start= _label_binarizer classes_
MLPRegressor(RegressorMixin,BaseMultilayerPerceptron) activation= alpha= batch_size= beta_1= beta_2=
  early_stopping= epsilon= hidden_layer_sizes= learning_rate= learning_rate_init= loss= max_fun= max_iter=
  momentum= n_iter_no_change= nesterovs_momentum= power_t= random_state= shuffle= solver= tol=
  validation_fraction= verbose= warm_start=
Matern(RBF) length_scale= length_scale_bounds= nu=
MaxAbsScaler(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) clip= copy= max_abs_ n_samples_seen_ scale_
MeanShift(ClusterMixin,BaseEstimator) bandwidth= bin_seeding= cluster_all= max_iter= min_bin_freq= n_jobs=
  seeds= cluster_centers_ labels_ n_iter_
MetaEstimatorMixin()
MetadataRequest() owner=
MetadataRouter() owner= _route_mappings _self_request
MethodMetadataRequest() method= owner= requests= _requests
MinCovDet(EmpiricalCovariance) assume_centered= random_state= store_precision= support_fraction= dist_
  location_ raw_covariance_ raw_location_ raw_support_ support_
MinMaxScaler(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) clip= copy= feature_range= data_max_
  data_min_ data_range_ min_ n_samples_seen_ scale_
MiniBatchDictionaryLearning(_BaseSparseCoding,BaseEstimator) alpha= batch_size= callback= dict_init=
  fit_algorithm= max_iter= max_no_improvement= n_components= n_jobs= positive_code= positive_dict=
  random_state= shuffle= split_sign= tol= transform_algorithm= transform_alpha= transform_max_iter=
  transform_n_nonzero_coefs= verbose= _A _B _batch_size _ewa_cost _ewa_cost_min _fit_algorithm _n_components
  _no_improvement _random_state components_ n_iter_ n_steps_
MiniBatchKMeans(_BaseKMeans) batch_size= compute_labels= init= init_size= max_iter= max_no_improvement=
  n_clusters= n_init= random_state= reassignment_ratio= tol= verbose= _batch_size _counts _ewa_inertia
  _ewa_inertia_min _init_size _n_features_out _n_since_last_reassign _n_threads _no_improvement _random_state
  cluster_centers_ inertia_ labels_ n_iter_ n_steps_
MiniBatchNMF(_BaseNMF) alpha_H= alpha_W= batch_size= beta_loss= forget_factor= fresh_restarts=
  fresh_restarts_max_iter= init= l1_ratio= max_iter= max_no_improvement= n_components= random_state= tol=
  transform_max_iter= verbose= _batch_size _components_denominator _components_numerator _ewa_cost
  _ewa_cost_min _gamma _no_improvement _rho _transform_max_iter components_ n_components_ n_iter_ n_steps_
  reconstruction_err_
MiniBatchSparsePCA(_BaseSparsePCA) alpha= batch_size= callback= max_iter= max_no_improvement= method=
  n_components= n_jobs= random_state= ridge_alpha= shuffle= tol= verbose= components_ n_components_ n_iter_
MissingIndicator(TransformerMixin,BaseEstimator) error_on_new= features= missing_values= sparse= _n_features
  _precomputed features_
MultiLabelBinarizer(TransformerMixin,BaseEstimator) classes= sparse_output= _cached_dict classes_
MultiOutputClassifier(ClassifierMixin,_MultiOutputEstimator) estimator= n_jobs= classes_
MultiOutputLinearModel(MultiOutputMixin,LinearModel)
MultiOutputMixin()
MultiOutputRegressor(RegressorMixin,_MultiOutputEstimator) estimator= n_jobs=
MultiTaskElasticNet(Lasso,ElasticNet) alpha= copy_X= fit_intercept= l1_ratio= max_iter= random_state=
  selection= tol= warm_start= coef_ dual_gap_ eps_ n_iter_
MultiTaskElasticNetCV(RegressorMixin,LinearModelCV) alphas= copy_X= cv= eps= fit_intercept= l1_ratio=
  max_iter= n_alphas= n_jobs= random_state= selection= tol= verbose=
MultiTaskLasso(MultiTaskElasticNet) alpha= copy_X= fit_intercept= max_iter= random_state= selection= tol=
  warm_start= l1_ratio
MultiTaskLassoCV(RegressorMixin,LinearModelCV) alphas= copy_X= cv= eps= fit_intercept= max_iter= n_alphas=
  n_jobs= random_state= selection= tol= verbose=
MultinomialLogit(BaseLink)
MultinomialNB(_BaseDiscreteNB) alpha= class_prior= fit_prior= force_alpha= class_count_ feature_count_
  feature_log_prob_
NMF(_BaseNMF) alpha_H= alpha_W= beta_loss= init= l1_ratio= max_iter= n_components= random_state= shuffle=
  solver= tol= verbose= components_ n_components_ n_iter_ reconstruction_err_
NearestCentroid(ClassifierMixin,BaseEstimator,DiscriminantAnalysisPredictionMixin) metric= priors=
  shrink_threshold= centroids_ class_prior_ classes_ deviations_ within_class_std_dev_
NearestNeighbors(KNeighborsMixin,RadiusNeighborsMixin,NeighborsBase) algorithm= leaf_size= metric=
  metric_params= n_jobs= n_neighbors= p= radius=
NeighborhoodComponentsAnalysis(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) callback= init=
  max_iter= n_components= random_state= tol= verbose= warm_start= components_ n_iter_ random_state_
NeighborsBase(MultiOutputMixin,BaseEstimator) algorithm= leaf_size= metric= metric_params= n_jobs=
  n_neighbors= p= radius= _fit_X _fit_method _tree _y classes_ effective_metric_ effective_metric_params_
  n_features_in_ n_samples_fit_ outputs_2d_
NormalizedKernelMixin()
Normalizer(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= norm=
NuSVC(BaseSVC) break_ties= cache_size= class_weight= coef0= decision_function_shape= degree= gamma= kernel=
  max_iter= nu= probability= random_state= shrinking= tol= verbose=
NuSVR(RegressorMixin,BaseLibSVM) C= cache_size= coef0= degree= gamma= kernel= max_iter= nu= shrinking= tol=
  verbose=
Nystroem(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) coef0= degree= gamma= kernel=
  kernel_params= n_components= n_jobs= random_state= _n_features_out component_indices_ components_
  normalization_
OAS(EmpiricalCovariance) location_ shrinkage_
OPTICS(ClusterMixin,BaseEstimator) algorithm= cluster_method= eps= leaf_size= max_eps= memory= metric=
  metric_params= min_cluster_size= min_samples= n_jobs= p= predecessor_correction= xi= cluster_hierarchy_
  core_distances_ labels_ ordering_ predecessor_ reachability_
OneClassSVM(OutlierMixin,BaseLibSVM) cache_size= coef0= degree= gamma= kernel= max_iter= nu= shrinking= tol=
  verbose= offset_
OneHotEncoder(_BaseEncoder) categories= drop= dtype= feature_name_combiner= handle_unknown= max_categories=
  min_frequency= sparse_output= _drop_idx_after_grouping _n_features_outs drop_idx_
OneToOneFeatureMixin()
OneVsOneClassifier(MetaEstimatorMixin,ClassifierMixin,BaseEstimator) estimator= n_jobs= classes_ estimators_
  n_features_in_ pairwise_indices_
OneVsRestClassifier(MultiOutputMixin,ClassifierMixin,MetaEstimatorMixin,BaseEstimator) estimator= n_jobs=
  verbose= classes_ estimators_ feature_names_in_ label_binarizer_ n_features_in_
OrdinalEncoder(OneToOneFeatureMixin,_BaseEncoder) categories= dtype= encoded_missing_value= handle_unknown=
  max_categories= min_frequency= unknown_value= _missing_indices
OrthogonalMatchingPursuit(MultiOutputMixin,RegressorMixin,LinearModel,MultiOutputLinearModel) fit_intercept=
  n_nonzero_coefs= precompute= tol= coef_ n_iter_ n_nonzero_coefs_
OrthogonalMatchingPursuitCV(RegressorMixin,LinearModel) copy= cv= fit_intercept= max_iter= n_jobs= verbose=
  coef_ intercept_ n_iter_ n_nonzero_coefs_
OutlierMixin()
OutputCodeClassifier(MetaEstimatorMixin,ClassifierMixin,BaseEstimator) code_size= estimator= n_jobs=
  random_state= classes_ code_book_ estimators_ feature_names_in_ n_features_in_
PCA(_BasePCA) copy= iterated_power= n_components= n_oversamples= power_iteration_normalizer= random_state=
  svd_solver= tol= whiten= _fit_svd_solver components_ explained_variance_ explained_variance_ratio_ mean_
  n_components_ n_samples_ noise_variance_ singular_values_
PLSCanonical(_PLS) algorithm= copy= max_iter= n_components= scale= tol=
PLSRegression(_PLS) copy= max_iter= n_components= scale= tol= x_scores_ y_scores_
PLSSVD(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) copy= n_components= scale=
  _n_features_out _x_mean _x_std _y_mean _y_std x_weights_ y_weights_
PairwiseKernel(Kernel) gamma= gamma_bounds= metric= pairwise_kernels_kwargs=
ParameterGrid() param_grid=
PassiveAggressiveClassifier(BaseSGDClassifier) C= average= class_weight= early_stopping= fit_intercept= loss=
  max_iter= n_iter_no_change= n_jobs= random_state= shuffle= tol= validation_fraction= verbose= warm_start=
PassiveAggressiveRegressor(BaseSGDRegressor) C= average= early_stopping= epsilon= fit_intercept= loss=
  max_iter= n_iter_no_change= random_state= shuffle= tol= validation_fraction= verbose= warm_start=
PatchExtractor(TransformerMixin,BaseEstimator) max_patches= patch_size= random_state=
Perceptron(BaseSGDClassifier) alpha= class_weight= early_stopping= eta0= fit_intercept= l1_ratio= max_iter=
  n_iter_no_change= n_jobs= penalty= random_state= shuffle= tol= validation_fraction= verbose= warm_start=
PinballLoss(BaseLoss) device= quantile= sample_weight= xp= approx_hessian constant_hessian
Pipeline(_BaseComposition) memory= steps= transform_input= verbose=
PoissonRegressor(_GeneralizedLinearRegressor) alpha= fit_intercept= max_iter= solver= tol= verbose=
  warm_start=
PolynomialCountSketch(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) coef0= degree= gamma=
  n_components= random_state= _n_features_out bitHash_ indexHash_
PolynomialFeatures(TransformerMixin,BaseEstimator) degree= include_bias= interaction_only= order= _max_degree
  _min_degree _n_out_full n_output_features_
PowerTransformer(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= method= standardize= _scaler
  lambdas_
PredefinedSplit(BaseCrossValidator) test_fold= unique_folds
Product(KernelOperator)
QuadraticDiscriminantAnalysis(ClassifierMixin,BaseEstimator,DiscriminantAnalysisPredictionMixin)
  covariance_estimator= priors= reg_param= shrinkage= solver= store_covariance= tol= classes_ covariance_
  means_ priors_ rotations_ scalings_
QuantileRegressor(LinearModel,RegressorMixin,BaseEstimator) alpha= fit_intercept= quantile= solver=
  solver_options= coef_ intercept_ n_iter_
QuantileTransformer(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= ignore_implicit_zeros=
  n_quantiles= output_distribution= random_state= subsample= n_quantiles_ quantiles_ references_
RANSACRegressor(MetaEstimatorMixin,RegressorMixin,MultiOutputMixin,BaseEstimator) estimator= is_data_valid=
  is_model_valid= loss= max_skips= max_trials= min_samples= random_state= residual_threshold= stop_n_inliers=
  stop_probability= stop_score= estimator_ inlier_mask_ n_skips_invalid_data_ n_skips_invalid_model_
  n_skips_no_inliers_ n_trials_
RBF(StationaryKernelMixin,NormalizedKernelMixin,Kernel) length_scale= length_scale_bounds=
RBFSampler(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) gamma= n_components= random_state=
  _gamma _n_features_out random_offset_ random_weights_
RFE(_RoutingNotSupportedMixin,SelectorMixin,MetaEstimatorMixin,BaseEstimator) estimator= importance_getter=
  n_features_to_select= step= verbose= estimator_ n_features_ ranking_ step_n_features_ step_ranking_
  step_scores_ step_support_ support_
RFECV(RFE) cv= estimator= importance_getter= min_features_to_select= n_jobs= scoring= step= verbose=
  cv_results_ estimator_ n_features_ ranking_ support_
RadiusNeighborsClassifier(RadiusNeighborsMixin,ClassifierMixin,NeighborsBase) algorithm= leaf_size= metric=
  metric_params= n_jobs= outlier_label= p= radius= weights= outlier_label_
RadiusNeighborsMixin()
RadiusNeighborsRegressor(RadiusNeighborsMixin,RegressorMixin,NeighborsBase) algorithm= leaf_size= metric=
  metric_params= n_jobs= p= radius= weights=
RadiusNeighborsTransformer(ClassNamePrefixFeaturesOutMixin,RadiusNeighborsMixin,TransformerMixin,NeighborsBase)
  algorithm= leaf_size= metric= metric_params= mode= n_jobs= p= radius= _n_features_out
RandomForestClassifier(ForestClassifier) bootstrap= ccp_alpha= class_weight= criterion= max_depth=
  max_features= max_leaf_nodes= max_samples= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= monotonic_cst= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start=
RandomForestRegressor(ForestRegressor) bootstrap= ccp_alpha= criterion= max_depth= max_features=
  max_leaf_nodes= max_samples= min_impurity_decrease= min_samples_leaf= min_samples_split=
  min_weight_fraction_leaf= monotonic_cst= n_estimators= n_jobs= oob_score= random_state= verbose= warm_start=
RandomTreesEmbedding(TransformerMixin,BaseForest) max_depth= max_leaf_nodes= min_impurity_decrease=
  min_samples_leaf= min_samples_split= min_weight_fraction_leaf= n_estimators= n_jobs= random_state=
  sparse_output= verbose= warm_start= _n_features_out one_hot_encoder_
RandomizedSearchCV(BaseSearchCV) cv= error_score= estimator= n_iter= n_jobs= param_distributions=
  pre_dispatch= random_state= refit= return_train_score= scoring= verbose=
RationalQuadratic(StationaryKernelMixin,NormalizedKernelMixin,Kernel) alpha= alpha_bounds= length_scale=
  length_scale_bounds=
RegressorChain(MetaEstimatorMixin,RegressorMixin,_BaseChain)
RegressorMixin()
RepeatedKFold(_UnsupportedGroupCVMixin,_RepeatedSplits) n_repeats= n_splits= random_state=
RepeatedStratifiedKFold(_UnsupportedGroupCVMixin,_RepeatedSplits) n_repeats= n_splits= random_state=
ReprHTMLMixin()
Ridge(MultiOutputMixin,RegressorMixin,_BaseRidge) alpha= copy_X= fit_intercept= max_iter= positive=
  random_state= solver= tol=
RidgeCV(MultiOutputMixin,RegressorMixin,_BaseRidgeCV)
RidgeClassifier(_RidgeClassifierMixin,_BaseRidge) alpha= class_weight= copy_X= fit_intercept= max_iter=
  positive= random_state= solver= tol=
RidgeClassifierCV(_RidgeClassifierMixin,_BaseRidgeCV) alphas= class_weight= cv= fit_intercept= scoring=
  store_cv_results= store_cv_values=
RobustScaler(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= quantile_range= unit_variance=
  with_centering= with_scaling= center_ scale_
SGDClassifier(BaseSGDClassifier) alpha= average= class_weight= early_stopping= epsilon= eta0= fit_intercept=
  l1_ratio= learning_rate= loss= max_iter= n_iter_no_change= n_jobs= penalty= power_t= random_state= shuffle=
  tol= validation_fraction= verbose= warm_start=
SGDOneClassSVM(BaseSGD,OutlierMixin) average= eta0= fit_intercept= learning_rate= max_iter= nu= power_t=
  random_state= shuffle= tol= verbose= warm_start= _average_coef _average_intercept _loss_function_
  _standard_intercept coef_ n_iter_ offset_ t_
SGDOptimizer(BaseOptimizer) learning_rate_init= lr_schedule= momentum= nesterov= params= power_t=
  learning_rate velocities
SGDRegressor(BaseSGDRegressor) alpha= average= early_stopping= epsilon= eta0= fit_intercept= l1_ratio=
  learning_rate= loss= max_iter= n_iter_no_change= penalty= power_t= random_state= shuffle= tol=
  validation_fraction= verbose= warm_start=
SVC(BaseSVC) C= break_ties= cache_size= class_weight= coef0= decision_function_shape= degree= gamma= kernel=
  max_iter= probability= random_state= shrinking= tol= verbose=
SVR(RegressorMixin,BaseLibSVM) C= cache_size= coef0= degree= epsilon= gamma= kernel= max_iter= shrinking= tol=
  verbose=
SelectFdr(_BaseFilter) alpha= score_func=
SelectFpr(_BaseFilter) alpha= score_func=
SelectFromModel(MetaEstimatorMixin,SelectorMixin,BaseEstimator) estimator= importance_getter= max_features=
  norm_order= prefit= threshold= estimator_ feature_names_in_ max_features_
SelectFwe(_BaseFilter) alpha= score_func=
SelectKBest(_BaseFilter) k= score_func=
SelectPercentile(_BaseFilter) percentile= score_func=
SelectorMixin(TransformerMixin)
SelfTrainingClassifier(_RoutingNotSupportedMixin,MetaEstimatorMixin,BaseEstimator,ClassifierMixin)
  base_estimator= criterion= estimator= k_best= max_iter= threshold= verbose= base_estimator_ classes_
  estimator_ labeled_iter_ n_iter_ termination_condition_ transduction_
SequentialFeatureSelector(_RoutingNotSupportedMixin,SelectorMixin,MetaEstimatorMixin,BaseEstimator) cv=
  direction= estimator= n_features_to_select= n_jobs= scoring= tol= n_features_to_select_ support_
ShrunkCovariance(EmpiricalCovariance) assume_centered= shrinkage= store_precision= location_
ShuffleSplit(_UnsupportedGroupCVMixin,BaseShuffleSplit) n_splits= random_state= test_size= train_size=
  _default_test_size
SimpleImputer(_BaseImputer) add_indicator= copy= fill_value= keep_empty_features= missing_values= strategy=
  _fill_dtype _fit_dtype statistics_
SkewedChi2Sampler(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) n_components= random_state=
  skewedness= _n_features_out random_offset_ random_weights_
SparseCoder(_BaseSparseCoding,BaseEstimator) dictionary= n_jobs= positive_code= split_sign=
  transform_algorithm= transform_alpha= transform_max_iter= transform_n_nonzero_coefs= n_components_
SparseCoefMixin() coef_
SparsePCA(_BaseSparsePCA) U_init= V_init= alpha= max_iter= method= n_components= n_jobs= random_state=
  ridge_alpha= tol= verbose= components_ error_ n_components_ n_iter_
SparseRandomProjection(BaseRandomProjection) compute_inverse_components= dense_output= density= eps=
  n_components= random_state= density_
SpectralBiclustering(BaseSpectral) init= method= mini_batch= n_best= n_clusters= n_components= n_init=
  n_svd_vecs= random_state= svd_method= column_labels_ columns_ row_labels_ rows_
SpectralClustering(ClusterMixin,BaseEstimator) affinity= assign_labels= coef0= degree= eigen_solver=
  eigen_tol= gamma= kernel_params= n_clusters= n_components= n_init= n_jobs= n_neighbors= random_state=
  verbose= affinity_matrix_ labels_
SpectralCoclustering(BaseSpectral) init= mini_batch= n_clusters= n_init= n_svd_vecs= random_state= svd_method=
  column_labels_ columns_ row_labels_ rows_
SpectralEmbedding(BaseEstimator) affinity= eigen_solver= eigen_tol= gamma= n_components= n_jobs= n_neighbors=
  random_state= affinity_matrix_ embedding_ gamma_ n_neighbors_
SplineTransformer(TransformerMixin,BaseEstimator) degree= extrapolation= handle_missing= include_bias= knots=
  n_knots= order= sparse_output= bsplines_ n_features_out_
StackingClassifier(_RoutingNotSupportedMixin,ClassifierMixin,_BaseStacking) cv= estimators= final_estimator=
  n_jobs= passthrough= stack_method= verbose= _label_encoder classes_
StackingRegressor(_RoutingNotSupportedMixin,RegressorMixin,_BaseStacking) cv= estimators= final_estimator=
  n_jobs= passthrough= verbose=
StandardScaler(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) copy= with_mean= with_std= mean_
  n_samples_seen_ scale_ var_
StationaryKernelMixin()
StratifiedGroupKFold(GroupsConsumerMixin,_BaseKFold) n_splits= random_state= shuffle=
StratifiedKFold(_BaseKFold) n_splits= random_state= shuffle=
StratifiedShuffleSplit(BaseShuffleSplit) n_splits= random_state= test_size= train_size= _default_test_size
Sum(KernelOperator)
TSNE(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) angle= early_exaggeration= init=
  learning_rate= max_iter= method= metric= metric_params= min_grad_norm= n_components= n_iter=
  n_iter_without_progress= n_jobs= perplexity= random_state= verbose= _max_iter embedding_ kl_divergence_
  learning_rate_ n_iter_
TargetEncoder(OneToOneFeatureMixin,_BaseEncoder) categories= cv= random_state= shuffle= smooth= target_type=
  classes_ encodings_ target_mean_ target_type_
TfidfTransformer(OneToOneFeatureMixin,TransformerMixin,BaseEstimator) norm= smooth_idf= sublinear_tf= use_idf=
  idf_
TfidfVectorizer(CountVectorizer) analyzer= binary= decode_error= dtype= encoding= input= lowercase= max_df=
  max_features= min_df= ngram_range= norm= preprocessor= smooth_idf= stop_words= strip_accents= sublinear_tf=
  token_pattern= tokenizer= use_idf= vocabulary= _tfidf
TheilSenRegressor(RegressorMixin,LinearModel) copy_X= fit_intercept= max_iter= max_subpopulation= n_jobs=
  n_subsamples= random_state= tol= verbose= breakdown_ coef_ intercept_ n_iter_ n_subpopulation_
TimeSeriesSplit(_BaseKFold) gap= max_train_size= n_splits= test_size=
TransformedTargetRegressor(_RoutingNotSupportedMixin,RegressorMixin,BaseEstimator) check_inverse= func=
  inverse_func= regressor= transformer= _training_dim feature_names_in_ regressor_ transformer_
TransformerMixin(_SetOutputMixin)
TreePredictor() binned_left_cat_bitsets= nodes= raw_left_cat_bitsets=
TruncatedSVD(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) algorithm= n_components= n_iter=
  n_oversamples= power_iteration_normalizer= random_state= tol= components_ explained_variance_
  explained_variance_ratio_ singular_values_
TunedThresholdClassifierCV(BaseThresholdClassifier) cv= estimator= n_jobs= random_state= refit=
  response_method= scoring= store_cv_results= thresholds= _curve_scorer best_score_ best_threshold_
  cv_results_ estimator_
TweedieRegressor(_GeneralizedLinearRegressor) alpha= fit_intercept= link= max_iter= power= solver= tol=
  verbose= warm_start=
VarianceThreshold(SelectorMixin,BaseEstimator) threshold= variances_
VotingClassifier(ClassifierMixin,_BaseVoting) estimators= flatten_transform= n_jobs= verbose= voting= weights=
  classes_ le_
VotingRegressor(RegressorMixin,_BaseVoting) estimators= n_jobs= verbose= weights=
WhiteKernel(StationaryKernelMixin,GenericKernelMixin,Kernel) noise_level= noise_level_bounds=
_BaseChain(BaseEstimator) base_estimator= cv= estimator= order= random_state= verbose= chain_method_
  estimators_ order_
_BaseComposition(BaseEstimator)
_BaseDiscreteNB(_BaseNB) alpha= class_prior= fit_prior= force_alpha= class_count_ class_log_prior_ classes_
  feature_count_
_BaseEncoder(TransformerMixin,BaseEstimator) _default_to_infrequent_mappings _infrequent_enabled
  _infrequent_indices categories_ n_features_in_
_BaseFilter(SelectorMixin,BaseEstimator) score_func= pvalues_ scores_
_BaseHeterogeneousEnsemble(MetaEstimatorMixin,_BaseComposition) estimators=
_BaseImputer(TransformerMixin,BaseEstimator) add_indicator= keep_empty_features= missing_values= indicator_
_BaseKFold(BaseCrossValidator) n_splits= random_state= shuffle=
_BaseKMeans(ClassNamePrefixFeaturesOutMixin,TransformerMixin,ClusterMixin,BaseEstimator) init= max_iter=
  n_clusters= n_init= random_state= tol= verbose= _n_init _tol
_BaseNB(ClassifierMixin,BaseEstimator)
_BaseNMF(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) alpha_H= alpha_W= beta_loss= init=
  l1_ratio= max_iter= n_components= random_state= tol= verbose= _beta_loss _n_components
_BasePCA(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator)
_BaseRidge(LinearModel) alpha= copy_X= fit_intercept= max_iter= positive= random_state= solver= tol= coef_
  intercept_ n_iter_ solver_
_BaseRidgeCV(LinearModel) alpha_per_target= alphas= cv= fit_intercept= gcv_mode= scoring= store_cv_results=
  store_cv_values= _store_cv_results alpha_ best_score_ coef_ cv_results_ feature_names_in_ intercept_
  n_features_in_
_BaseScorer(_MetadataRequester) kwargs= response_method= score_func= sign= _deprecation_msg _kwargs
  _metadata_request _response_method _score_func _sign score
_BaseSparseCoding(ClassNamePrefixFeaturesOutMixin,TransformerMixin) n_jobs= positive_code= split_sign=
  transform_algorithm= transform_alpha= transform_max_iter= transform_n_nonzero_coefs=
_BaseSparsePCA(ClassNamePrefixFeaturesOutMixin,TransformerMixin,BaseEstimator) alpha= max_iter= method=
  n_components= n_jobs= random_state= ridge_alpha= tol= verbose= mean_
_BaseStacking(TransformerMixin,_BaseHeterogeneousEnsemble) cv= estimators= final_estimator= n_jobs=
  passthrough= stack_method= verbose= _n_feature_outs estimators_ feature_names_in_ final_estimator_
  named_estimators_ stack_method_
_BaseVoting(TransformerMixin,_BaseHeterogeneousEnsemble) estimators_ feature_names_in_ named_estimators_
_BinMapper(TransformerMixin,BaseEstimator) is_categorical= known_categories= n_bins= n_threads= random_state=
  subsample= bin_thresholds_ is_categorical_ missing_values_bin_idx_ n_bins_non_missing_
_BinaryGaussianProcessClassifierLaplace(BaseEstimator) copy_X_train= kernel= max_iter_predict=
  n_restarts_optimizer= optimizer= random_state= warm_start= L_ W_sr_ X_train_ classes_ f_cached kernel_
  log_marginal_likelihood_value_ pi_ rng y_train_
_BisectingTree() center= indices= score= left right
_CFNode() branching_factor= dtype= is_leaf= n_features= threshold= centroids_ init_centroids_ init_sq_norm_
  next_leaf_ prev_leaf_ squared_norm_ subclusters_
_CFSubcluster() linear_sum= centroid_ child_ linear_sum_ n_samples_ sq_norm_ squared_sum_
_CVIterableWrapper(BaseCrossValidator) cv=
_CalibratedClassifier() calibrators= classes= estimator= method=
_ConstantPredictor(BaseEstimator) y_
_Constraint() hidden
_CurveScorer(_BaseScorer) kwargs= response_method= score_func= sign= thresholds= _thresholds
_GeneralizedLinearRegressor(RegressorMixin,BaseEstimator) alpha= fit_intercept= max_iter= solver= tol=
  verbose= warm_start= _base_loss coef_ intercept_ n_iter_
_HTMLDocumentationLinkMixin() _HTMLDocumentationLinkMixin__doc_link_template
_IdentityClassifier(LinearClassifierMixin,BaseEstimator) classes= classes_
_IdentityRegressor(RegressorMixin,BaseEstimator)
_MetadataRequester()
_MultiOutputEstimator(MetaEstimatorMixin,BaseEstimator) estimator= n_jobs= estimators_ feature_names_in_
  n_features_in_
_MultimetricScorer() raise_exc= scorers= _raise_exc _scorers
_PLS(ClassNamePrefixFeaturesOutMixin,TransformerMixin,RegressorMixin,MultiOutputMixin,BaseEstimator)
  algorithm= copy= deflation_mode= max_iter= mode= n_components= scale= tol= _n_features_out _norm_y_weights
  _predict_1d _x_mean _x_scores _x_std _y_mean _y_scores _y_std coef_ intercept_ n_iter_ x_loadings_
  x_rotations_ x_weights_ y_loadings_ y_rotations_ y_weights_
_PassthroughScorer(_MetadataRequester) estimator= _estimator _metadata_request
_RepeatedSplits(_MetadataRequester) cv= n_repeats= random_state= cvargs
_RidgeClassifierMixin(LinearClassifierMixin) _label_binarizer classes_
_RidgeGCV(LinearModel) alpha_per_target= alphas= copy_X= fit_intercept= gcv_mode= is_clf= scoring=
  store_cv_results= alpha_ best_score_ coef_ cv_results_ dual_coef_ intercept_
_RoutingNotSupportedMixin()
_Scorer(_BaseScorer)
_SetOutputMixin() _sklearn_auto_wrap_output_keys _sklearn_output_config
_SigmoidCalibration(RegressorMixin,BaseEstimator) a_ b_
_TemperatureScaling(RegressorMixin,BaseEstimator) beta_
_UnstableArchMixin()
_UnsupportedGroupCVMixin()
_VectorizerMixin() _stop_words_id fixed_vocabulary_ vocabulary_
"""
