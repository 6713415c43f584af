"""Classes and functions of known families: made by fixtures/families/list_names.py, which says how.

An object of one of these classes is made by `object.__new__` and attributes (families.py), a module by
the codec of modules; the functions compute, and may be held. A line is a module, with the names in it.
"""

CLASSES = r"""
# versions: scikit-learn 1.9.1 imbalanced-learn 0.14.2 category-encoders 2.11.2 statsmodels 0.15.0 hmmlearn
  0.3.3 lifelines 0.30.3 river 0.26.1 torchvision 0.28.0 torch-geometric 2.8.1
imblearn: FunctionSampler
imblearn.combine: SMOTEENN SMOTETomek
imblearn.ensemble: BalancedBaggingClassifier BalancedRandomForestClassifier EasyEnsembleClassifier
  RUSBoostClassifier
imblearn.metrics.pairwise: ValueDifferenceMetric
imblearn.over_sampling: ADASYN BorderlineSMOTE KMeansSMOTE RandomOverSampler SMOTE SMOTEN SMOTENC SVMSMOTE
imblearn.pipeline: Pipeline
imblearn.under_sampling: AllKNN ClusterCentroids CondensedNearestNeighbour EditedNearestNeighbours
  InstanceHardnessThreshold NearMiss NeighbourhoodCleaningRule OneSidedSelection RandomUnderSampler
  RepeatedEditedNearestNeighbours TomekLinks
category_encoders: BackwardDifferenceEncoder BaseNEncoder BinaryEncoder CatBoostEncoder CountEncoder
  CountTargetEncoder GrayEncoder HashingEncoder HelmertEncoder JamesSteinEncoder LeaveOneOutEncoder
  MEstimateEncoder MultiHotEncoder OneHotEncoder OrdinalEncoder PolynomialEncoder QuantileEncoder
  RankHotEncoder SumEncoder SummaryEncoder TargetEncoder WOEEncoder
category_encoders.base_contrast_encoder: BaseContrastEncoder
category_encoders.glmm: GLMMEncoder
category_encoders.utils: BaseEncoder
category_encoders.wrapper: NestedCVWrapper PolynomialWrapper
statsmodels.base.data: FormulaicData ModelData PandasData PatsyData
statsmodels.base.wrapper: ResultsWrapper
statsmodels.discrete.discrete_model: BinaryModel BinaryResults BinaryResultsWrapper CountModel CountResults
  CountResultsWrapper DiscreteModel DiscreteResults GeneralizedPoisson GeneralizedPoissonResults
  GeneralizedPoissonResultsWrapper L1BinaryResults L1BinaryResultsWrapper L1CountResults L1CountResultsWrapper
  L1GeneralizedPoissonResults L1GeneralizedPoissonResultsWrapper L1MultinomialResults
  L1MultinomialResultsWrapper L1NegativeBinomialResults L1NegativeBinomialResultsWrapper L1PoissonResults
  L1PoissonResultsWrapper Logit LogitResults MNLogit MultinomialModel MultinomialResults
  MultinomialResultsWrapper NegativeBinomialP NegativeBinomialPResults NegativeBinomialPResultsWrapper
  NegativeBinomialResults NegativeBinomialResultsWrapper OrderedResults OrderedResultsWrapper Poisson
  PoissonResults PoissonResultsWrapper Probit ProbitResults
statsmodels.genmod.families: Binomial Family Gamma Gaussian InverseGaussian NegativeBinomial Poisson Tweedie
statsmodels.genmod.families.links: CDFLink CLogLog Cauchy Identity InversePower InverseSquared Link Log LogC
  LogLog Logit NegativeBinomial Power Probit Sqrt cauchy cloglog identity inverse_power inverse_squared log
  logc logit loglog nbinom probit sqrt
statsmodels.genmod.families.varfuncs: Binomial NegativeBinomial Power VarianceFunction
statsmodels.genmod.generalized_linear_model: GLM GLMResults GLMResultsWrapper
statsmodels.regression.linear_model: GLS GLSAR OLS OLSResults RegressionModel RegressionResults
  RegressionResultsWrapper WLS
statsmodels.robust.norms: AndrewWave Hampel HuberT LeastSquares MQuantileNorm RamsayE RobustNorm StudentT
  TrimmedMean TukeyBiweight TukeyQuartic
statsmodels.robust.robust_linear_model: RLM RLMResults RLMResultsWrapper
hmmlearn.base: BaseHMM ConvergenceMonitor VariationalBaseHMM _AbstractHMM
hmmlearn.hmm: CategoricalHMM GMMHMM GaussianHMM MultinomialHMM PoissonHMM
hmmlearn.vhmm: VariationalCategoricalHMM VariationalGaussianHMM
lifelines: CoxPHFitter
lifelines.fitters.coxph_fitter: SemiParametricPHFitter
lifelines.utils: CovariateParameterMappings
river.compose: Pipeline
river.linear_model: LinearRegression LogisticRegression PAClassifier PARegressor Perceptron SoftmaxRegression
river.naive_bayes: BernoulliNB ComplementNB GaussianNB MultinomialNB
river.optim: AMSGrad AdaBound AdaDelta AdaGrad AdaMax Adam Averager FTRLProximal Momentum Nadam
  NesterovMomentum RMSProp SGD
river.optim.initializers: Constant Normal Zeros
river.optim.losses: Absolute BinaryFocalLoss Cauchy CrossEntropy EpsilonInsensitiveHinge Hinge Huber Log
  Poisson Quantile Squared
river.optim.schedulers: Constant InverseScaling Optimal
river.preprocessing: AdaptiveStandardScaler Binarizer MaxAbsScaler MinMaxScaler Normalizer RobustScaler
  StandardScaler
torchvision.models._utils: IntermediateLayerGetter
torchvision.models.alexnet: AlexNet
torchvision.models.convnext: CNBlock ConvNeXt LayerNorm2d
torchvision.models.efficientnet: EfficientNet FusedMBConv MBConv
torchvision.models.googlenet: BasicConv2d GoogLeNet Inception InceptionAux
torchvision.models.inception: BasicConv2d Inception3 InceptionA InceptionAux InceptionB InceptionC InceptionD
  InceptionE
torchvision.models.mnasnet: MNASNet _InvertedResidual
torchvision.models.mobilenetv2: InvertedResidual MobileNetV2
torchvision.models.mobilenetv3: InvertedResidual MobileNetV3
torchvision.models.regnet: AnyStage BottleneckTransform RegNet ResBottleneckBlock SimpleStemIN
torchvision.models.resnet: BasicBlock Bottleneck ResNet
torchvision.models.segmentation._utils: _SimpleSegmentationModel
torchvision.models.segmentation.deeplabv3: ASPP ASPPConv ASPPPooling DeepLabHead DeepLabV3
torchvision.models.segmentation.fcn: FCN FCNHead
torchvision.models.segmentation.lraspp: LRASPP LRASPPHead
torchvision.models.squeezenet: Fire SqueezeNet
torchvision.models.swin_transformer: PatchMerging PatchMergingV2 ShiftedWindowAttention
  ShiftedWindowAttentionV2 SwinTransformer SwinTransformerBlock SwinTransformerBlockV2
torchvision.models.vgg: VGG
torchvision.models.vision_transformer: Encoder EncoderBlock MLPBlock VisionTransformer
torchvision.ops: Conv2dNormActivation Conv3dNormActivation FeaturePyramidNetwork FrozenBatchNorm2d MLP Permute
  SqueezeExcitation StochasticDepth
torchvision.ops.feature_pyramid_network: ExtraFPNBlock FeaturePyramidNetwork LastLevelMaxPool LastLevelP6P7
torchvision.ops.misc: Conv2dNormActivation Conv3dNormActivation ConvNormActivation FrozenBatchNorm2d MLP
  Permute SqueezeExcitation
torchvision.ops.stochastic_depth: StochasticDepth
torch_geometric.nn.aggr: Aggregation AttentionalAggregation DeepSetsAggregation DegreeScalerAggregation
  EquilibriumAggregation GRUAggregation GraphMultisetTransformer LCMAggregation LSTMAggregation MLPAggregation
  MaxAggregation MeanAggregation MedianAggregation MinAggregation MulAggregation PowerMeanAggregation
  QuantileAggregation Set2Set SetTransformerAggregation SoftmaxAggregation SortAggregation StdAggregation
  SumAggregation VarAggregation VariancePreservingAggregation
torch_geometric.nn.aggr.equilibrium: MomentumOptimizer ResNetPotential
torch_geometric.nn.aggr.fused: FusedAggregation
torch_geometric.nn.aggr.utils: InducedSetAttentionBlock MultiheadAttentionBlock PoolingByMultiheadAttention
  SetAttentionBlock
torch_geometric.nn.conv: AGNNConv APPNP ARMAConv AntiSymmetricConv CGConv ChebConv ClusterGCNConv DNAConv
  DirGNNConv DynamicEdgeConv EGConv EdgeConv FAConv FeaStConv FiLMConv GATConv GATv2Conv GCN2Conv GCNConv
  GENConv GINConv GINEConv GMMConv GPSConv GatedGraphConv GeneralConv GraphConv GravNetConv HANConv HEATConv
  HGTConv HypergraphConv LEConv LGConv MFConv MeshCNNConv MessagePassing MixHopConv NNConv PANConv PDNConv
  PNAConv PPFConv PointGNNConv PointNetConv PointTransformerConv RGATConv ResGatedGraphConv SAGEConv SGConv
  SSGConv SignedConv SimpleConv SuperGATConv TAGConv TransformerConv WLConv WLConvContinuous XConv
torch_geometric.nn.conv.dna_conv: Attention Linear MultiHead
torch_geometric.nn.conv.gen_conv: MLP
torch_geometric.nn.dense: DMoNPooling DenseGATConv DenseGCNConv DenseGINConv DenseGraphConv DenseSAGEConv
  Linear
torch_geometric.nn.models: ARGA ARGVA ARLinkPredictor AttentiveFP CorrectAndSmooth DeepGCNLayer
  DeepGraphInfomax DimeNet DimeNetPlusPlus EdgeCNN GAE GAT GCN GIN GNNFF GraphSAGE GraphUNet GroupAddRev
  HeteroJumpingKnowledge InnerProductDecoder JumpingKnowledge LINKX LPFormer LabelPropagation LightGCN MLP
  MaskLabel MetaLayer MetaPath2Vec NeuralFingerprint Node2Vec PMLP PNA Polynormer RECT_L RENet SGFormer
  SignedGCN TGNMemory VGAE ViSNet
torch_geometric.nn.models.attentive_fp: GATEConv
torch_geometric.nn.models.basic_gnn: BasicGNN
torch_geometric.nn.models.dimenet: BesselBasisLayer EmbeddingBlock Envelope InteractionBlock
  InteractionPPBlock OutputBlock OutputPPBlock ResidualLayer SphericalBasisLayer
torch_geometric.nn.models.gnnff: EdgeBlock GaussianFilter NodeBlock
torch_geometric.nn.models.graph_mixer: LinkEncoder NodeEncoder _MLPMixer
torch_geometric.nn.models.lightgcn: BPRLoss
torch_geometric.nn.models.linkx: SparseLinear
torch_geometric.nn.models.lpformer: LPAttLayer MLP
torch_geometric.nn.models.rev_gnn: InvertibleModule
torch_geometric.nn.models.sgformer: GraphModule SGModule
torch_geometric.nn.models.tgn: IdentityMessage LastAggregator MeanAggregator TimeEncoder
torch_geometric.nn.models.visnet: Atomref CosineCutoff Distance EdgeEmbedding EquivariantScalar
  ExpNormalSmearing GatedEquivariantBlock NeighborEmbedding Sphere VecLayerNorm ViSNetBlock ViS_MP
  ViS_MP_Vertex
torch_geometric.nn.norm: BatchNorm DiffGroupNorm GraphNorm GraphSizeNorm HeteroBatchNorm HeteroLayerNorm
  InstanceNorm LayerNorm MeanSubtractionNorm MessageNorm PairNorm
torch_geometric.utils._trim_to_layer: TrimToLayer
"""

FUNCTIONS = r"""
sklearn.cluster._kmeans: _kmeans_single_elkan _kmeans_single_lloyd
sklearn.feature_selection: chi2 f_classif f_oneway f_regression mutual_info_classif mutual_info_regression
  r_regression
sklearn.metrics: accuracy_score adjusted_mutual_info_score adjusted_rand_score average_precision_score
  balanced_accuracy_score brier_score_loss completeness_score d2_absolute_error_score d2_brier_score
  d2_log_loss_score euclidean_distances explained_variance_score f1_score fowlkes_mallows_score
  homogeneity_score jaccard_score log_loss matthews_corrcoef max_error mean_absolute_error
  mean_absolute_percentage_error mean_gamma_deviance mean_poisson_deviance mean_squared_error
  mean_squared_log_error median_absolute_error mutual_info_score nan_euclidean_distances
  normalized_mutual_info_score precision_score r2_score rand_score recall_score roc_auc_score
  root_mean_squared_error root_mean_squared_log_error top_k_accuracy_score v_measure_score
sklearn.metrics._scorer: negative_likelihood_ratio positive_likelihood_ratio
sklearn.metrics.pairwise: additive_chi2_kernel chi2_kernel cosine_distances cosine_similarity
  haversine_distances laplacian_kernel linear_kernel manhattan_distances polynomial_kernel rbf_kernel
  sigmoid_kernel
sklearn.utils: check_array
"""
